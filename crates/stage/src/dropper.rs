//! Re-ECN's dropper at the egress, as rules of the auditor. A flow is negative if its negative packets of two
//! round trips ago exceed its declarations. Its packets that declare nothing are then dropped.
//!
//! The drafts leave the algorithm open (draft-briscoe-conex-re-ecn-motiv-03 section 4.3 and appendix A).
//! Rules: `strict`, `negative-only`, and `paper`, the formula of Zhang et al. 2011 section II. Packets of
//! worth +1 are never dropped, because they repair the balance. A dropper sees no losses; the auditor's rules
//! `balance` and `ratio` do.

use std::collections::VecDeque;

use evenflow_base::schema::{Problem, Values, sound};
use evenflow_base::{Codepoint, Duration, Heap, Packet, Reason, Stream, Time};

use crate::Kept;
use crate::auditor::{
    self, ActionWord, AuditWord, Auditor, Counts, Given, RuleWord, STRANGERS, Strangers, View, opened,
};
use crate::congestion_policer::{Encoding, class_after, class_given, class_problem, numbered, unit};
use crate::station::{Cx, HeldPacket, Kind, Owner, Pass, Reads, Station};
use crate::three_colour::Unit;

/// The share to drop of Zhang et al. 2011 section II: (1 - rho) p - h.
#[inline]
pub fn deficit_share(rho: f64, p: f64, h: f64) -> f64 {
    ((1.0 - rho) * p - h).clamp(0.0, 1.0)
}

/// Which packets of a negative flow are dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// A share.
    Paper {
        /// rho; absent: the share of positive packets that was sent, as far as marks show it.
        rho: Option<f64>,
        /// Of the newest packet in averages.
        weight: f64,
    },
    /// All that declare nothing and have declared nothing: neutral and negative ones.
    Strict,
    /// Negative ones, CE(-1).
    NegativeOnly,
}

/// The configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The rule.
    pub rule: Rule,
    /// Unit of all accounts.
    pub unit: Unit,
    /// The deficit that is overlooked.
    pub allowance: f64,
    /// How late a report may be: twice the longest round trip.
    pub lag: Duration,
    /// The class that picked packets get; absent: they are dropped.
    pub class: Option<u8>,
    /// Flows that have declared nothing have one account together.
    pub together: bool,
    /// When a silent flow is forgotten.
    pub idle: Duration,
}

const RULES: [RuleWord; 3] = [RuleWord::Paper, RuleWord::Strict, RuleWord::NegativeOnly];

/// Whether `values` name one of these rules.
pub fn is_named(values: &Values) -> bool {
    values.at(Given::rule).is_some_and(|rule| RULES.contains(&rule))
}

impl Params {
    /// From decoded values, whose rule is one of these.
    pub fn new(values: &Values, classes: &[String]) -> Result<Params, Vec<Problem>> {
        sound(problems(values))?;
        let given = Given::read(values);
        Ok(Params {
            rule: match given.rule {
                RuleWord::Paper => Rule::Paper { rho: given.rho, weight: given.weight },
                RuleWord::NegativeOnly => Rule::NegativeOnly,
                _ => Rule::Strict,
            },
            unit: unit(&given.allowance).unwrap_or(Unit::Packets),
            allowance: given.allowance.number().unwrap_or(0.0),
            lag: Duration::from_seconds(given.delay.unwrap_or(0.0)),
            class: (given.action == ActionWord::Class).then(|| numbered(given.class.as_deref(), classes)),
            together: given.strangers == Strangers::Together,
            idle: given.idle,
        })
    }
}

/// Errors in the combination of parameters under any rule; some may be missing.
fn problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let rule = values.at(Given::rule);
    if values.has(Given::rho) && rule.is_some_and(|rule| rule != RuleWord::Paper) {
        problems.push((Given::rho.name, "has no effect without rule = \"paper\"".into()));
    }
    let Some(rule) = rule.filter(|rule| RULES.contains(rule)) else {
        if values.has(Given::cancelled) && rule.is_some_and(|rule| rule != RuleWord::Ratio) {
            problems.push((Given::cancelled.name, "has no effect without rule = \"ratio\"".into()));
        }
        return problems;
    };
    let rule = rule.word();
    let others = [
        (Given::limit.name, "allowance"),
        (Given::hold.name, "class"),
        (Given::cancelled.name, "rule = \"ratio\""),
        (Given::reordering_window.name, "delay"),
        (Given::repair.name, "delay"),
    ];
    for (name, instead) in others {
        if values.get(name).is_some() {
            problems.push((name, format!("has no effect with rule = \"{rule}\"; nearest: {instead}")));
        }
    }
    if !values.has(Given::delay) {
        let why = format!(
            "is required with rule = \"{rule}\": twice the longest round trip, for example \"600 ms\""
        );
        problems.push((Given::delay.name, why));
    }
    if values.is(Given::action, ActionWord::Delay) {
        problems.push((
            Given::action.name,
            format!("\"delay\" is not available with rule = \"{rule}\"; nearest: \"class\""),
        ));
    }
    if values.is(Given::audit, AuditWord::Loss) {
        let why = format!(
            "\"loss\": rule = \"{rule}\" compares marks with reports and sees no losses; nearest: \"ecn\""
        );
        problems.push((Given::audit.name, why));
    }
    if values.is(Given::encoding, Encoding::Ipv6) {
        let why = format!("\"ipv6\": rule = \"{rule}\" reads the codes of IPv4; nearest: rule = \"balance\"");
        problems.push((Given::encoding.name, why));
    }
    problems.extend(class_problem(values, auditor::classifies(values)));
    problems
}

/// A flow's account, in packets or bytes.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Re-Echo.
    positive: f64,
    /// FNE.
    credit: f64,
    /// CE(-1), of which reports are due.
    negative: f64,
    /// CE(-1) since.
    late: VecDeque<(Time, f64)>,
    /// Averages: of Re-Echo that met nothing, of RE = 0, of CE. FNE is in none.
    unmarked: f64,
    declared: f64,
    marked: f64,
    sanctioned: bool,
}

impl Account {
    /// Brings what is due up to `now`; gives the deficit.
    fn deficit(&mut self, now: Time, lag: Duration) -> f64 {
        while let Some(&(since, amount)) = self.late.front()
            && now.since(since) >= lag
        {
            self.negative += amount;
            self.late.pop_front();
        }
        self.negative - self.positive - self.credit
    }
}

/// A dropper.
#[derive(Clone, Debug)]
pub struct Dropper {
    params: Params,
    flows: Kept<Account>,
    counts: Counts,
}

impl Dropper {
    /// A dropper that has seen nothing.
    pub fn new(params: Params) -> Dropper {
        Dropper { params, flows: Kept::new(Some(params.idle)), counts: Counts::default() }
    }

    /// Whether a packet of `flow` is picked. A number is drawn where a share is.
    pub fn judge(&mut self, packet: &Packet, flow: u64, now: Time, draws: &mut Stream) -> bool {
        let codepoint = packet.codepoint();
        let Some(worth) = codepoint.worth() else { return false };
        let params = self.params;
        let known = self.flows.find(flow, now);
        // 11 with RE = 0 of an unknown flow is a marked packet of RFC 3168.
        if known.is_none() && codepoint == Codepoint::Cancelled {
            return false;
        }
        let alone = known.is_some() || worth > 0 || !params.together;
        let key = if alone { flow } else { STRANGERS };
        let counts = &mut self.counts;
        let account = opened(&mut self.flows, known, key, now, counts);
        let amount = params.unit.of(packet.size);
        if let Rule::Paper { weight, .. } = params.rule
            && codepoint != Codepoint::Credit
        {
            let one = |yes: bool| if yes { 1.0 } else { 0.0 };
            let cancelled = codepoint == Codepoint::Cancelled;
            account.unmarked += weight * (one(codepoint == Codepoint::ReEcho) - account.unmarked);
            account.declared +=
                weight * (one(codepoint == Codepoint::ReEcho || cancelled) - account.declared);
            account.marked += weight * (one(codepoint == Codepoint::Negative || cancelled) - account.marked);
        }
        let negative = account.deficit(now, params.lag) > params.allowance;
        let picked = worth <= 0
            && negative
            && match params.rule {
                Rule::Strict => codepoint != Codepoint::Cancelled,
                Rule::NegativeOnly => worth < 0,
                Rule::Paper { rho, .. } => {
                    let rho = rho.unwrap_or(account.declared);
                    let share = deficit_share(rho, account.marked, account.unmarked);
                    share >= 1.0 || share > 0.0 && draws.open01() < share
                }
            };
        if picked {
            counts.sanctioned += 1;
            counts.sanctioned_flows += u64::from(!std::mem::replace(&mut account.sanctioned, true));
        } else {
            // Dropped packets do not count.
            match codepoint {
                Codepoint::ReEcho => {
                    account.positive += amount;
                    counts.declared.ecn += amount;
                }
                Codepoint::Credit => {
                    account.credit += amount;
                    counts.declared.credit += amount;
                }
                Codepoint::Negative => {
                    account.late.push_back((now, amount));
                    counts.met.mark += amount;
                }
                _ => {}
            }
        }
        counts.balance = -account.deficit(now, params.lag);
        counts.least = counts.least.min(counts.balance);
        picked
    }

    fn observe(&self, name: &str, _now: Time) -> Option<f64> {
        View { flows: self.flows.len(), held: 0, counts: &self.counts }.observe(name)
    }
}

/// An auditor of any rule.
#[derive(Clone, Debug)]
pub enum Auditing {
    /// Of ConEx.
    Auditor(Auditor),
    /// Of re-ECN.
    Dropper(Dropper),
}

impl Station for Auditing {
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        match self {
            Auditing::Auditor(auditor) => auditor.forward(packet, cx),
            Auditing::Dropper(dropper) => {
                match (dropper.judge(packet, cx.whose.flow, cx.now, cx.stream), dropper.params.class) {
                    (false, _) => Pass::On,
                    (true, None) => Pass::Drop(Reason::Audited),
                    (true, Some(class)) => {
                        packet.class = class;
                        Pass::On
                    }
                }
            }
        }
    }

    fn wake(&mut self, cx: &mut Cx) {
        if let Auditing::Auditor(auditor) = self {
            auditor.wake(cx);
        }
    }

    fn held(&self) -> Vec<HeldPacket> {
        match self {
            Auditing::Auditor(auditor) => auditor.held(),
            Auditing::Dropper(_) => Vec::new(),
        }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Auditing::Auditor(auditor) => auditor.heap_bytes(),
            Auditing::Dropper(Dropper { flows, .. }) => {
                flows.states().map(|account| account.late.heap_bytes()).sum::<u64>() + flows.heap_bytes()
            }
        }
    }

    fn observe(&self, name: &str, now: Time) -> Option<f64> {
        match self {
            Auditing::Auditor(auditor) => auditor.observe(name, now),
            Auditing::Dropper(dropper) => dropper.observe(name, now),
        }
    }
}

impl Kind for Auditing {
    fn build(values: &Values, owner: Owner) -> Result<Auditing, Vec<Problem>> {
        if is_named(values) {
            return Params::new(values, owner.classes).map(|params| Auditing::Dropper(Dropper::new(params)));
        }
        sound(Self::problems(values))?;
        auditor::Params::new(values, owner.classes).map(|params| Auditing::Auditor(Auditor::new(params)))
    }

    fn classes_after(values: &Values, class: &str) -> Vec<String> {
        class_after(values, auditor::classifies(values), class)
    }

    fn classes_given(values: &Values) -> Vec<(&'static str, String)> {
        class_given(values, auditor::classifies(values))
    }

    fn reads(values: &Values) -> Option<Reads> {
        crate::congestion_policer::reads(values, is_named(values))
    }

    fn problems(values: &Values) -> Vec<Problem> {
        if is_named(values) {
            problems(values)
        } else {
            [auditor::problems(values), problems(values)].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use evenflow_base::packet::ip;
    use proptest::prelude::*;

    use evenflow_base::schema::Value;

    use super::*;
    use crate::Stepper;

    use Codepoint::{Cancelled, Credit, Negative, NotCapable, NotMarked, ReEcho};

    fn params(rule: Rule) -> Params {
        Params {
            rule,
            unit: Unit::Packets,
            allowance: 3.0,
            lag: Duration(1_000_000_000),
            class: None,
            together: false,
            idle: Duration(60_000_000_000),
        }
    }

    fn packet(codepoint: Codepoint) -> Packet {
        let mut packet = Packet { ip: ip::DATAGRAM, ..Packet::new(0, 1000, 960) }.with_ecn(codepoint.ecn());
        packet.set_re(codepoint.re());
        packet
    }

    fn judge(dropper: &mut Dropper, codepoint: Codepoint, seconds: f64) -> bool {
        dropper.judge(&packet(codepoint), 1, Time::from_seconds(seconds), &mut Stepper::new(1).stream)
    }

    /// Negative packets weigh two round trips later, and three of them are overlooked; one report repairs, and is never dropped itself.
    #[test]
    fn a_flow_is_negative_late_and_only_as_long_as_it_is() {
        let mut dropper = Dropper::new(params(Rule::Strict));
        assert!((0..5).all(|_| !judge(&mut dropper, Negative, 0.0)));
        assert!(!judge(&mut dropper, NotMarked, 0.999));
        assert!(judge(&mut dropper, NotMarked, 1.0), "five, of which three are overlooked");
        assert!(judge(&mut dropper, Negative, 1.0) && !judge(&mut dropper, Cancelled, 1.0));
        assert!(!judge(&mut dropper, ReEcho, 1.0));
        assert!(judge(&mut dropper, NotMarked, 1.0), "4 are more than 3");
        assert!(!judge(&mut dropper, Credit, 1.0));
        assert!(!judge(&mut dropper, NotMarked, 1.0), "3 are not");
        assert_eq!((dropper.counts.balance, dropper.counts.least), (-3.0, -5.0));
        assert!(!judge(&mut dropper, NotCapable, 1.0), "legacy traffic is nobody's debt");
    }

    /// Dropped packets do not count: a flow that declares nothing is removed completely, and its balance stands still.
    #[test]
    fn what_is_dropped_does_not_count() {
        let mut dropper = Dropper::new(params(Rule::Strict));
        for n in 0..1000 {
            judge(&mut dropper, Negative, f64::from(n) * 0.01);
        }
        // Marked packets of the first second pass: 0.00, 0.01, 0.02, 0.03 are due at 1.03.
        assert_eq!((dropper.counts.sanctioned, dropper.counts.met.mark), (1000 - 103, 103.0));
    }

    #[test]
    fn negative_packets_alone() {
        let mut dropper = Dropper::new(params(Rule::NegativeOnly));
        assert!((0..9).all(|_| !judge(&mut dropper, Negative, 0.0)));
        assert_eq!(
            [NotMarked, Cancelled, Negative, ReEcho].map(|code| judge(&mut dropper, code, 1.0)),
            [false, false, true, false]
        );
    }

    /// Dossier 2.18: h = 0.02, p = 0.05: of 1000 packets 19 positive, 1 cancelled, 49 negative, 931 neutral. Balance -30, pd 0.030; strict
    /// takes all 980 that declare nothing.
    #[test]
    fn golden_numbers_of_the_dropper() {
        assert!((deficit_share(0.02, 0.05, 0.019) - 0.030).abs() < 1e-12);
        assert_eq!((deficit_share(0.5, 0.01, 0.5), deficit_share(0.0, 1.5, 0.0)), (0.0, 1.0));
        let thousand = || {
            let mut all = vec![NotMarked; 931];
            all.extend([ReEcho; 19].iter().chain(&[Cancelled; 1]).chain(&[Negative; 49]));
            let n = all.len();
            (0..n).map(move |k| all[k * 617 % n]) // well mixed: 617 and 1000 have no common factor
        };
        let mut strict = Dropper::new(Params { lag: Duration(10_000_000_000), ..params(Rule::Strict) });
        judge(&mut strict, NotMarked, 0.0);
        for code in thousand() {
            assert!(!judge(&mut strict, code, 1.0));
        }
        assert_eq!(strict.counts.met.mark - strict.counts.declared.ecn, 30.0);
        let dropped = thousand().filter(|code| judge(&mut strict.clone(), *code, 11.0)).count();
        assert_eq!((dropped, strict.clone().counts.sanctioned), (980, 0));
        // The formula over many such thousands: 3 % of what declares nothing.
        let rule = Rule::Paper { rho: None, weight: 0.001 };
        let mut paper = Dropper::new(Params { lag: Duration(1_000_000_000), ..params(rule) });
        let mut by_hand = Stepper::new(5);
        let mut picked = 0u32;
        for round in 0..200u32 {
            for code in thousand() {
                let now = Time::from_seconds(f64::from(round));
                let was = paper.judge(&packet(code), 1, now, &mut by_hand.stream);
                picked += u32::from(was && round >= 20);
            }
        }
        let share = f64::from(picked) / (180.0 * 980.0);
        assert!((share - 0.030).abs() < 0.002, "{share}");
    }

    /// What `phi` of its congestion declares; one report a mark, a round trip after the packet came, on data sent at even gaps.
    struct Flow {
        echoes: VecDeque<(f64, ())>,
        owed: f64,
        sent: u32,
    }

    /// The shares of packets that pass, and of flows that are sanctioned, of `flows` that each send `packets`, 20 a round trip, at a dropper whose
    /// lag is twice `most`.
    fn through(rule: Rule, phi: f64, p: f64, rtt: f64, flows: usize, packets: u32, most: f64) -> (f64, f64) {
        let (passed, sanctioned, _) = watched(rule, phi, p, rtt, flows, packets, 2.0 * most);
        (passed, sanctioned)
    }

    /// The same, and which share of the marks was held against a flow: it was older than `lag` before the end.
    fn watched(
        rule: Rule,
        phi: f64,
        p: f64,
        rtt: f64,
        flows: usize,
        packets: u32,
        lag: f64,
    ) -> (f64, f64, f64) {
        let end = f64::from(packets) * rtt / 20.0;
        let (mut marks, mut old) = (0u32, 0u32);
        let lag_s = lag;
        let lag = Duration::from_seconds(lag);
        let mut dropper = Dropper::new(Params { lag, ..params(rule) });
        let mut all: Vec<Flow> =
            (0..flows).map(|_| Flow { echoes: VecDeque::new(), owed: 0.0, sent: 0 }).collect();
        let mut by_hand = Stepper::new(11);
        let (gap, mut passed) = (rtt / 20.0, 0u64);
        for n in 0..packets {
            for (id, flow) in all.iter_mut().enumerate() {
                let sent = (f64::from(n) + id as f64 / flows as f64) * gap;
                while flow.echoes.front().is_some_and(|(due, ())| *due <= sent) {
                    flow.echoes.pop_front();
                    flow.owed += phi;
                }
                flow.sent += 1;
                let code = match flow.sent {
                    _ if flow.owed >= 1.0 => {
                        flow.owed -= 1.0;
                        ReEcho
                    }
                    1 | 3 => Credit,
                    _ => NotMarked,
                };
                let marked = by_hand.stream.open01() < p;
                let code = if marked { code.marked(true).unwrap_or(code) } else { code };
                let arrives = Time::from_seconds(sent + rtt / 2.0);
                if dropper.judge(&packet(code), id as u64, arrives, &mut by_hand.stream) {
                    continue; // and its mark is not heard of
                }
                passed += 1;
                if marked {
                    flow.echoes.push_back((sent + rtt, ()));
                    marks += 1;
                    old += u32::from(sent + lag_s < end);
                }
            }
        }
        let total = f64::from(packets) * flows as f64;
        let sanctioned = dropper.counts.sanctioned_flows as f64 / flows as f64;
        (passed as f64 / total, sanctioned, f64::from(old) / f64::from(marks.max(1)))
    }

    /// Honest flows lose nothing, though most of their marks are held against them: the run lasts for several lags.
    fn assert_unharmed(rule: Rule, p: f64, rtt: f64, flows: usize, packets: u32, lag: f64) {
        let (passed, sanctioned, old) = watched(rule, 1.0, p, rtt, flows, packets, lag);
        assert_eq!((passed, sanctioned), (1.0, 0.0), "{rule:?} {rtt} {p} {flows}");
        assert!(old > 0.5, "{rule:?} {rtt} {p} {flows}: {old} of the marks counted");
    }

    const RULES: [Rule; 3] = [Rule::Strict, Rule::NegativeOnly, Rule::Paper { rho: None, weight: 0.01 }];
    /// Twice the longest round trip of the grid, s.
    const LAG: f64 = 1.2;

    /// An honest flow is not sanctioned, whatever its round trip up to the longest, its marks and its company; 10,000 of them by a dropper that
    /// waits for two of their own round trips.
    #[test]
    fn honest_flows_are_not_sanctioned() {
        for rule in RULES {
            for rtt in [0.02, 0.1, 0.6] {
                for (p, flows, packets) in [
                    (1e-4, 5, 20_000),
                    (1e-3, 5, 20_000),
                    (1e-2, 100, 4_000),
                    (3e-2, 100, 4_000),
                    (3e-2, 5, 20_000),
                ] {
                    assert_unharmed(rule, p, rtt, flows, packets, LAG);
                }
            }
        }
        assert_unharmed(Rule::Strict, 3e-2, 0.1, 10_000, 160, 0.2);
        let twice = through(Rule::Strict, 2.0, 3e-2, 0.1, 100, 1_000, 0.1);
        assert_eq!(twice, (1.0, 0.0), "who declares too much neither");
    }

    /// The same over the whole grid: round trips of 20 to 600 ms, marks of 1e-4 to 3e-2, 5, 100 and 10,000 flows.
    #[test]
    #[ignore = "some minutes: cargo test --release -p evenflow-stage --lib dropper -- --ignored"]
    fn honest_flows_are_not_sanctioned_over_the_whole_grid() {
        for rule in RULES {
            for rtt in [0.02, 0.05, 0.1, 0.2, 0.4, 0.6] {
                // Three lags and a half, in packets.
                let least = (3.5 * LAG * 20.0 / rtt) as u32;
                for p in [1e-4, 1e-3, 1e-2, 3e-2] {
                    for (flows, packets) in [(5, 40_000), (100, 4_000), (10_000, 100)] {
                        assert_unharmed(rule, p, rtt, flows, least.max(packets), LAG);
                    }
                }
            }
        }
    }

    /// Why the lag: an honest flow's balance stands below zero by the marks that are older than the lag and not declared yet, those of the packets
    /// of one round trip less the lag. They are a random walk with independent steps, binomial with w = 20 (1 - lag / RTT) packets; more than three
    /// overlooked and two given as credit, six, sanction the flow. From below: windows side by side, 1 - (1 - P(N >= 6))^(n / w). From above: the
    /// expected number of marks that find five others under way, n p P(N = 5). Measured within these and three standard errors; with a lag of two
    /// round trips none.
    #[test]
    fn lags_below_a_round_trip_sanction_as_many_as_a_random_walk_predicts() {
        const FLOWS: usize = 300;
        const PACKETS: u32 = 4_000;
        let exactly = |k: i32, w: f64, p: f64| {
            let ways = (0..k).fold(1.0, |ways, i| ways * (w - f64::from(i)).max(0.0) / f64::from(i + 1));
            ways * libm::pow(p, f64::from(k)) * libm::pow(1.0 - p, w - f64::from(k))
        };
        for (rtt, p, share) in [
            (0.1, 0.1, 0.0),
            (0.02, 0.1, 0.25),
            (0.1, 0.1, 0.5),
            (0.6, 0.1, 0.5),
            (0.1, 0.06, 0.0),
            (0.6, 0.15, 0.6),
        ] {
            // A report goes with the next packet: one more is under way.
            let w = 20.0 * (1.0 - share);
            let n = f64::from(PACKETS);
            let six = 1.0 - (0..=5).map(|k| exactly(k, w - 1.0, p)).sum::<f64>();
            let below = 1.0 - libm::pow(1.0 - six, n / w);
            let above = (n * p * exactly(5, w + 1.0, p)).min(1.0);
            let (_, found, _) = watched(Rule::Strict, 1.0, p, rtt, FLOWS, PACKETS, (share * rtt).max(1e-6));
            let error = |q: f64| 3.0 * libm::sqrt(q * (1.0 - q) / FLOWS as f64) + 1.0 / FLOWS as f64;
            assert!(
                below - error(below) <= found && found <= above + error(above),
                "RTT {rtt}, p {p}, lag of {share} of it: {found}, not {below} to {above}"
            );
        }
        for rtt in [0.02, 0.1, 0.6] {
            assert_eq!(watched(Rule::Strict, 1.0, 0.1, rtt, 100, 4_000, 2.0 * rtt).1, 0.0);
        }
    }

    /// Issue: who understates is held. Under `strict` a flow gets its share phi of the marks through and no more, for every mark beyond is
    /// repaid before anything else goes on; the formula of the paper hardly holds it.
    #[test]
    fn understating_flows_are_held() {
        for (phi, strict) in [(0.0, 0.05), (0.25, 0.2), (0.5, 0.3), (0.75, 0.5)] {
            let (passed, sanctioned) = through(Rule::Strict, phi, 3e-2, 0.1, 100, 20_000, 0.1);
            assert!(passed < strict && sanctioned > 0.99, "{phi}: {passed} {sanctioned}");
            let (paper, _) =
                through(Rule::Paper { rho: None, weight: 0.01 }, phi, 3e-2, 0.1, 100, 20_000, 0.1);
            assert!(paper > 0.9, "{phi}: {paper}");
        }
        let (passed, _) = through(Rule::Strict, 0.0, 3e-2, 0.1, 100, 20_000, 0.6);
        assert!(passed < 0.05, "{passed}");
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let word = |name: &'static str, word: &str| (name, Value::Word(word.into()));
        let values = Values(
            [
                word("rule", "strict"),
                word("action", "delay"),
                word("audit", "loss"),
                word("encoding", "ipv6"),
                ("rho", Value::Number(0.1)),
                ("limit", Value::Packets(3.0)),
            ]
            .into_iter()
            .collect(),
        );
        let names: Vec<&str> = problems(&values).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["rho", "limit", "delay", "action", "audit", "encoding"]);
    }

    proptest! {
        /// Whatever comes: a report or credit is never dropped, nor a packet of a flow that is not negative; and dropping nothing else, the
        /// deficit never exceeds what was under way in the lag.
        #[test]
        fn worth_plus_one_is_never_dropped(codes in prop::collection::vec((0u8..8, 0u64..400), 1..400), which in 0usize..3) {
            let rule = [Rule::Strict, Rule::NegativeOnly, Rule::Paper { rho: None, weight: 0.05 }][which];
            let mut dropper = Dropper::new(params(rule));
            let mut by_hand = Stepper::new(2);
            let mut now = Time::ZERO;
            let mut history: Vec<(Time, f64)> = Vec::new();
            for (code, gap) in codes {
                now += Duration(gap * 1_000_000);
                let code = evenflow_base::codepoint::CODEPOINTS[usize::from(code)];
                let deficit: f64 = history.iter()
                    .map(|(at, worth)| if *worth > 0.0 || now.since(*at) >= Duration(1_000_000_000) { -worth } else { 0.0 }).sum();
                let picked = dropper.judge(&packet(code), 1, now, &mut by_hand.stream);
                prop_assert!(!picked || code.worth().is_some_and(|worth| worth <= 0));
                prop_assert!(!picked || deficit > 3.0, "{}", deficit);
                if rule == Rule::Strict && matches!(code, NotMarked | Negative) {
                    prop_assert_eq!(picked, deficit > 3.0 );
                }
                if !picked && let Some(worth) = code.worth() {
                    history.push((now, f64::from(worth)));
                }
            }
        }
    }
}
