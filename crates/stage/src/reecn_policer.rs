//! Re-ECN's policers as rules of the congestion policer (draft-briscoe-conex-re-ecn-motiv-03 appendix B;
//! Zhang et al. 2011 sections II and IV).
//!
//! - `tcp-rate` (A): a report costs the time that TCP needs per report. A flow at TCP's rate earns as much as
//!   it pays.
//! - `rate-bytes` (A'): packets cost bytes. Tokens come at TCP's rate for the flow's fraction of reports.
//! - `volume` (B): reports cost their bytes, for all flows of a user together.

use evenflow_base::schema::{Problem, Type, Value, Values, sound};
use evenflow_base::{Codepoint, Duration, Packet, Reason, Stream, Time, flags};

use crate::congestion_policer::RuleWord::{self, RateBytes, TcpRate, Volume};
use crate::congestion_policer::{
    self, ActionWord, Cancelled, Charge, CongestionPolicer, Counts, CreditCost, Encoding, Floor, Given,
    Harshness, Legacy, RttFrom, Scope, Strangers, View, class_after, class_given, class_problem, classifies,
    mark, numbered, unit,
};
use crate::station::{Cx, Kind, Owner, Pass, Reads, RoundTrip, Station};
use crate::three_colour::Unit;
use crate::{Kept, mean};

/// TCP's rate: k s / (T sqrt(p)) bytes a second (Zhang et al. 2011 section II; Mathis et al. 1997).
#[inline]
pub fn tcp_rate(k: f64, size: f64, rtt: f64, p: f64) -> f64 {
    k * size / (rtt * p.sqrt())
}

/// The time that TCP needs for `n` packets of which the last reports congestion: sqrt(n) T / k.
#[inline]
pub fn worth_of(n: f64, rtt: f64, k: f64) -> f64 {
    n.sqrt() * rtt / k
}

/// The share of the packets of an unresponsive flow of `rate` that goes beyond TCP's (Zhang et al. 2011 section II).
#[inline]
pub fn excess(rate: f64, tcp: f64) -> f64 {
    ((rate - tcp) / rate).max(0.0)
}

/// A token's unit, and the charged events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Policer A.
    TcpRate {
        /// Seconds in the bucket at first.
        start: f64,
        /// Seconds that it holds; also how deep the debt may become.
        depth: f64,
        /// One charge a round trip.
        merge: bool,
    },
    /// Policer A'.
    RateBytes {
        /// Bytes that the bucket holds, and has at first.
        depth: f64,
    },
    /// Policer B.
    Volume {
        /// Packets or bytes.
        unit: Unit,
        /// Tokens a second.
        rate: f64,
        /// Tokens that the bucket holds.
        depth: f64,
        /// Tokens in it at first.
        level: f64,
        /// The second bucket, for credit alone: tokens a second, and tokens that it holds.
        credit: Option<(f64, f64)>,
    },
}

/// Action when tokens are used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sanction {
    /// The packet is dropped that would take the level below zero.
    DropOne,
    /// All packets of the bucket's owner, as long as the level is below zero.
    DropWhileEmpty,
    /// All packets of the user for this time.
    Block(Duration),
    /// The share beyond TCP's rate while the level is negative.
    Probability,
    /// They get this class, as long as it is.
    Class(u8),
    /// They get a congestion mark, as long as it is.
    Mark,
}

/// The configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The rule.
    pub rule: Rule,
    /// Owner of a bucket.
    pub scope: Scope,
    /// Action.
    pub sanction: Sanction,
    /// r: tokens in one that TCP needs.
    pub factor: f64,
    /// k of TCP's rate.
    pub k: f64,
    /// Where T is from.
    pub rtt_from: RttFrom,
    /// T itself, or what holds until it is known.
    pub rtt: Duration,
    /// Flows that do not begin with a credit have one bucket together.
    pub together: bool,
    /// Packets that are not re-ECN are dropped like others; they cost nothing.
    pub legacy: bool,
    /// When a silent flow is forgotten.
    pub idle: Duration,
}

/// k of TCP without delayed ACKs, sqrt(3/2): the most that draft-briscoe-conex-re-ecn-motiv-03 appendix B.2 allows.
pub const K: f64 = 1.224_744_871_391_589;
/// `rtt` where none is given and none is known yet, seconds (RFC 6298 section 2.1).
const RTT: f64 = 1.0;

impl Params {
    /// From decoded values, whose rule is one of these.
    pub fn new(values: &Values, classes: &[String]) -> Result<Params, Vec<Problem>> {
        sound(problems(values))?;
        let given = Given::read(values);
        let number = |value: &Option<Value>| value.as_ref().and_then(Value::number);
        let depth = number(&given.depth).unwrap_or(0.0);
        let by_rate = given.rule != Volume;
        let rule = if given.rule == TcpRate {
            Rule::TcpRate {
                start: given.start.unwrap_or(START),
                depth: given.most.unwrap_or(MOST),
                merge: given.event_merge != Some(false),
            }
        } else if by_rate {
            Rule::RateBytes { depth }
        } else {
            let unit = given.rate.as_ref().and_then(unit).unwrap_or(Unit::Bytes);
            let of = |rate: f64| if unit == Unit::Bytes { rate / 8.0 } else { rate };
            let credit = number(&given.credit_rate).zip(number(&given.credit_depth));
            Rule::Volume {
                unit,
                rate: of(number(&given.rate).unwrap_or(0.0)),
                depth,
                level: given.level * depth,
                credit: credit.map(|(rate, depth)| (of(rate), depth)),
            }
        };
        let scope = given.scope.unwrap_or(if by_rate { Scope::Flow } else { Scope::User });
        Ok(Params {
            rule,
            scope,
            sanction: match given.action {
                ActionWord::DropWhileEmpty => Sanction::DropWhileEmpty,
                ActionWord::Block => Sanction::Block(given.block_for.unwrap_or(FOREVER)),
                ActionWord::Probability => Sanction::Probability,
                ActionWord::Class => Sanction::Class(numbered(given.class.as_deref(), classes)),
                ActionWord::Mark => Sanction::Mark,
                ActionWord::Drop | ActionWord::DropOne => Sanction::DropOne,
            },
            factor: given.factor.unwrap_or(1.0),
            k: given.k.unwrap_or(K),
            rtt_from: given.rtt_from.unwrap_or(match given.rtt {
                Some(_) => RttFrom::Given,
                None => RttFrom::Handshake,
            }),
            rtt: Duration::from_seconds(given.rtt.unwrap_or(RTT)),
            together: given.strangers != Some(Strangers::Own),
            legacy: given.legacy == Legacy::Police,
            idle: Duration::from_seconds(given.idle.unwrap_or(IDLE)),
        })
    }
}

/// `start`, `most` and `idle` where none is given, seconds.
const START: f64 = 20.0;
const MOST: f64 = 400.0;
const IDLE: f64 = 60.0;
/// Longer than any run.
const FOREVER: Duration = Duration(u64::MAX);

/// Parameters that belong to some rules only.
const ONLY: [(&str, &[RuleWord]); 12] = [
    (Given::start.name, &[TcpRate]),
    (Given::most.name, &[TcpRate]),
    (Given::event_merge.name, &[TcpRate]),
    (Given::factor.name, &[TcpRate, RateBytes]),
    (Given::k.name, &[TcpRate, RateBytes]),
    (Given::rtt.name, &[TcpRate, RateBytes]),
    (Given::rtt_from.name, &[TcpRate, RateBytes]),
    (Given::credit_rate.name, &[Volume]),
    (Given::credit_depth.name, &[Volume]),
    (Given::scope.name, RULES),
    (Given::strangers.name, RULES),
    (Given::idle.name, RULES),
];
const RULES: &[RuleWord] = &[TcpRate, RateBytes, Volume];
/// Parameters of the bucket of ConEx only, and their defaults.
const BUCKET: [(&str, &str); 6] = [
    (Given::harshness.name, Harshness::Mild.word()),
    (Given::charge.name, Charge::Arrival.word()),
    (Given::floor.name, Floor::None.word()),
    (Given::credit.name, CreditCost::Free.word()),
    (Given::cancelled.name, Cancelled::Charged.word()),
    (Given::encoding.name, Encoding::Ipv4.word()),
];
/// Actions of these rules only.
const ACTIONS: [ActionWord; 4] =
    [ActionWord::DropOne, ActionWord::DropWhileEmpty, ActionWord::Block, ActionWord::Probability];

/// Whether `values` name one of these rules.
pub fn is_named(values: &Values) -> bool {
    values.at(Given::rule).is_some_and(|rule| RULES.contains(&rule))
}

/// Errors in the combination of parameters under any rule; some may be missing.
pub fn problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let (rule, action) = (values.at(Given::rule), values.at(Given::action));
    let rules = |rules: &[RuleWord]| {
        let quoted: Vec<String> = rules.iter().map(|rule| format!("\"{}\"", rule.word())).collect();
        quoted.join(" or ")
    };
    for (name, with) in ONLY {
        if values.get(name).is_some() && rule.is_some_and(|rule| !with.contains(&rule)) {
            problems.push((name, format!("has no effect without rule = {}", rules(with))));
        }
    }
    let named = rule.filter(|rule| RULES.contains(rule));
    if let Some(action) = action.filter(|action| named.is_none() && ACTIONS.contains(action)) {
        let why =
            format!("\"{}\" needs a rule of re-ECN: {}; nearest: \"drop\"", action.word(), rules(RULES));
        problems.push((Given::action.name, why));
    }
    if values.has(Given::block_for) && action != Some(ActionWord::Block) {
        problems.push((Given::block_for.name, "has no effect without action = \"block\"".into()));
    }
    let Some(rule) = named else { return problems };
    let own = rule.word();
    for (name, default) in BUCKET {
        if values.get(name).is_some_and(|value| !value.is_word(default)) {
            problems.push((name, format!("has no effect with rule = \"{own}\", only with \"bucket\"")));
        }
    }
    if rule != Volume && values.at(Given::level).is_some_and(|level| level != 1.0) {
        let nearest = if rule == TcpRate { "; nearest: start, in seconds" } else { "" };
        problems.push((
            Given::level.name,
            format!("has no effect with rule = \"{own}\", only with \"volume\"{nearest}"),
        ));
    }
    let (factor, most) = ("factor, tokens relative to TCP's need", "most, in seconds");
    for (name, useless, nearest) in
        [(Given::rate.name, rule != Volume, factor), (Given::depth.name, rule == TcpRate, most)]
    {
        if useless && values.get(name).is_some() {
            let why =
                format!("has no effect with rule = \"{own}\", only with \"volume\"; nearest: {nearest}");
            problems.push((name, why));
        }
    }
    if rule == RateBytes && values.raw(Given::depth).and_then(unit) == Some(Unit::Packets) {
        problems.push((
            Given::depth.name,
            "counts packets, but rule = \"rate-bytes\" counts bytes: write \"60 kB\"".into(),
        ));
    }
    let credit = (values.raw(Given::credit_rate), values.raw(Given::credit_depth));
    if let (Some(rate), Some(depth)) = credit
        && let (Some(a), Some(b), Some(own)) =
            (unit(rate), unit(depth), values.raw(Given::rate).and_then(unit))
        && (a != own || b != own)
    {
        let why = "must have the unit of rate, packets or bytes, and so must credit_depth";
        problems.push((Given::credit_rate.name, why.into()));
    }
    let (rate, depth) = (Given::credit_rate.name, Given::credit_depth.name);
    if let Some((missing, other)) = match credit {
        (Some(_), None) => Some((depth, rate)),
        (None, Some(_)) => Some((rate, depth)),
        _ => None,
    } {
        problems.push((missing, format!("is required with {other}: both define the bucket for credit")));
    }
    if let (Some(start), Some(most)) = (values.at(Given::start), values.at(Given::most).or(Some(MOST)))
        && rule == TcpRate
        && start > most
    {
        problems.push((Given::start.name, format!("must not exceed most: {start} s is more than {most} s")));
    }
    if rule != RateBytes && action == Some(ActionWord::Probability) {
        let why = format!(
            "\"probability\" drops the share beyond TCP's rate, which rule = \"{own}\" does not measure; \
             nearest: \"drop-while-empty\", or rule = \"rate-bytes\""
        );
        problems.push((Given::action.name, why));
    }
    if rule == RateBytes && values.at(Given::scope).is_some_and(|scope| scope != Scope::Flow) {
        let why = "rule = \"rate-bytes\" uses the rate of one TCP connection; nearest: rule = \"volume\"";
        problems.push((Given::scope.name, why.into()));
    }
    if values.is(Given::rtt_from, RttFrom::Given) && !values.has(Given::rtt) {
        problems.push((Given::rtt.name, "is required with rtt_from = \"given\"".into()));
    }
    problems
}

/// Missing required parameters, if all others were decoded.
pub fn missing(values: &Values) -> Vec<Problem> {
    let (depth, rate) = (Given::depth.name, Given::rate.name);
    let wanted: &[(&'static str, Type)] = match values.at(Given::rule) {
        Some(TcpRate) => &[],
        Some(RateBytes) => &[(depth, Type::Bytes)],
        _ => &[(depth, Type::PacketsOrBytes), (rate, Type::RateOrPacketRate)],
    };
    let missing = wanted.iter().filter(|(name, _)| values.get(name).is_none());
    missing
        .map(|(name, ty)| {
            let (what, example) = ty.describe();
            (*name, format!("is required: {what}, for example {example}"))
        })
        .collect()
}

/// One bucket.
#[derive(Clone, Debug)]
struct Account {
    level: f64,
    last: Time,
    /// Packets since the last charge (A) or report (A').
    n: f64,
    /// When the last charge was.
    charged: Option<Time>,
    /// When the first packet came.
    born: Time,
    /// A packet of re-ECN has come, not a SYN without.
    begun: bool,
    /// A SYN came at this instant, and nothing since.
    opened: Option<Time>,
    /// The round-trip time, once it is known.
    rtt: Option<Duration>,
    /// Of A': the mean of packets between reports, bytes and time since the last one, their means, and whether one came.
    spacing: Option<f64>,
    since: (f64, Time),
    rate: f64,
    bytes: f64,
    packets: f64,
    /// Of B: the bucket for credit.
    credit: f64,
    /// It may send again then.
    until: Option<Time>,
    policed: bool,
}

/// The key of flows that did not begin with credit.
const STRANGERS: u64 = u64::MAX;

/// A policer of re-ECN.
#[derive(Clone, Debug)]
pub struct ReEcnPolicer {
    params: Params,
    accounts: Kept<Account>,
    /// Flows whose account is that of strangers.
    strangers: Kept<()>,
    counts: Counts,
}

/// The verdict apart from the bucket of the packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// Nothing.
    Pass,
    /// It is the one that the tokens do not pay for.
    Broke,
    /// The owner's level is below zero.
    Empty,
    /// The owner is blocked.
    Blocked,
    /// There is no token for its credit.
    NoCredit,
}

impl ReEcnPolicer {
    /// A policer that has seen nothing.
    pub fn new(params: Params) -> ReEcnPolicer {
        let idle = (params.scope == Scope::Flow).then_some(params.idle);
        let least = match params.rule {
            Rule::TcpRate { start, .. } => start,
            Rule::RateBytes { depth } => depth,
            Rule::Volume { level, .. } => level,
        };
        ReEcnPolicer {
            params,
            accounts: Kept::new(idle),
            strangers: Kept::new(idle),
            counts: Counts { least, ..Counts::default() },
        }
    }

    fn fresh(params: &Params, now: Time) -> Account {
        let (level, credit) = match params.rule {
            Rule::TcpRate { start, .. } => (start, 0.0),
            Rule::RateBytes { depth } => (depth, 0.0),
            Rule::Volume { level, credit, .. } => (level, credit.map_or(0.0, |(_, depth)| depth)),
        };
        // A bucket that belongs to a user has filled since the start of the run.
        let since = if params.scope == Scope::Flow { now } else { Time::ZERO };
        Account {
            level,
            last: since,
            n: 0.0,
            charged: None,
            born: now,
            begun: false,
            opened: None,
            rtt: None,
            spacing: None,
            since: (0.0, now),
            rate: 0.0,
            bytes: 0.0,
            packets: 0.0,
            credit,
            until: None,
            policed: false,
        }
    }

    /// The verdict on a packet of `user` and `flow` at `now`. `known` has the round-trip times of path,
    /// sender and tunnel, if known. Draws a number where only a share is dropped.
    pub fn meet(
        &mut self,
        packet: &mut Packet,
        (user, flow): (u32, u64),
        known: RoundTrip,
        now: Time,
        draws: &mut Stream,
    ) -> Pass {
        let params = self.params;
        let codepoint = packet.codepoint();
        let worth = codepoint.worth();
        let opens = packet.is(flags::SYN) && !packet.is(flags::RST);
        if worth.is_none() && !params.legacy && params.rtt_from != RttFrom::Handshake {
            return Pass::On;
        }
        let key = match params.scope {
            Scope::Flow if worth.is_some() && self.is_stranger(flow, codepoint, now) => STRANGERS,
            Scope::Flow => flow,
            Scope::User => u64::from(user),
            Scope::Customer => 0,
        };
        let counts = &mut self.counts;
        if worth.is_none() && self.accounts.get(key).is_none() && !opens && !params.legacy {
            return Pass::On;
        }
        let account = self.accounts.of(key, now, || {
            counts.owners += 1;
            ReEcnPolicer::fresh(&params, now)
        });
        account.learn(opens, known, now, &params);
        account.begun |= worth.is_some();
        if worth.is_none() && !params.legacy {
            return Pass::On;
        }
        counts.arrived += 1;
        counts.negative += u64::from(codepoint == Codepoint::Negative);
        counts.credits += u64::from(codepoint == Codepoint::Credit);
        let reports = matches!(codepoint, Codepoint::ReEcho | Codepoint::Cancelled);
        counts.reports += u64::from(reports);
        counts.volume += u64::from(packet.size) * u64::from(reports);
        let costs = reports || codepoint == Codepoint::Credit;
        let (fate, charged) = match params.rule {
            _ if account.until.is_some_and(|until| now < until) => (Fate::Blocked, 0.0),
            Rule::TcpRate { depth, merge, .. } => {
                account.by_seconds(costs, worth.is_some(), depth, merge, now, &params)
            }
            Rule::RateBytes { depth } => {
                account.by_bytes(packet.size, reports, worth.is_some(), depth, now, &params)
            }
            Rule::Volume { .. } => account.by_volume(packet.size, codepoint, costs, now, &params),
        };
        counts.charged += charged;
        counts.least = counts.least.min(account.level);
        let (level, share) = (account.level, account.excess(&params));
        let below = fate == Fate::Empty || fate == Fate::Broke;
        let picked = match (fate, params.sanction) {
            (Fate::Pass, _) => false,
            (Fate::Blocked | Fate::NoCredit, _) => true,
            (Fate::Broke, Sanction::DropOne) => true,
            // The packet that takes the level below zero goes on in B; in A it is charged all the same, and dropped.
            (Fate::Broke, Sanction::Block(_)) => false,
            (Fate::Broke | Fate::Empty, Sanction::Probability) => draws.open01() < share,
            (Fate::Broke, _) => matches!(params.rule, Rule::TcpRate { .. }),
            (Fate::Empty, Sanction::DropOne | Sanction::Block(_)) => false,
            (Fate::Empty, _) => true,
        };
        if let Sanction::Block(time) = params.sanction
            && below
            && level < 0.0
        {
            account.until = Some(Time(now.0.saturating_add(time.0)));
        }
        if !picked {
            return Pass::On;
        }
        counts.policed += 1;
        counts.policed_owners += u64::from(!std::mem::replace(&mut account.policed, true));
        counts.first.get_or_insert(now);
        let reason = match fate {
            Fate::Blocked => Reason::Blocked,
            Fate::NoCredit => Reason::CreditPoliced,
            _ => Reason::CongestionPoliced,
        };
        match params.sanction {
            Sanction::Class(class) => {
                packet.class = class;
                Pass::On
            }
            Sanction::Mark => mark(packet, codepoint, reason),
            _ => Pass::Drop(reason),
        }
    }

    /// Whether a flow has no bucket: its first re-ECN packet was not credit.
    fn is_stranger(&mut self, flow: u64, codepoint: Codepoint, now: Time) -> bool {
        if !self.params.together {
            return false;
        }
        self.accounts.forget(now);
        self.strangers.forget(now);
        // A flow may be known by its SYN alone, which need not be a packet of re-ECN.
        let begun = self.accounts.get(flow).is_some_and(|account| account.begun);
        if begun || self.strangers.get(flow).is_none() && codepoint == Codepoint::Credit {
            return false;
        }
        self.strangers.of(flow, now, || ());
        true
    }

    /// Tokens in a bucket at `now`.
    fn level(&self, account: &Account, now: Time) -> f64 {
        let passed = now.since(account.last).seconds();
        match self.params.rule {
            Rule::TcpRate { depth, .. } => (account.level + self.params.factor * passed).min(depth),
            Rule::RateBytes { .. } => account.level,
            Rule::Volume { rate, depth, .. } => (account.level + rate * passed).min(depth),
        }
    }
}

impl Account {
    /// The round-trip time may show.
    fn learn(&mut self, opens: bool, known: RoundTrip, now: Time, params: &Params) {
        let sound = |rtt: &Duration| *rtt > Duration::ZERO;
        match params.rtt_from {
            RttFrom::Given => {}
            RttFrom::Base => self.rtt = known.base.filter(sound),
            RttFrom::Srtt => self.rtt = known.smoothed.filter(sound).or(self.rtt),
            RttFrom::Report => self.rtt = known.reported.filter(sound).or(self.rtt),
            RttFrom::Handshake if opens => self.opened = Some(now),
            RttFrom::Handshake => {
                if let Some(opened) = self.opened.take() {
                    self.rtt = Some(now - opened).filter(sound).or(self.rtt);
                }
            }
        }
    }

    fn rtt(&self, params: &Params) -> f64 {
        self.rtt.unwrap_or(params.rtt).seconds()
    }

    /// Policer A (draft-briscoe-conex-re-ecn-motiv-03 appendix B.2): `b += r dt - sqrt(N) T / k` at each packet that costs.
    fn by_seconds(
        &mut self,
        costs: bool,
        counts: bool,
        depth: f64,
        merge: bool,
        now: Time,
        params: &Params,
    ) -> (Fate, f64) {
        self.n += f64::from(u8::from(counts));
        let level = (self.level + params.factor * now.since(self.last).seconds()).min(depth);
        let rtt = self.rtt(params);
        let merged = merge && self.charged.is_some_and(|last| now.since(last).seconds() < rtt);
        if !costs || merged {
            return (if level < 0.0 { Fate::Empty } else { Fate::Pass }, 0.0);
        }
        let cost = worth_of(self.n, rtt, params.k);
        // A dropped packet is charged too: debt, which ends where the bucket would.
        self.level = (level - cost).max(-depth);
        (self.last, self.n, self.charged) = (now, 0.0, Some(now));
        (if self.level < 0.0 { Fate::Broke } else { Fate::Pass }, cost)
    }

    /// Policer A': each packet costs its bytes; k s dt / (T sqrt(p)) come in between, by the mean spacing of reports. Credit, which comes at
    /// packets 1 and 3, says nothing of p, and before there is a report, or two round trips, nothing is policed.
    fn by_bytes(
        &mut self,
        size: u16,
        reports: bool,
        counts: bool,
        depth: f64,
        now: Time,
        params: &Params,
    ) -> (Fate, f64) {
        let size = f64::from(size);
        let rtt = self.rtt(params);
        let gap = now.since(self.last).seconds();
        self.last = now;
        if !counts {
            return (if self.level < 0.0 { Fate::Empty } else { Fate::Pass }, 0.0);
        }
        self.n += 1.0;
        self.packets += 1.0;
        self.bytes += size;
        self.since.0 += size;
        let mean = self.bytes / self.packets;
        let p = 1.0 / self.spacing.map_or(self.n, |spacing| spacing.max(self.n));
        let policed = self.spacing.is_some() || reports || now.since(self.born).seconds() >= 2.0 * rtt;
        if reports {
            let blend = |old: f64, new: f64, first: bool| if first { new } else { old + 0.25 * (new - old) };
            let first = self.spacing.is_none();
            self.spacing = Some(blend(self.spacing.unwrap_or(0.0), self.n, first));
            let passed = now.since(self.since.1).seconds();
            if passed > 0.0 {
                self.rate = blend(self.rate, self.since.0 / passed, self.rate == 0.0);
            }
            self.since = (0.0, now);
            self.n = 0.0;
        }
        let level = (self.level + params.factor * tcp_rate(params.k, mean, rtt, p) * gap).min(depth);
        self.level = level;
        if !policed {
            return (Fate::Pass, 0.0);
        }
        // Dropped packets cost nothing: the passed packets match TCP's rate.
        if level < 0.0 {
            return (Fate::Empty, 0.0);
        }
        if level < size && params.sanction == Sanction::DropOne {
            return (Fate::Broke, 0.0);
        }
        self.level = level - size;
        (if self.level < 0.0 { Fate::Broke } else { Fate::Pass }, size)
    }

    /// Policer B (appendix B.1): reports and credit cost their bytes, for all flows of the owner. With `drop-one` what is dropped costs
    /// nothing; else the packet that takes the level below zero goes on and is charged.
    fn by_volume(
        &mut self,
        size: u16,
        codepoint: Codepoint,
        costs: bool,
        now: Time,
        params: &Params,
    ) -> (Fate, f64) {
        let Rule::Volume { unit, rate, depth, credit, .. } = params.rule else { return (Fate::Pass, 0.0) };
        let passed = now.since(self.last).seconds();
        self.level = (self.level + rate * passed).min(depth);
        self.last = now;
        if let Some((rate, depth)) = credit {
            self.credit = (self.credit + rate * passed).min(depth);
        }
        if self.level < 0.0 {
            return (Fate::Empty, 0.0);
        }
        if !costs {
            return (Fate::Pass, 0.0);
        }
        let cost = unit.of(size);
        if credit.is_some() && codepoint == Codepoint::Credit {
            if self.credit < cost {
                return (Fate::NoCredit, 0.0);
            }
            self.credit -= cost;
        }
        if self.level < cost && params.sanction == Sanction::DropOne {
            return (Fate::Broke, 0.0);
        }
        self.level -= cost;
        (if self.level < 0.0 { Fate::Broke } else { Fate::Pass }, cost)
    }

    /// The share of its packets that goes beyond TCP's rate.
    fn excess(&self, params: &Params) -> f64 {
        let Some(spacing) = self.spacing.filter(|_| self.rate > 0.0) else {
            // For `tcp-rate`: N packets since the last charge and no mean yet; all packets in debt are
            // dropped.
            return 1.0;
        };
        let p = 1.0 / spacing.max(self.n).max(1.0);
        excess(self.rate, params.factor * tcp_rate(params.k, self.bytes / self.packets, self.rtt(params), p))
    }
}

impl ReEcnPolicer {
    fn heap_bytes(&self) -> u64 {
        self.accounts.heap_bytes() + self.strangers.heap_bytes()
    }

    fn observe(&self, name: &str, now: Time) -> Option<f64> {
        let accounts = || self.accounts.iter().map(|(_, account)| account);
        let tokens = mean(accounts().map(|account| self.level(account, now)));
        let rtt = mean(accounts().map(|account| account.rtt(&self.params)));
        View { tokens, rtt, counts: &self.counts }.observe(name)
    }
}

/// Observables of these rules alone.
pub const OBSERVABLES: [&str; 4] = ["negative", "buckets", "policed_buckets", "rtt"];

/// A congestion policer of any rule.
#[derive(Clone, Debug)]
pub enum Policing {
    /// The bucket of ConEx.
    Bucket(CongestionPolicer),
    /// A rule of re-ECN.
    ReEcn(Box<ReEcnPolicer>),
}

impl Station for Policing {
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        match self {
            Policing::Bucket(policer) => policer.forward(packet, cx),
            Policing::ReEcn(policer) => {
                let mut known = cx.round_trip;
                if policer.params.rtt_from == RttFrom::Report {
                    known.reported = cx.options.of(packet).outermost().map(|header| header.round_trip);
                }
                policer.meet(packet, (cx.whose.user, cx.whose.flow), known, cx.now, cx.stream)
            }
        }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Policing::Bucket(_) => 0,
            Policing::ReEcn(policer) => size_of::<ReEcnPolicer>() as u64 + policer.heap_bytes(),
        }
    }

    fn observe(&self, name: &str, now: Time) -> Option<f64> {
        match self {
            Policing::Bucket(policer) => policer.observe(name, now),
            Policing::ReEcn(policer) => policer.observe(name, now),
        }
    }
}

impl Kind for Policing {
    fn build(values: &Values, owner: Owner) -> Result<Policing, Vec<Problem>> {
        let missing = missing(values);
        if !missing.is_empty() {
            return Err([missing, Policing::problems(values)].concat());
        }
        sound(Policing::problems(values))?;
        if is_named(values) {
            let params = Params::new(values, owner.classes)?;
            return Ok(Policing::ReEcn(Box::new(ReEcnPolicer::new(params))));
        }
        let params = congestion_policer::Params::new(values, owner.classes)?;
        Ok(Policing::Bucket(CongestionPolicer::new(params)))
    }

    fn classes_after(values: &Values, class: &str) -> Vec<String> {
        class_after(values, classifies(values), class)
    }

    fn classes_given(values: &Values) -> Vec<(&'static str, String)> {
        class_given(values, classifies(values))
    }

    fn reads(values: &Values) -> Option<Reads> {
        congestion_policer::reads(values, is_named(values))
    }

    fn needs_round_trips(values: &Values) -> bool {
        is_named(values) && matches!(values.at(Given::rtt_from), Some(RttFrom::Base | RttFrom::Srtt))
    }

    fn shows(values: &Values, name: &str) -> bool {
        is_named(values) || !OBSERVABLES.contains(&name)
    }

    fn problems(values: &Values) -> Vec<Problem> {
        if is_named(values) {
            let class = class_problem(values, classifies(values));
            problems(values).into_iter().chain(class).collect()
        } else {
            [congestion_policer::problems(values), problems(values)].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use evenflow_base::packet::ip;
    use proptest::prelude::*;

    use super::*;
    use crate::Stepper;

    const T: Duration = Duration(600_000_000);

    fn a(start: f64, depth: f64) -> Params {
        Params {
            rule: Rule::TcpRate { start, depth, merge: true },
            scope: Scope::Flow,
            sanction: Sanction::DropOne,
            factor: 1.0,
            k: K,
            rtt_from: RttFrom::Given,
            rtt: T,
            together: true,
            legacy: false,
            idle: Duration(60_000_000_000),
        }
    }

    fn b(sanction: Sanction) -> Params {
        let rule =
            Rule::Volume { unit: Unit::Bytes, rate: 100.0, depth: 2000.0, level: 2000.0, credit: None };
        Params { rule, scope: Scope::User, sanction, ..a(0.0, 0.0) }
    }

    fn packet(codepoint: Codepoint) -> Packet {
        let mut packet = Packet { ip: ip::DATAGRAM, ..Packet::new(0, 1000, 960) }.with_ecn(codepoint.ecn());
        packet.set_re(codepoint.re());
        packet
    }

    fn meet(policer: &mut ReEcnPolicer, flow: u64, codepoint: Codepoint, seconds: f64) -> Pass {
        let now = Time::from_seconds(seconds);
        let mut by_hand = Stepper::new(1);
        policer.meet(&mut packet(codepoint), (0, flow), RoundTrip::default(), now, &mut by_hand.stream)
    }

    fn tokens(policer: &ReEcnPolicer, seconds: f64) -> f64 {
        policer.observe("tokens", Time::from_seconds(seconds)).expect("there is a bucket")
    }

    const DROP: Pass = Pass::Drop(Reason::CongestionPoliced);
    use Codepoint::{Cancelled, Credit, Negative, NotCapable, NotMarked, ReEcho};

    /// Dossier 2.18: 20 412 B/s, and 4.899 s for 100 packets.
    #[test]
    fn tcps_rate() {
        let rate = tcp_rate(1.224745, 1000.0, 0.6, 0.01);
        assert!((rate - 20_412.0).abs() < 0.5, "{rate}");
        assert!((worth_of(100.0, 0.6, 1.224745) - 4.899).abs() < 5e-4);
        assert!((100.0 * 1000.0 / rate - 4.899).abs() < 5e-4);
    }

    /// Dossier 2.18, policer A.
    #[test]
    fn golden_numbers_of_policer_a() {
        let close = |policer: &ReEcnPolicer, at: f64, expected: f64| {
            let is = tokens(policer, at);
            assert!((is - expected).abs() < 6e-5, "{is} and not {expected}");
        };
        let start = || {
            let mut policer = ReEcnPolicer::new(a(5.0, 40.0));
            meet(&mut policer, 1, Credit, 0.0);
            close(&policer, 0.0, 4.5101);
            meet(&mut policer, 1, NotMarked, 0.3);
            meet(&mut policer, 1, Credit, 0.6);
            close(&policer, 0.6, 4.4173);
            policer
        };
        let hundred = |policer: &mut ReEcnPolicer, from: f64, to: f64| {
            for n in 0..99 {
                assert_eq!(meet(policer, 1, NotMarked, from + (to - from) * f64::from(n) / 100.0), Pass::On);
            }
            meet(policer, 1, ReEcho, to)
        };
        let mut slow = start();
        assert_eq!(hundred(&mut slow, 0.6, 10.6), Pass::On);
        close(&slow, 10.6, 9.5183);
        let mut fast = start();
        assert_eq!(hundred(&mut fast, 0.6, 1.6), Pass::On);
        close(&fast, 1.6, 0.5183);
        assert_eq!(hundred(&mut fast, 1.6, 2.6), DROP, "charged, and dropped");
        close(&fast, 2.6, -3.3807);
        assert!(tokens(&fast, 5.9805) < 0.0 && tokens(&fast, 5.9810) > 0.0);
        assert_eq!(meet(&mut fast, 1, NotMarked, 3.0), Pass::On, "drop-one drops no other");
    }

    /// One charge a round trip: N keeps counting, and the next charge is for all.
    #[test]
    fn reports_of_one_round_trip_are_one_charge() {
        let charged = |merge: bool| {
            let rule = Rule::TcpRate { start: 20.0, depth: 40.0, merge };
            let mut policer = ReEcnPolicer::new(Params { rule, ..a(0.0, 0.0) });
            for at in [0.0, 0.1, 0.59, 0.6] {
                meet(&mut policer, 1, if at == 0.0 { Credit } else { ReEcho }, at);
            }
            policer.counts.charged / worth_of(1.0, 0.6, K)
        };
        assert!((charged(true) - (1.0 + 3f64.sqrt())).abs() < 1e-9);
        assert!((charged(false) - 4.0).abs() < 1e-9);
    }

    /// The sanctions of policer A beside each other, on a bucket in debt.
    #[test]
    fn sanctions() {
        let broke = |sanction: Sanction| {
            let mut policer = ReEcnPolicer::new(Params { sanction, ..a(0.2, 40.0) });
            let first = meet(&mut policer, 1, Credit, 0.0);
            let of = [(NotMarked, 0.1), (NotMarked, 0.28), (NotMarked, 0.3), (NotMarked, 50.0)];
            (first, of.map(|(code, at)| meet(&mut policer, 1, code, at)))
        };
        // 0.2 - 0.4899 = -0.2899: in debt until 0.29 s.
        let (on, blocked) = (Pass::On, Pass::Drop(Reason::Blocked));
        assert_eq!(broke(Sanction::DropOne), (DROP, [on; 4]));
        assert_eq!(broke(Sanction::DropWhileEmpty), (DROP, [DROP, DROP, on, on]));
        assert_eq!(broke(Sanction::Block(FOREVER)), (on, [blocked; 4]));
        assert_eq!(broke(Sanction::Block(Duration(290_000_000))), (on, [blocked, blocked, on, on]));
        assert_eq!(broke(Sanction::Class(3)), (on, [on; 4]));
        assert_eq!(
            broke(Sanction::Mark).1,
            [Pass::Mark(Reason::CongestionPoliced), Pass::Mark(Reason::CongestionPoliced), on, on]
        );
    }

    /// Dossier 2.18, policer B: 100 B/s, 2000 B; positives of 1000 B at 0, 0 and 5 s.
    #[test]
    fn golden_numbers_of_policer_b() {
        let three = |sanction: Sanction| {
            let mut policer = ReEcnPolicer::new(b(sanction));
            let of = [0.0, 0.0, 5.0].map(|at| {
                let pass = meet(&mut policer, 1, ReEcho, at);
                (pass, tokens(&policer, at))
            });
            (of, policer)
        };
        let (found, mut one) = three(Sanction::DropOne);
        assert_eq!(found, [(Pass::On, 1000.0), (Pass::On, 0.0), (DROP, 500.0)]);
        assert_eq!(meet(&mut one, 1, NotMarked, 5.0), Pass::On);
        let (found, mut all) = three(Sanction::DropWhileEmpty);
        assert_eq!(found, [(Pass::On, 1000.0), (Pass::On, 0.0), (Pass::On, -500.0)]);
        assert_eq!(meet(&mut all, 2, NotMarked, 9.9), DROP, "whatever the flow");
        assert_eq!(meet(&mut all, 1, NotMarked, 10.0), Pass::On);
    }

    /// What costs and what does not; a second bucket for credit; two users.
    #[test]
    fn what_policer_b_charges() {
        let cost = |code| {
            let mut policer = ReEcnPolicer::new(b(Sanction::DropOne));
            meet(&mut policer, 1, code, 0.0);
            policer.counts.charged
        };
        let all = evenflow_base::codepoint::CODEPOINTS.map(cost);
        assert_eq!(all, [0.0, 1000.0, 1000.0, 0.0, 0.0, 0.0, 1000.0, 0.0]);
        let Rule::Volume { unit, rate, depth, level, .. } = b(Sanction::DropOne).rule else { panic!() };
        let rule = Rule::Volume { unit, rate, depth, level, credit: Some((10.0, 1000.0)) };
        let mut two = ReEcnPolicer::new(Params { rule, ..b(Sanction::DropOne) });
        assert_eq!(meet(&mut two, 1, Credit, 0.0), Pass::On);
        assert_eq!(meet(&mut two, 2, Credit, 99.9), Pass::Drop(Reason::CreditPoliced));
        assert_eq!(meet(&mut two, 2, Credit, 100.0), Pass::On);
        let mut by_hand = Stepper::new(1);
        let mut of = |user| {
            two.meet(
                &mut packet(Credit),
                (user, 9),
                RoundTrip::default(),
                Time::from_seconds(100.0),
                &mut by_hand.stream,
            )
        };
        assert_eq!((of(0), of(1)), (Pass::Drop(Reason::CreditPoliced), Pass::On), "another user's bucket");
    }

    /// CE(-1) before the policer is counted; what is not re-ECN goes by; a flow without credit is among strangers.
    #[test]
    fn strangers_share_a_bucket() {
        let mut policer = ReEcnPolicer::new(a(5.0, 40.0));
        assert_eq!(meet(&mut policer, 1, Negative, 0.0), Pass::On);
        assert_eq!(meet(&mut policer, 2, ReEcho, 0.0), Pass::On);
        assert_eq!(meet(&mut policer, 3, NotCapable, 0.0), Pass::On);
        assert_eq!(meet(&mut policer, 2, Credit, 0.1), Pass::On);
        assert_eq!((policer.accounts.len(), policer.counts.negative, policer.counts.arrived), (1, 1, 3));
        meet(&mut policer, 4, Credit, 0.1);
        assert_eq!(policer.accounts.len(), 2);
        let mut own = ReEcnPolicer::new(Params { together: false, ..a(5.0, 40.0) });
        for flow in 1..4 {
            meet(&mut own, flow, Cancelled, 0.0);
        }
        assert_eq!(own.accounts.len(), 3);
    }

    /// From the SYN to the next packet that way: 300 ms, not the second that holds before.
    #[test]
    fn the_round_trip_of_a_handshake() {
        let params = Params { rtt_from: RttFrom::Handshake, rtt: Duration(1_000_000_000), ..a(5.0, 40.0) };
        let mut policer = ReEcnPolicer::new(params);
        let mut by_hand = Stepper::new(1);
        let mut meet = |p: &mut Packet, at: f64| {
            policer.meet(p, (0, 1), RoundTrip::default(), Time::from_seconds(at), &mut by_hand.stream)
        };
        let mut syn = Packet { flags: evenflow_base::flags::SYN, payload: 0, ..packet(Credit) };
        syn.ip &= !ip::DATAGRAM;
        meet(&mut syn, 1.0);
        meet(&mut packet(NotCapable), 1.3);
        assert_eq!(policer.observe("rtt", Time::ZERO), Some(0.3));
        let mut syn_ack = Packet { flags: evenflow_base::flags::SYN | evenflow_base::flags::ACK, ..syn };
        syn_ack.seq = 0;
        let mut opened = ReEcnPolicer::new(params);
        for (p, at) in [(syn_ack, 2.0), (packet(Credit), 2.25)] {
            let now = Time::from_seconds(at);
            let _ =
                opened.meet(&mut p.clone(), (0, 1), RoundTrip::default(), now, &mut Stepper::new(1).stream);
        }
        assert_eq!(opened.observe("rtt", Time::ZERO), Some(0.25), "a flow that its receiver opens");
        let told = |(base, smoothed, reported), from| {
            let known = RoundTrip { base, smoothed, reported };
            let mut policer = ReEcnPolicer::new(Params { rtt_from: from, ..params });
            let _ = policer.meet(&mut packet(Credit), (0, 1), known, Time::ZERO, &mut Stepper::new(1).stream);
            policer.observe("rtt", Time::ZERO).expect("one")
        };
        let (base, srtt) = (Some(Duration(100_000_000)), Some(Duration(140_000_000)));
        let report = Some(Duration(60_000_000));
        assert_eq!(told((base, srtt, report), RttFrom::Base), 0.1);
        assert_eq!(told((base, srtt, report), RttFrom::Srtt), 0.14);
        assert_eq!(told((base, srtt, report), RttFrom::Report), 0.06);
        assert_eq!(told((base, None, None), RttFrom::Srtt), 1.0);
        assert_eq!(told((base, srtt, Some(Duration::ZERO)), RttFrom::Report), 1.0, "no report has come");
        assert_eq!(told((Some(Duration::ZERO), None, None), RttFrom::Base), 1.0, "never zero");
    }

    /// A': an unresponsive flow of twice TCP's rate gets TCP's rate through, by either sanction, within 3 %; one at TCP's rate passes.
    #[test]
    fn policer_a_prime_passes_tcps_rate() {
        for sanction in [Sanction::DropOne, Sanction::DropWhileEmpty, Sanction::Probability] {
            for times in [0.9, 2.0, 5.0] {
                let rule = Rule::RateBytes { depth: 50_000.0 };
                let mut policer =
                    ReEcnPolicer::new(Params { rule, sanction, together: false, ..a(0.0, 0.0) });
                let tcp = tcp_rate(K, 1000.0, 0.6, 0.01);
                let gap = 1000.0 / (times * tcp);
                let mut by_hand = Stepper::new(3);
                let mut passed = 0u32;
                const PACKETS: u32 = 40_000;
                for n in 0..PACKETS {
                    let code = if n % 100 == 99 { ReEcho } else { NotMarked };
                    let now = Time::from_seconds(f64::from(n) * gap);
                    let pass = policer.meet(
                        &mut packet(code),
                        (0, 1),
                        RoundTrip::default(),
                        now,
                        &mut by_hand.stream,
                    );
                    passed += u32::from(pass == Pass::On);
                }
                let share = f64::from(passed) / f64::from(PACKETS);
                let expected = (1.0 - excess(times * tcp, tcp)).min(1.0);
                assert!((share - expected).abs() < 0.03, "{sanction:?} {times}: {share} and not {expected}");
            }
        }
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let values = |list: &[(&'static str, Value)]| Values(list.iter().cloned().collect());
        let word = |name: &'static str, word: &str| (name, Value::Word(word.into()));
        let names = |problems: Vec<Problem>| problems.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let bucket = values(&[
            word("rule", "bucket"),
            word("action", "block"),
            ("factor", Value::Number(2.0)),
            word("scope", "flow"),
            ("start", Value::Seconds(1.0)),
        ]);
        assert_eq!(names(problems(&bucket)), ["start", "factor", "scope", "action"]);
        let a = values(&[
            word("rule", "tcp-rate"),
            word("action", "drop"),
            ("rate", Value::Rate(8e3)),
            ("depth", Value::Bytes(1e3)),
            ("start", Value::Seconds(500.0)),
            ("credit_rate", Value::Rate(1e3)),
            ("block_for", Value::Seconds(1.0)),
        ]);
        assert_eq!(
            names(problems(&a)),
            ["credit_rate", "block_for", "rate", "depth", "credit_depth", "start"]
        );
        let b = values(&[word("rule", "volume"), word("action", "probability"), ("k", Value::Number(1.0))]);
        assert_eq!(names(problems(&b)), ["k", "action"]);
        assert_eq!(names(missing(&b)), ["depth", "rate"]);
    }

    #[test]
    fn an_action_without_its_class_is_an_error() {
        let word = |name: &'static str, word: &str| (name, Value::Word(word.into()));
        let given = [word("rule", "tcp-rate"), word("action", "class"), ("depth", Value::Bytes(1e3))];
        let owner = Owner { classes: &[], weight: 1.0, stage: 0, peer: None, copy: 0, index: 0 };
        let wrong = Policing::build(&Values(given.into_iter().collect()), owner).expect_err("no class");
        assert_eq!(wrong.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["depth", "class"]);
    }

    proptest! {
        /// Policer B admits no more than was in the bucket at first, what came since, and a packet (dossier 2.5).
        #[test]
        fn policer_b_admits_what_its_tokens_pay_for(steps in prop::collection::vec((0u64..2_000, 40u16..1500, 0u8..8), 1..300), all: bool) {
            let sanction = if all { Sanction::DropWhileEmpty } else { Sanction::DropOne };
            let mut policer = ReEcnPolicer::new(b(sanction));
            let (mut now, mut admitted) = (Time::ZERO, 0.0);
            let mut by_hand = Stepper::new(1);
            for (gap, size, code) in steps {
                now += Duration(gap * 1_000_000);
                let code = evenflow_base::codepoint::CODEPOINTS[usize::from(code)];
                let mut p = Packet { size, ..packet(code) };
                if policer.meet(&mut p, (0, 1), RoundTrip::default(), now, &mut by_hand.stream) == Pass::On
                    && matches!(code, Credit | ReEcho | Cancelled)
                {
                    admitted += f64::from(size);
                }
                let most = 2000.0 + 100.0 * now.seconds() + if all { 1500.0 } else { 0.0 };
                prop_assert!(admitted <= most + 1e-6, "{} > {}", admitted, most);
            }
        }

        /// A flow at TCP's rate comes out even at r = 1, whatever its spacing: the level is where it began (dossier 2.4).
        #[test]
        fn a_compliant_flow_pays_what_it_is_paid(n in 2u32..300, rounds in 2u32..20, start in 10.0f64..100.0) {
            let rule = Rule::TcpRate { start, depth: 1e9, merge: false };
            let mut policer = ReEcnPolicer::new(Params { rule, together: false, ..a(0.0, 0.0) });
            let period = worth_of(f64::from(n), 0.6, K);
            let mut by_hand = Stepper::new(1);
            let mut last = 0.0;
            for round in 0..rounds {
                for k in 1..=n {
                    last = f64::from(round) * period + period * f64::from(k) / f64::from(n);
                    let code = if k == n { ReEcho } else { NotMarked };
                    let _ = policer.meet(&mut packet(code), (0, 1), RoundTrip::default(), Time::from_seconds(last), &mut by_hand.stream);
                }
            }
            // The bucket is opened by the first packet, a gap after zero.
            let level = tokens(&policer, last);
            let missed = period / f64::from(n);
            prop_assert!((level + missed - start).abs() < 1e-5, "{} {}", level, start);
        }
    }
}
