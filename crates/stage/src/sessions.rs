//! Sessions of a bandwidth manager, and their shares (Ben Ameur et al. 2016, section 2).
//!
//! A session is a user, or a flow, with open connections. It starts with the first SYN. It ends with the FIN
//! or RST of its last connection, or after a silent time.

use std::collections::{BTreeMap, BTreeSet};

use evenflow_base::schema::{Problem, Values, sound};
use evenflow_base::{Duration, Heap, Packet, Rate, Time};

use crate::station::{Cx, Signal};

/// Sharing policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// An equal share.
    Equal,
    /// `margin` times the bitrate of a level of the ladder, bit/s.
    Levels {
        /// Bitrates, rising.
        ladder: Vec<f64>,
        /// Times which a level's bitrate is given.
        margin: f64,
    },
}

/// By what part two sums of rates may differ that are the same in exact numbers: no double is 1.1.
const SLACK: f64 = 1e-12;

/// Whether what costs `cost` bit/s fits into `room` bit/s.
fn fits_into(cost: f64, room: f64) -> bool {
    cost <= room * (1.0 + SLACK)
}

/// The level of each of `count` sessions, in order, on a line of `capacity` bit/s. Each gets the highest
/// level within an equal share, or the lowest. Then each in turn gets a level more while the sum fits.
pub fn levels(capacity: f64, count: usize, ladder: &[f64], margin: f64) -> Vec<usize> {
    let share = capacity / count as f64;
    let fits = ladder.iter().take_while(|bitrate| fits_into(margin * **bitrate, share)).count();
    let mut levels = vec![fits.saturating_sub(1); count];
    let sum = |levels: &[usize]| margin * levels.iter().map(|level| ladder[*level]).sum::<f64>();
    loop {
        let mut raised = false;
        for n in 0..count {
            if levels[n] + 1 < ladder.len() {
                levels[n] += 1;
                let ok = fits_into(sum(&levels), capacity);
                levels[n] -= usize::from(!ok);
                raised |= ok;
            }
        }
        if !raised {
            return levels;
        }
    }
}

impl Policy {
    /// The share of each of `count` sessions, in order. The sum is at most `capacity`. Shares are equal if
    /// the lowest levels do not fit together.
    pub fn shares(&self, capacity: Rate, count: usize) -> Vec<Rate> {
        let equal = capacity.0 / count.max(1) as f64;
        match self {
            Policy::Levels { ladder, margin } if fits_into(ladder[0] * margin, equal) => {
                let mut shares: Vec<Rate> = levels(capacity.0, count, ladder, *margin)
                    .iter()
                    .map(|n| Rate(ladder[*n] * margin))
                    .collect();
                let sum: f64 = shares.iter().map(|share| share.0).sum();
                if sum > capacity.0 {
                    shares.iter_mut().for_each(|share| share.0 *= capacity.0 / sum);
                }
                shares
            }
            _ => vec![Rate(equal); count],
        }
    }
}

words! {
    /// How rate is shared.
    pub enum PolicyWord {
        /// In equal shares.
        Equal = "equal",
        /// By levels of the ladder.
        Levels = "levels",
    }
}

words! {
    /// Definition of a session.
    pub enum SessionWord {
        /// All flows of a user.
        User = "user",
        /// Each flow.
        Flow = "flow",
    }
}

params! {
    /// The parameters that both kinds of stage have.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Share of each session: an equal share, or the bitrate of a video level times margin. That level is
        /// the highest within an equal share. Then each session in turn gets a level more while the sum fits.
        /// Shares are equal if the lowest levels do not fit together.
        policy: PolicyWord = PolicyWord::TYPE, Text("equal") => source: SOURCE;
        /// Total rate of all sessions: the line's rate.
        rate: f64 = Rate, Required, Range::at_least(1.0) => source: SOURCE;
        /// Rising bitrates of the video's levels, as in its manifest.
        ladder: Option<Vec<f64>> = Rates, Absent("equal shares"), Range::at_least(1.0) => source: SOURCE;
        /// Factor on a level's bitrate.
        margin: f64 = Number, Text("1.1"), Range::up_to(1e6)
            => source: "Ben Ameur et al. 2016, section 2: 10 % above the bitrate";
        /// Definition of a session: a user with open connections, or each connection.
        session: SessionWord = SessionWord::TYPE, Text("user") => source: "";
        /// Silent time after which a session ends. Its next packet opens a new one.
        idle: Duration = Duration, Text("120 s"), Range::POSITIVE => source: "";
    }
}

/// Sessions and their shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Sharing policy.
    pub policy: Policy,
    /// Total rate.
    pub rate: Rate,
    /// A session is a flow, not a user.
    pub by_flow: bool,
    /// A session ends that has been silent for so long.
    pub idle: Duration,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values) -> Result<Params, Vec<Problem>> {
        sound(problems(values))?;
        let given = Given::read(values);
        let policy = match given.ladder {
            Some(ladder) => Policy::Levels { ladder, margin: given.margin },
            None => Policy::Equal,
        };
        let (rate, by_flow) = (Rate(given.rate), given.session == SessionWord::Flow);
        Ok(Params { policy, rate, by_flow, idle: given.idle })
    }
}

/// The share of a session at the lowest level in bit/s, with known levels.
pub fn least(values: &Values) -> Option<f64> {
    Some(values.at(Given::ladder)?.first()? * values.at(Given::margin)?)
}

/// Errors in the combination of parameters; some may be missing.
pub fn problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let ladder = values.at(Given::ladder);
    if ladder.as_ref().is_some_and(Vec::is_empty) {
        problems.push((Given::ladder.name, "needs at least one level".into()));
    }
    if values.is(Given::policy, PolicyWord::Levels) && ladder.is_none() {
        problems.push((
            Given::ladder.name,
            "is required with policy = \"levels\": the bitrates of the levels".into(),
        ));
    }
    if values.is(Given::policy, PolicyWord::Equal) && ladder.is_some() {
        problems.push((Given::ladder.name, "is only for policy = \"levels\"".into()));
    }
    if let Some((lower, higher)) =
        ladder.and_then(|l| l.windows(2).find(|w| w[1] <= w[0]).map(|w| (w[0], w[1])))
    {
        let why = format!("must rise: {higher} bit/s is not more than {lower} bit/s before it");
        problems.push((Given::ladder.name, why));
    }
    if let (Some(rate), Some(least)) = (values.at(Given::rate), least(values))
        && !fits_into(least, rate)
    {
        let why = format!(
            "must be at least {least} bit/s, a session's share at the lowest level; it would get {rate} \
             bit/s"
        );
        problems.push((Given::rate.name, why));
    }
    problems
}

/// A session that is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The user or flow.
    pub key: u64,
    /// A flow of it, and its traffic class: where its packets go.
    pub slot: u32,
    /// See above.
    pub class: u8,
    /// Its open connections.
    pub connections: u32,
    /// Its share.
    pub share: Rate,
    last: Time,
}

/// The sessions that are open, in the order of their opening.
#[derive(Clone, Debug)]
pub struct Sessions {
    params: Params,
    open: Vec<Session>,
    /// The session of each open connection.
    connections: BTreeMap<u64, u64>,
    /// Connections whose session ended by silence.
    silent: BTreeSet<u64>,
    /// When it will be looked for silence; never: no session is open.
    alarm: Time,
    opened: u64,
}

impl Sessions {
    /// None open.
    pub fn new(params: Params) -> Sessions {
        let (connections, silent) = (BTreeMap::new(), BTreeSet::new());
        Sessions { params, open: Vec::new(), connections, silent, alarm: Time::NEVER, opened: 0 }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.open.heap_bytes() + self.connections.heap_bytes() + self.silent.heap_bytes()
    }

    /// A packet passes. Says whether a session has opened or closed, or one of its connections.
    pub fn meet(&mut self, packet: &Packet, cx: &mut Cx) -> bool {
        let flow = cx.whose.flow;
        let known = self.connections.get(&flow).copied();
        match (Signal::of(packet), known) {
            (Some(Signal::Opens), None) => self.begin(flow, cx),
            (Some(Signal::Closes | Signal::Breaks), Some(key)) => self.end(flow, key),
            (Some(Signal::Closes | Signal::Breaks), None) => {
                self.silent.remove(&flow);
                false
            }
            (_, Some(key)) => {
                if let Some(session) = self.open.iter_mut().find(|session| session.key == key) {
                    session.last = cx.now;
                }
                false
            }
            (_, None) if self.silent.remove(&flow) => self.begin(flow, cx),
            _ => false,
        }
    }

    fn begin(&mut self, flow: u64, cx: &mut Cx) -> bool {
        let key = if self.params.by_flow { flow } else { u64::from(cx.whose.user) };
        self.connections.insert(flow, key);
        self.silent.remove(&flow);
        match self.open.iter_mut().find(|session| session.key == key) {
            Some(session) => {
                session.connections += 1;
                session.last = cx.now;
            }
            None => {
                let (slot, class) = (cx.whose.slot, cx.whose.class);
                self.open.push(Session { key, slot, class, connections: 1, share: Rate(0.0), last: cx.now });
                self.opened += 1;
                self.share_out();
            }
        }
        if self.alarm == Time::NEVER {
            self.alarm = cx.now + self.params.idle;
            cx.wake_at(self.alarm);
        }
        true
    }

    fn end(&mut self, flow: u64, key: u64) -> bool {
        self.connections.remove(&flow);
        if let Some(n) = self.open.iter().position(|session| session.key == key) {
            self.open[n].connections -= 1;
            if self.open[n].connections == 0 {
                self.open.remove(n);
                self.share_out();
            }
        }
        true
    }

    /// Ends sessions that have been silent for too long. Says whether there were any.
    pub fn wake(&mut self, cx: &mut Cx) -> bool {
        if cx.now < self.alarm {
            return false;
        }
        let (now, idle) = (cx.now, self.params.idle);
        let before = self.open.len();
        let ended: Vec<u64> = self.open.iter().filter(|s| s.last + idle <= now).map(|s| s.key).collect();
        self.open.retain(|session| session.last + idle > now);
        self.connections.retain(|flow, key| {
            let over = ended.contains(key);
            if over {
                self.silent.insert(*flow);
            }
            !over
        });
        self.alarm = self.open.iter().map(|session| session.last + idle).min().unwrap_or(Time::NEVER);
        cx.wake_at(self.alarm);
        let ended = self.open.len() < before;
        if ended {
            self.share_out();
        }
        ended
    }

    fn share_out(&mut self) {
        let shares = self.params.policy.shares(self.params.rate, self.open.len());
        for (session, share) in self.open.iter_mut().zip(shares) {
            session.share = share;
        }
    }

    /// Those that are open, in the order of their opening.
    pub fn open(&self) -> &[Session] {
        &self.open
    }

    /// The session of an open connection.
    pub fn of(&self, flow: u64) -> Option<&Session> {
        let key = self.connections.get(&flow)?;
        self.open.iter().find(|session| session.key == *key)
    }

    /// Sessions opened.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Total rate of the open sessions: the capacity, up to rounding.
    pub fn assigned(&self) -> f64 {
        // In a fixed order, from zero: without sessions it is 0, not -0.
        let sum = self.open.iter().fold(0.0, |sum, session| sum + session.share.0);
        sum.min(self.params.rate.0)
    }
}

const SOURCE: &str = "Ben Ameur et al. 2016, section 2";

#[cfg(test)]
mod tests {
    use evenflow_base::flags;

    use super::*;
    use crate::Stepper;

    const LADDER: [f64; 5] = [248e3, 456e3, 928e3, 1632e3, 4256e3];

    /// At 8 Mbit/s: 1.1 times the levels are 272.8, 501.6, 1020.8, 1795.2 and 4681.6 kbit/s.
    #[test]
    fn levels_by_hand() {
        let of = |count| levels(8e6, count, &LADDER, 1.1);
        assert_eq!(of(0), Vec::<usize>::new());
        assert_eq!(of(1), [4]);
        assert_eq!(of(2), [4, 3]); // 3.. 4.. fit into 4 Mbit/s; 4681.6 + 1795.2 = 6476.8
        assert_eq!(of(3), [3, 3, 3]); // 3 * 1795.2 = 5385.6; with a 4: 8272
        assert_eq!(of(5), [3, 3, 3, 2, 2]); // 1600 each: level 2; 5104 + 3 * 774.4 = 7427.2, a fourth is too much
        assert_eq!(of(30), [0; 30]); // 266.7 each: less than the lowest
    }

    #[test]
    fn a_margin_decides_on_what_fits() {
        // 4256 + 1632 = 5888 kbit/s: at 1.1 they need 6476.8, at 1.4 8243
        assert_eq!(levels(6476.8e3 + 1.0, 2, &LADDER, 1.1), [4, 3]);
        assert_eq!(levels(6476.8e3 - 1.0, 2, &LADDER, 1.1), [3, 3]);
        assert_eq!(levels(8e6, 2, &LADDER, 1.4), [3, 3]);
    }

    /// What fits to the last bit fits, though 1.1 is no double; a bit less is too little.
    #[test]
    fn a_level_that_fits_exactly_is_given() {
        for (capacity, expected) in
            [(501.6e3, vec![1]), (1795.2e3, vec![3]), (6476.8e3, vec![4, 3]), (5385.6e3, vec![3, 3, 3])]
        {
            assert_eq!(levels(capacity, expected.len(), &LADDER, 1.1), expected, "{capacity}");
            assert_ne!(levels(capacity - 1.0, expected.len(), &LADDER, 1.1), expected, "1 bit/s less");
            let shares = Policy::Levels { ladder: LADDER.to_vec(), margin: 1.1 }
                .shares(Rate(capacity), expected.len());
            let sum: f64 = shares.iter().map(|share| share.0).sum();
            assert!(sum <= capacity * (1.0 + 1e-15), "{sum} of {capacity}");
        }
    }

    #[test]
    fn what_is_assigned_is_never_more_than_the_line() {
        let (mut s, mut hand) = (sessions(true), Stepper::new(1));
        for n in 1..=40 {
            meet(&mut s, &mut hand, (0, n), &syn(), 0.0);
            assert!(s.assigned() <= 8e6, "{n}");
        }
    }

    #[test]
    fn nobody_gets_what_is_not_there() {
        let policy = Policy::Levels { ladder: LADDER.to_vec(), margin: 1.1 };
        // 29 of 272.8 kbit/s are 7911.2; 30 would be 8184
        let of =
            |count: usize| policy.shares(Rate(8e6), count).iter().map(|share| share.0).collect::<Vec<_>>();
        assert!(of(29).iter().all(|share| (share - 272_800.0).abs() < 1e-6));
        assert!(of(30).iter().all(|share| *share == 8e6 / 30.0));
        assert_eq!(of(0), Vec::<f64>::new());
    }

    fn syn() -> Packet {
        Packet { flags: flags::SYN, ..Packet::new(0, 66, 0) }
    }

    fn with(bits: u8) -> Packet {
        Packet { flags: flags::ACK | bits, ..Packet::new(0, 66, 0) }
    }

    fn sessions(by_flow: bool) -> Sessions {
        let policy = Policy::Levels { ladder: LADDER.to_vec(), margin: 1.1 };
        Sessions::new(Params { policy, rate: Rate(8e6), by_flow, idle: Duration::from_seconds(10.0) })
    }

    /// Of user `user`, connection `flow`, at `seconds`.
    fn meet(
        s: &mut Sessions,
        hand: &mut Stepper,
        (user, flow): (u32, u64),
        packet: &Packet,
        seconds: f64,
    ) -> bool {
        let mut cx = hand.cx(Time::from_seconds(seconds));
        cx.whose.user = user;
        cx.whose.flow = flow;
        s.meet(packet, &mut cx)
    }

    fn shares(s: &Sessions) -> Vec<(u64, f64)> {
        s.open().iter().map(|session| (session.key, session.share.0 / 1e3)).collect()
    }

    #[test]
    fn sessions_open_and_close_with_their_connections() {
        let (mut s, mut hand) = (sessions(false), Stepper::new(1));
        assert!(meet(&mut s, &mut hand, (7, 70), &syn(), 0.0));
        assert!(!meet(&mut s, &mut hand, (7, 70), &syn(), 0.5), "sent again");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(close(shares(&s)[0].1, 4681.6));
        assert!(meet(&mut s, &mut hand, (3, 30), &syn(), 1.0));
        assert!(meet(&mut s, &mut hand, (3, 31), &syn(), 1.0));
        assert_eq!(s.of(31).map(|session| session.connections), Some(2));
        let now = shares(&s);
        assert_eq!((now[0].0, now[1].0), (7, 3));
        assert!(close(now[0].1, 4681.6) && close(now[1].1, 1795.2));
        // the first of two connections closes: the session goes on; the incumbent leaves: the other gets it all
        assert!(meet(&mut s, &mut hand, (3, 30), &with(flags::FIN), 2.0));
        assert_eq!(s.open().len(), 2);
        assert!(!meet(&mut s, &mut hand, (3, 30), &with(flags::FIN), 2.1));
        assert!(meet(&mut s, &mut hand, (7, 70), &with(flags::RST), 3.0));
        assert!(close(shares(&s)[0].1, 4681.6) && shares(&s)[0].0 == 3);
        assert!(!meet(&mut s, &mut hand, (7, 70), &with(0), 3.1), "what comes late opens nothing");
        assert_eq!((s.open().len(), s.opened()), (1, 2));
    }

    #[test]
    fn silence_ends_a_session_and_its_next_packet_opens_it_anew() {
        let (mut s, mut hand) = (sessions(true), Stepper::new(1));
        meet(&mut s, &mut hand, (0, 1), &syn(), 0.0);
        meet(&mut s, &mut hand, (0, 2), &syn(), 4.0);
        meet(&mut s, &mut hand, (0, 1), &with(0), 6.0);
        assert!(!s.wake(&mut hand.cx(Time::from_seconds(10.0))), "6 s and 4 s ago");
        assert!(s.wake(&mut hand.cx(Time::from_seconds(14.0))));
        assert_eq!(shares(&s).iter().map(|share| share.0).collect::<Vec<_>>(), [1]);
        assert!(meet(&mut s, &mut hand, (0, 2), &with(0), 15.0));
        assert_eq!(shares(&s).iter().map(|share| share.0).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_syn_after_silence_opens_it_once() {
        let (mut s, mut hand) = (sessions(true), Stepper::new(1));
        meet(&mut s, &mut hand, (0, 1), &syn(), 0.0);
        assert!(s.wake(&mut hand.cx(Time::from_seconds(10.0))));
        assert!(meet(&mut s, &mut hand, (0, 1), &syn(), 15.0));
        assert!(meet(&mut s, &mut hand, (0, 1), &with(flags::FIN), 16.0));
        assert!(!meet(&mut s, &mut hand, (0, 1), &with(0), 16.1), "what comes late opens nothing");
    }

    /// The same in whole numbers: `capacity` and `margin` are in parts of `unit`.
    fn exact(capacity: u128, count: u128, ladder: &[u128], margin: u128) -> Vec<usize> {
        let fair = ladder.iter().rposition(|bitrate| margin * bitrate * count <= capacity).unwrap_or(0);
        let mut levels = vec![fair; count as usize];
        loop {
            let before = levels.clone();
            for n in 0..levels.len() {
                let others: u128 =
                    levels.iter().map(|level| ladder[*level]).sum::<u128>() - ladder[levels[n]];
                if ladder.get(levels[n] + 1).is_some_and(|next| margin * (others + next) <= capacity) {
                    levels[n] += 1;
                }
            }
            if levels == before {
                return levels;
            }
        }
    }

    proptest::proptest! {
        /// Levels are those of exact fractions, above all where a line holds some of them to the last bit.
        #[test]
        fn levels_are_those_of_exact_numbers(
            ladder in proptest::collection::btree_set(1u32..200_000, 1..8),
            scale in proptest::sample::select(vec![1u128, 10, 100, 1000]),
            chosen in proptest::collection::vec(0usize..8, 1..12),
            margin in 1u128..300,
            unit in proptest::sample::select(vec![1u128, 4, 10, 100]),
            off in -1i32..=1,
        ) {
            let ladder: Vec<u128> = ladder.into_iter().map(|bitrate| u128::from(bitrate) * scale).collect();
            let sum: u128 = chosen.iter().map(|level| ladder[level % ladder.len()]).sum();
            let capacity = (margin * sum).saturating_add_signed(i128::from(off)).max(1);
            let count = chosen.len();
            let doubles: Vec<f64> = ladder.iter().map(|bitrate| *bitrate as f64).collect();
            let (line, times) = (capacity as f64 / unit as f64, margin as f64 / unit as f64);
            let found = levels(line, count, &doubles, times);
            proptest::prop_assert_eq!(&found, &exact(capacity, count as u128, &ladder, margin));
            let shares = Policy::Levels { ladder: doubles, margin: times }.shares(Rate(line), count);
            let all: f64 = shares.iter().map(|share| share.0).sum();
            proptest::prop_assert!(all <= line * (1.0 + 1e-14));
        }

        /// Whatever opens, closes and is silent: shares are never more than the line, each session has as many connections as are
        /// open, and none of them is silent.
        #[test]
        fn shares_fit_the_line(calls in proptest::collection::vec((0u32..4, 0u64..8, 0u8..4), 1..200)) {
            let (mut s, mut hand) = (sessions(false), Stepper::new(1));
            for (n, (user, flow, what)) in calls.into_iter().enumerate() {
                let flow = u64::from(user) * 8 + flow;
                let packet = match what {
                    0 => syn(),
                    1 => with(flags::FIN),
                    2 => with(flags::RST),
                    _ => with(0),
                };
                meet(&mut s, &mut hand, (user, flow), &packet, n as f64 / 10.0);
                if n % 50 == 49 {
                    s.wake(&mut hand.cx(Time::from_seconds(n as f64 / 10.0)));
                }
                let sum: f64 = s.open().iter().map(|session| session.share.0).sum();
                proptest::prop_assert!(sum <= 8e6);
                proptest::prop_assert!(s.connections.keys().all(|flow| !s.silent.contains(flow)));
                let connections: u32 = s.open().iter().map(|session| session.connections).sum();
                proptest::prop_assert_eq!(connections as usize, s.connections.len());
                proptest::prop_assert!(s.open().iter().all(|session| session.connections > 0 && session.share.0 > 0.0));
            }
        }
    }
}
