//! Auditor at the egress of a network: compares the congestion that each flow met with its declarations (RFC
//! 7713 section 5.5). It acts on flows that declare too little.
//!
//! Rule `balance`: reports and credits minus marks and losses (Sanhaji et al. 2015). Rule `ratio`: the tests
//! and the drop probability of draft-wagner-conex-audit-02. [`crate::dropper`] has the rules of re-ECN.
//!
//! The auditor sees marks on packets and infers losses from sequence numbers, which is never exact (RFC 7713
//! section 5.5).

use std::collections::{BTreeMap, VecDeque};

use evenflow_base::schema::{
    Counter, Deviation, Mechanism, Place, Problem, Room, Traits, Value, Values, sound,
};
use evenflow_base::{Codepoint, Duration, Ecn, Heap, Packet, Reason, Stream, Time};

use crate::Kept;
use crate::congestion_policer::{CLASS, ENCODING, Encoding, class_problem, numbered, unit};
use crate::station::{Cx, HeldPacket, Pass, Station};
use crate::three_colour::Unit;

/// How a flow is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// By what it has declared less what it has met; in debt by `limit` it is dropped altogether.
    Balance {
        /// Packets or bytes.
        limit: f64,
    },
    /// By the tests of draft-wagner-conex-audit-02; averages have this weight a packet.
    Ratio {
        /// Of the newest packet.
        weight: f64,
        /// A report that met congestion counts as neither: reports are those that were not marked, congestion what was not cancelled.
        left_out: bool,
    },
}

/// Events that count as congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Congestion marks.
    pub ecn: bool,
    /// Losses that sequence numbers show.
    pub loss: bool,
}

words! {
    /// From what losses are inferred.
    pub enum Losses {
        /// From numbers that are missing.
        Gaps = "gaps",
        /// From numbers that come again.
        Retransmissions = "retransmissions",
    }
}

/// Criterion that distinguishes a late segment from a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By its timestamp, which is later than that of what overtook the original.
    Timestamps {
        /// For so long what is missing may come late.
        late: Duration,
        /// And for so long its sender may take to send it again.
        repair: Duration,
    },
    /// By nothing: packets that overtake it are counted.
    Count,
}

/// Action on packets of a flow that declares too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are dropped.
    Drop,
    /// They wait so long, and those behind them with them.
    Delay(Duration),
    /// They go on in this class.
    Class(u8),
}

/// Its configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How a flow is judged.
    pub rule: Rule,
    /// Events that count as congestion.
    pub audit: Audit,
    /// Unit of all accounts.
    pub unit: Unit,
    /// Debt that is overlooked, packets or bytes.
    pub allowance: f64,
    /// How late a report may be.
    pub delay: Duration,
    /// How losses are seen.
    pub losses: Losses,
    /// Packets beyond a gap after which what is missing is lost.
    pub reordering: u32,
    /// Criterion for late segments.
    pub order: Order,
    /// Action on picked packets.
    pub action: Action,
    /// The auditor's own drops count as congestion of the flow.
    pub own_drops: bool,
    /// Flows that have declared nothing have one account together.
    pub together: bool,
    /// Reports of losses, of marks and credits are three bits, not the codes of IPv4.
    pub apart: bool,
    /// When a silent flow is forgotten.
    pub idle: Duration,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values, classes: &[String]) -> Result<Params, Vec<Problem>> {
        sound(problems(values))?;
        let given = Given::read(values);
        let unit = unit(&given.allowance).unwrap_or(Unit::Packets);
        Ok(Params {
            rule: match given.rule {
                RuleWord::Ratio => Rule::Ratio {
                    weight: given.weight,
                    left_out: given.cancelled != Some(Cancelled::Counted),
                },
                _ => {
                    let limit = given.limit.as_ref().and_then(Value::number);
                    Rule::Balance { limit: limit.unwrap_or(LIMIT[unit as usize]) }
                }
            },
            audit: Audit { ecn: given.audit != AuditWord::Loss, loss: given.audit != AuditWord::Ecn },
            unit,
            allowance: given.allowance.number().unwrap_or(0.0),
            delay: Duration::from_seconds(given.delay.unwrap_or(0.0)),
            losses: given.losses,
            reordering: given.reordering,
            order: match given.order {
                OrderWord::Count => Order::Count,
                OrderWord::Timestamps => Order::Timestamps {
                    late: Duration::from_seconds(given.reordering_window.unwrap_or(WINDOW)),
                    repair: Duration::from_seconds(given.repair.unwrap_or(REPAIR)),
                },
            },
            action: match given.action {
                ActionWord::Class => Action::Class(numbered(given.class.as_deref(), classes)),
                ActionWord::Delay => Action::Delay(Duration::from_seconds(given.hold.unwrap_or(HOLD))),
                ActionWord::Drop => Action::Drop,
            },
            own_drops: given.own_drops == OwnDrops::Counted && given.losses == Losses::Gaps,
            together: given.strangers == Strangers::Together,
            apart: given.encoding == Encoding::Ipv6,
            idle: given.idle,
        })
    }
}

/// `limit` where none is given, bytes and packets.
const LIMIT: [f64; 2] = [15_000.0, 10.0];
/// `hold` where none is given, seconds.
const HOLD: f64 = 0.1;
/// `reordering_window` where none is given, seconds.
const WINDOW: f64 = 0.1;
/// `repair` where none is given, seconds.
const REPAIR: f64 = 3.0;

/// Whether picked packets get another class.
pub(crate) fn classifies(values: &Values) -> bool {
    values.is(Given::action, ActionWord::Class)
}

/// Errors in the combination of parameters; some may be missing.
pub(crate) fn problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    if let (Some(own), Some(other)) =
        (values.raw(Given::allowance).and_then(unit), values.raw(Given::limit).and_then(unit))
        && own != other
    {
        let (own, other) = (own.name(), other.name());
        problems.push((
            Given::limit.name,
            format!("counts {other}, but allowance counts {own}; use one unit for both"),
        ));
    }
    if values.is(Given::rule, RuleWord::Ratio) {
        if values.has(Given::limit) {
            problems.push((
                Given::limit.name,
                "has no effect with rule = \"ratio\", which drops by the missing share".into(),
            ));
        }
        if !values.has(Given::delay) {
            let why = "is required with rule = \"ratio\": at least twice the longest round trip, for example \
                       \"600 ms\"";
            problems.push((Given::delay.name, why.into()));
        }
    }
    let counted = values.is(Given::order, OrderWord::Count);
    let times =
        [Given::reordering_window, Given::repair].into_iter().filter(|key| counted && values.has(*key));
    for name in times.map(|key| key.name) {
        problems.push((name, "has no effect with order = \"count\"".into()));
    }
    if values.is(Given::own_drops, OwnDrops::Counted) && values.is(Given::losses, Losses::Retransmissions) {
        let why = "\"counted\" has no effect with losses = \"retransmissions\", which counts drops when they \
                   are retransmitted";
        problems.push((Given::own_drops.name, why.into()));
    }
    if values.is(Given::own_drops, OwnDrops::Counted)
        && values.has(Given::action)
        && !values.is(Given::action, ActionWord::Drop)
    {
        problems.push((Given::own_drops.name, "\"counted\" has no effect without action = \"drop\"".into()));
    }
    if values.is(Given::audit, AuditWord::Ecn) && values.is(Given::losses, Losses::Retransmissions) {
        problems.push((
            Given::losses.name,
            "\"retransmissions\" has no effect with audit = \"ecn\", which counts no losses".into(),
        ));
    }
    if values.has(Given::hold) && !values.is(Given::action, ActionWord::Delay) {
        problems.push((Given::hold.name, "has no effect without action = \"delay\"".into()));
    }
    problems.extend(class_problem(values, classifies(values)));
    problems
}

/// Declarations and marks of a packet, in the auditor's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Re-Echo-Loss; an encoding without separate bits has all reports in `ecn`.
    pub(crate) loss: f64,
    /// Re-Echo-ECN.
    pub(crate) ecn: f64,
    pub(crate) credit: f64,
    /// It is marked.
    mark: f64,
}

/// State of numbers below the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// They have not come.
    Missing,
    /// They came before anything else, or not at all.
    Unseen,
    /// Retransmitted and counted with this amount at this time; the original may still arrive.
    SentAgain(Time, f64),
}

/// A gap in the numbers.
#[derive(Clone, Copy, Debug)]
struct Gap {
    from: u64,
    to: u64,
    known: Known,
    /// When the first packet from beyond it came.
    opened: Time,
    /// Timestamp of that packet.
    stamp: u32,
    /// Packets that have come from beyond it.
    passed: u32,
}

/// The sequence numbers of a flow.
#[derive(Clone, Debug, Default)]
struct Numbers {
    /// The end of what has come; `None`: nothing.
    next: Option<u64>,
    /// Young ones.
    gaps: Vec<Gap>,
    /// The largest payload.
    mss: u64,
}

/// A segment that arrives.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    seq: u64,
    end: u64,
    stamp: u32,
    at: Time,
    /// In the auditor's unit.
    amount: f64,
}

/// Findings about a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shown {
    /// Bytes that have been missing for too long.
    missing: u64,
    /// It fills a gap and is a retransmission.
    repairs: bool,
    /// It was here before, for all one knows.
    again: bool,
    /// It was late, and counted as lost at this time: so much.
    late: Option<(Time, f64)>,
}

impl Numbers {
    fn arrive(&mut self, segment: Arriving, reordering: u32, order: Order) -> Shown {
        let Arriving { seq, end, stamp, at, .. } = segment;
        self.mss = self.mss.max(end - seq);
        let mut shown = Shown::default();
        let next = match self.next {
            Some(next) => next,
            None if order == Order::Count => seq,
            None => {
                let unseen = Gap { from: 0, to: seq, known: Known::Unseen, opened: at, stamp, passed: 0 };
                self.gaps.extend((seq > 0).then_some(unseen));
                seq
            }
        };
        if seq > next {
            self.gaps.push(Gap { from: next, to: seq, known: Known::Missing, opened: at, stamp, passed: 0 });
        } else if seq < next {
            shown = self.fill(segment, order);
            shown.again &= end <= next;
        }
        self.next = Some(next.max(end));
        if self.gaps.is_empty() {
            return shown;
        }
        self.gaps.retain_mut(|gap| {
            gap.passed += u32::from(seq >= gap.to);
            let missing = gap.known == Known::Missing;
            let long = match order {
                Order::Count => true,
                Order::Timestamps { repair, .. } if missing => at.since(gap.opened) >= repair,
                Order::Timestamps { late, .. } => at.since(gap.opened) >= late,
            };
            let old = long && (gap.passed >= reordering || !missing);
            shown.missing += if old && missing { gap.to - gap.from } else { 0 };
            !old
        });
        shown
    }

    /// Removes a segment from the gaps. A retransmission has a later timestamp than the packet that overtook
    /// its original (RFC 8985 section 6.2). A segment after the reordering window counts as a retransmission;
    /// otherwise old timestamps would hide every loss.
    fn fill(&mut self, segment: Arriving, order: Order) -> Shown {
        let Arriving { seq, end, stamp, at, amount } = segment;
        let (mut shown, mut original) = (Shown::default(), false);
        let (mut rest, mut lost): (Option<Gap>, Option<Gap>) = (None, None);
        self.gaps.retain_mut(|gap| {
            if seq >= gap.to || end <= gap.from {
                return true;
            }
            let later = match order {
                Order::Count => false,
                Order::Timestamps { late, .. } => {
                    (stamp.wrapping_sub(gap.stamp) as i32) > 0 || at.since(gap.opened) > late
                }
            };
            if let Known::SentAgain(when, counted) = gap.known {
                let back = !later && seq <= gap.from && gap.to <= end;
                if back {
                    (shown.late, original) = (Some((when, counted)), true);
                }
                return !back;
            }
            original |= !later;
            if later {
                // A segment that repairs several gaps keeps its count.
                let (from, to) = (seq.max(gap.from), end.min(gap.to));
                let piece = Gap { from, to, known: Known::SentAgain(at, amount), ..*gap };
                lost = (!shown.repairs).then_some(piece);
                shown.repairs = true;
            }
            match (seq > gap.from, end < gap.to) {
                (true, true) => {
                    rest = Some(Gap { from: end, ..*gap });
                    gap.to = seq;
                }
                (true, false) => gap.to = seq,
                (false, true) => gap.from = end,
                (false, false) => return false,
            }
            true
        });
        self.gaps.extend(rest.into_iter().chain(lost));
        shown.again = shown.repairs || !original;
        shown
    }
}

/// Congestion that a flow has met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Met {
    pub(crate) loss: f64,
    pub(crate) mark: f64,
}

/// A flow's account.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Declared so far.
    declared: Seen,
    /// Congestion whose reports are due.
    due: Met,
    /// Later congestion.
    late: VecDeque<(Time, Met)>,
    /// Credit of the draft: what no report has used up.
    unused: f64,
    /// Averages of congestion and reports a packet.
    p: f64,
    x: f64,
    numbers: Numbers,
    /// It was sanctioned once.
    sanctioned: bool,
    /// When the last of its packets that wait may go.
    until: Time,
}

/// The tests of draft-wagner-conex-audit-02 section 2.3 that a flow has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Failed {
    credit: bool,
    loss: bool,
    ecn: bool,
}

impl Account {
    /// A packet shows `met` and says `said`; reports of that are due in `delay`.
    fn add(&mut self, said: Seen, met: Met, now: Time, delay: Duration) {
        while let Some(&(since, met)) = self.late.front()
            && now.since(since) >= delay
        {
            self.due.loss += met.loss;
            self.due.mark += met.mark;
            self.late.pop_front();
        }
        if met != Met::default() {
            if delay == Duration::ZERO {
                self.due.loss += met.loss;
                self.due.mark += met.mark;
            } else {
                self.late.push_back((now, met));
            }
        }
        self.declared.loss += said.loss;
        self.declared.ecn += said.ecn;
        self.declared.credit += said.credit;
        self.unused = (self.unused + said.credit - said.loss - said.ecn).max(0.0);
    }

    /// So much of what was counted as lost `at` some time was only late.
    fn take_back(&mut self, at: Time, amount: f64) {
        let from = self.late.partition_point(|(since, _)| *since < at);
        match self.late.get_mut(from) {
            Some((since, met)) if *since == at => met.loss -= amount,
            _ => self.due.loss -= amount,
        }
    }

    /// Declarations minus due congestion. Where losses and marks have separate reports, each pays for its own
    /// kind. Credit pays for both.
    fn balance(&self, apart: bool) -> f64 {
        let (loss, mark) = (self.due.loss - self.declared.loss, self.due.mark - self.declared.ecn);
        let owed = if apart { loss.max(0.0) + mark.max(0.0) } else { loss + mark };
        self.declared.credit - owed
    }

    /// The tests that it fails.
    fn failed(&self, params: &Params) -> Failed {
        let more = |met: f64, declared: f64| met > declared + params.allowance;
        let (loss, ecn) = if params.apart {
            (more(self.due.loss, self.declared.loss), more(self.due.mark, self.declared.ecn))
        } else {
            (false, more(self.due.loss + self.due.mark, self.declared.ecn))
        };
        Failed { credit: self.unused <= 0.0, loss, ecn }
    }

    /// The probability that a packet is picked which says `said`.
    fn probability(&self, said: Seen, params: &Params) -> f64 {
        match params.rule {
            Rule::Balance { limit } => {
                let balance = self.balance(params.apart);
                let repairs = said.loss + said.ecn + said.credit > said.mark;
                if repairs || balance >= -params.allowance { 0.0 } else { (-balance / limit).min(1.0) }
            }
            Rule::Ratio { .. } => {
                let failed = self.failed(params);
                let carries = |failed: bool, amount: f64| !failed || amount > 0.0;
                // "Packets that carry all flags of the tests that failed"; IPv4 has room for one.
                let exempt = if params.apart {
                    carries(failed.credit, said.credit)
                        && carries(failed.loss, said.loss)
                        && carries(failed.ecn, said.ecn)
                } else {
                    said.credit + said.ecn > 0.0
                };
                let guilty = failed != Failed::default() && !exempt;
                if guilty && self.p > 0.0 { ((self.p - self.x) / self.p).max(0.0) } else { 0.0 }
            }
        }
    }
}

/// The account of flows that have declared nothing.
pub(crate) const STRANGERS: u64 = u64::MAX;

/// Counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) seen_flows: u64,
    pub(crate) sanctioned_flows: u64,
    pub(crate) sanctioned: u64,
    pub(crate) arrived: u64,
    pub(crate) declared: Seen,
    pub(crate) met: Met,
    pub(crate) balance: f64,
    pub(crate) least: f64,
}

/// The account of a packet, which is known or may be that of `key`; it counts both.
pub(crate) fn opened<'a, T: Default>(
    flows: &'a mut Kept<T>,
    known: Option<u32>,
    key: u64,
    now: Time,
    counts: &mut Counts,
) -> &'a mut T {
    counts.arrived += 1;
    match known {
        Some(place) => flows.at(place, now),
        None => flows.of(key, now, || {
            counts.seen_flows += 1;
            T::default()
        }),
    }
}

/// The values shown by each rule.
pub(crate) struct View<'a> {
    pub(crate) flows: usize,
    pub(crate) held: usize,
    pub(crate) counts: &'a Counts,
}

observables! {
    View<'_>: view;
    flows: "flows", "Current accounts." => view.flows;
    seen_flows: "flows", "Accounts opened." => view.counts.seen_flows;
    sanctioned_flows: "flows", "Accounts with a picked packet." => view.counts.sanctioned_flows;
    sanctioned: "packets", "Picked packets." => view.counts.sanctioned;
    arrived: "packets", "Audited packets." => view.counts.arrived;
    marks_met: "B or packets", "Congestion marks of audited packets." => view.counts.met.mark;
    losses_met: "B or packets", "Inferred losses." => view.counts.met.loss;
    reports: "B or packets", "Congestion declared by reports."
        => view.counts.declared.loss + view.counts.declared.ecn;
    credits: "B or packets", "Credit declared." => view.counts.declared.credit;
    balance: "B or packets", "Reports and credits minus due congestion, for the flow of the last packet."
        => view.counts.balance;
    least_balance: "B or packets", "Minimum balance of any flow, or zero." => view.counts.least;
    held: "packets", "Packets delayed in the auditor." => view.held;
}

/// An auditor.
#[derive(Clone, Debug)]
pub struct Auditor {
    params: Params,
    flows: Kept<Account>,
    counts: Counts,
    /// Packets that wait, by when they may go, and the order in which they came.
    waiting: BTreeMap<(Time, u64), HeldPacket>,
    came: u64,
}

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It is sanctioned.
    Sanction,
    /// It goes on, but behind others of its flow that wait until then.
    Behind(Time),
}

impl Auditor {
    /// An auditor that has seen nothing.
    pub fn new(params: Params) -> Auditor {
        Auditor {
            params,
            flows: Kept::new(Some(params.idle)),
            counts: Counts::default(),
            waiting: BTreeMap::new(),
            came: 0,
        }
    }

    /// The declarations of a packet; `None`: not ConEx.
    fn read(&self, packet: &Packet) -> Option<Seen> {
        let amount = self.params.unit.of(packet.size);
        let of = |yes: bool| if yes { amount } else { 0.0 };
        if self.params.apart {
            let says = packet.signals();
            return says.capable.then_some(Seen {
                loss: of(says.loss),
                ecn: of(says.ecn),
                credit: of(says.credit),
                mark: of(packet.ecn() == Ecn::Congestion),
            });
        }
        let codepoint = packet.codepoint();
        match codepoint {
            Codepoint::NotCapable | Codepoint::Legacy | Codepoint::Unused => None,
            code => Some(Seen {
                loss: 0.0,
                ecn: of(matches!(code, Codepoint::ReEcho | Codepoint::Cancelled)),
                credit: of(code == Codepoint::Credit),
                mark: of(matches!(code, Codepoint::Cancelled | Codepoint::Negative)),
            }),
        }
    }

    /// Judges a packet of `flow` whose first byte has the number `seq`. A number is drawn where some packets of the flow are picked and
    /// others are not.
    pub fn judge(&mut self, packet: &Packet, seq: u64, flow: u64, now: Time, draws: &mut Stream) -> Verdict {
        if packet.payload == 0 && !packet.is_datagram() {
            return Verdict::Pass;
        }
        let Some(said) = self.read(packet) else { return Verdict::Pass };
        let params = &self.params;
        let known = self.flows.find(flow, now);
        // 11 with RE = 0 of an unknown flow is a marked packet of RFC 3168.
        let declares = said.loss + said.ecn + said.credit > 0.0;
        if known.is_none() && !params.apart && declares && said.mark > 0.0 {
            return Verdict::Pass;
        }
        let alone = known.is_some() || declares || !params.together;
        let key = if alone { flow } else { STRANGERS };
        let counts = &mut self.counts;
        let account = opened(&mut self.flows, known, key, now, counts);
        let mut met = Met { loss: 0.0, mark: if params.audit.ecn { said.mark } else { 0.0 } };
        let mut late = 0.0;
        if params.audit.loss && alone && !packet.is_datagram() {
            (met.loss, late) = lost(account, packet, seq, now, params);
        }
        account.add(said, met, now, params.delay);
        counts.declared.loss += said.loss;
        counts.declared.ecn += said.ecn;
        counts.declared.credit += said.credit;
        counts.met.loss += met.loss - late;
        counts.met.mark += met.mark;
        if let Rule::Ratio { weight, left_out } = params.rule {
            let cancelled = if left_out { said.ecn.min(met.mark) } else { 0.0 };
            account.p += weight * (met.loss - late + met.mark - cancelled - account.p);
            account.x += weight * (said.loss + said.ecn - cancelled - account.x);
        }
        counts.balance = account.balance(params.apart);
        counts.least = counts.least.min(counts.balance);
        let probability = account.probability(said, params);
        let picked = probability >= 1.0 || probability > 0.0 && draws.open01() < probability;
        if picked {
            counts.sanctioned += 1;
            counts.sanctioned_flows += u64::from(!account.sanctioned);
            account.sanctioned = true;
            match params.action {
                Action::Delay(hold) => account.until = now + hold,
                Action::Drop if params.own_drops => {
                    let own = Met { loss: params.unit.of(packet.size), mark: 0.0 };
                    account.add(Seen::default(), own, now, params.delay);
                    counts.met.loss += own.loss;
                }
                Action::Drop | Action::Class(_) => {}
            }
            Verdict::Sanction
        } else if account.until > now {
            Verdict::Behind(account.until)
        } else {
            Verdict::Pass
        }
    }

    /// Keeps a packet until `due`.
    fn wait(&mut self, packet: &Packet, due: Time, cx: &mut Cx) -> Pass {
        let next = self.waiting.first_key_value().map(|(key, _)| key.0);
        self.waiting.insert((due, self.came), cx.hold(packet));
        self.came += 1;
        if next.is_none_or(|next| due < next) {
            cx.wake_at(due);
        }
        Pass::Held
    }
}

/// Losses that a segment reveals, in the auditor's unit, and earlier losses that it revokes.
fn lost(account: &mut Account, packet: &Packet, seq: u64, now: Time, params: &Params) -> (f64, f64) {
    let amount = params.unit.of(packet.size);
    let end = seq + u64::from(packet.payload);
    let segment = Arriving { seq, end, stamp: packet.stamp, at: now, amount };
    let shown = account.numbers.arrive(segment, params.reordering, params.order);
    let late = shown.late.map_or(0.0, |(at, counted)| {
        account.take_back(at, counted);
        counted
    });
    let counts = match params.losses {
        Losses::Retransmissions => return (if shown.again { amount } else { 0.0 }, late),
        Losses::Gaps => shown.repairs,
    };
    let mut loss = if counts { amount } else { 0.0 };
    if shown.missing > 0 {
        let packets = shown.missing.div_ceil(account.numbers.mss) as f64;
        loss += match params.unit {
            Unit::Packets => packets,
            Unit::Bytes => shown.missing as f64 + packets * f64::from(packet.size - packet.payload),
        };
    }
    (loss, late)
}

impl Station for Auditor {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let seq = cx.options.seq(packet);
        match (self.judge(packet, seq, cx.whose.flow, cx.now, cx.stream), self.params.action) {
            (Verdict::Pass, _) => Pass::On,
            (Verdict::Behind(due), _) => self.wait(packet, due, cx),
            (Verdict::Sanction, Action::Drop) => Pass::Drop(Reason::Audited),
            (Verdict::Sanction, Action::Delay(hold)) => self.wait(packet, cx.now + hold, cx),
            (Verdict::Sanction, Action::Class(class)) => {
                packet.class = class;
                Pass::On
            }
        }
    }

    fn wake(&mut self, cx: &mut Cx) {
        while let Some(entry) = self.waiting.first_entry()
            && entry.key().0 <= cx.now
        {
            cx.release(entry.remove());
        }
        if let Some((key, _)) = self.waiting.first_key_value() {
            cx.wake_at(key.0);
        }
    }

    fn held(&self) -> Vec<HeldPacket> {
        self.waiting.values().copied().collect()
    }

    fn heap_bytes(&self) -> u64 {
        let of = |account: &Account| account.numbers.gaps.heap_bytes() + account.late.heap_bytes();
        self.flows.states().map(of).sum::<u64>() + self.flows.heap_bytes() + self.waiting.heap_bytes()
    }

    fn observe(&self, name: &str, _now: Time) -> Option<f64> {
        let view = View { flows: self.flows.len(), held: self.waiting.len(), counts: &self.counts };
        view.observe(name)
    }
}

const RFC_7713: &str = "RFC 7713 section 5.5";
const WAGNER: &str = "draft-wagner-conex-audit-02 section 2.2";
const OURS: &str = "our choice: no document gives a value";

words! {
    pub(crate) enum RuleWord { Balance = "balance", Ratio = "ratio", Paper = "paper", Strict = "strict", NegativeOnly = "negative-only" }
}

words! {
    pub(crate) enum AuditWord { Both = "both", Ecn = "ecn", Loss = "loss" }
}

words! {
    pub(crate) enum OrderWord { Timestamps = "timestamps", Count = "count" }
}

words! {
    pub(crate) enum ActionWord { Drop = "drop", Delay = "delay", Class = "class" }
}

words! {
    pub(crate) enum OwnDrops { Free = "free", Counted = "counted" }
}

words! {
    pub(crate) enum Strangers { Own = "own", Together = "together" }
}

words! {
    pub(crate) enum Cancelled { Counted = "counted", LeftOut = "left-out" }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub(crate) struct Given {
        /// Test and share of drops. `balance`: reports and credits minus marks and losses; below the
        /// allowance, the share is debt over limit. `ratio`: a flow is guilty without credit, or if it has
        /// reported less than the congestion up to delay ago. The share is then (p - x) / p, with averages of
        /// congestion and reports. `strict`, `negative-only` and `paper` are rules of re-ECN's dropper, for
        /// marks only. A flow is guilty if its CE(-1) packets up to delay ago exceed reports, credit and
        /// allowance. `strict` then picks all packets that declare nothing. `negative-only` picks CE(-1)
        /// packets. `paper` picks a share (1 - rho) p - h of them.
        rule: RuleWord = RuleWord::TYPE, Text("balance")
            => source: "Sanhaji et al. 2015, section III-A (balance); draft-wagner-conex-audit-02 sections 2.3 and 2.4 (ratio); Zhang et al. 2011, section II (paper); draft-briscoe-conex-re-ecn-motiv-03, section 4.3 (strict, negative-only)";
        /// Events that count as congestion: marks, losses, or both. Losses are visible for TCP segments only.
        audit: AuditWord = AuditWord::TYPE, Text("both") => source: RFC_7713;
        /// Tolerated undeclared congestion. All accounts use its unit, packets or bytes.
        allowance: Value = PacketsOrBytes, Text("3 packets"), Range::NOT_NEGATIVE => source: OURS;
        /// Debt from which all packets of a flow are picked, for rule balance.
        limit: Option<Value> = PacketsOrBytes, Absent("10 packets or 15 kB"), Range::POSITIVE => source: OURS;
        /// Maximum delay of a report: later congestion does not count yet.
        delay: Option<f64> = Duration, Absent("0 s with balance, where credit covers the round trip; \
                                               required with the other rules"), Range::NOT_NEGATIVE
            => source: "RFC 7713 section 5.5; draft-wagner-conex-audit-02 section 2.3: twice the longest round trip";
        /// Inference of losses: from missing sequence numbers, or from retransmitted ones.
        losses: Losses = Losses::TYPE, Text("gaps") => source: RFC_7713;
        /// Packets beyond a gap after which missing data counts as lost.
        reordering: u32 = Integer, Text("3"), Range::between(1.0, 1000.0)
            => source: "RFC 5681 section 3.2: three duplicate acknowledgements";
        /// Criterion for late originals. `timestamps`: a retransmission has a later timestamp than the first
        /// packet beyond the gap, so the original was lost. Data that stays missing for `repair` counts as
        /// lost too. `count`: missing data is lost after `reordering` packets.
        order: OrderWord = OrderWord::TYPE, Text("timestamps")
            => source: "RFC 7323 section 3; RFC 8985 section 6.2";
        /// Maximum delay of an original. Later data counts as a retransmission, whatever its timestamp.
        reordering_window: Option<f64> = Duration, Absent("100 ms with order = \"timestamps\""), Range::NOT_NEGATIVE
            => source: "RFC 8985 section 6.2: a quarter to a whole round trip, which an auditor cannot \
                        measure; the value is our choice";
        /// Time after which missing data counts as lost, retransmitted or not.
        repair: Option<f64> = Duration, Absent("3 s with order = \"timestamps\""), Range::NOT_NEGATIVE
            => source: "RFC 7786 section 3.1: a loss is reported with its retransmission; RFC 6298 sections \
                        2.4 and 5.5: timeouts of 1 s and 2 s";
        /// Action on picked packets: drop, delay, or assign a traffic class.
        action: ActionWord = ActionWord::TYPE, Text("drop") => source: RFC_7713;
        /// Delay of picked packets. Later packets of the flow wait behind them.
        hold: Option<f64> = Duration, Absent("100 ms with action = \"delay\""), Range::POSITIVE => source: OURS;
        /// Treatment of the auditor's own drops, which senders report as congestion: counted or free.
        own_drops: OwnDrops = OwnDrops::TYPE, Text("free") => source: "RFC 7713 section 5.5.2";
        /// New traffic class of picked packets, with action "class".
        class: Option<String> = CLASS;
        /// Account of a flow without declarations, even without credit: its own, or one for all such flows.
        strangers: Strangers = Strangers::TYPE, Text("own") => source: "RFC 7713 section 5.5.2";
        /// Encoding of declarations in packets.
        encoding: Encoding = ENCODING;
        /// Weight of the newest packet in the averages of rule ratio.
        weight: f64 = Number, Text("0.01"), Range::up_to(1.0) => source: OURS;
        /// Treatment of a report that was marked in the averages of rule ratio: counts as both, or as
        /// neither. Applies only to audited marks.
        cancelled: Option<Cancelled> = Cancelled::TYPE, Absent("left-out with rule ratio")
            => source: "draft-briscoe-tsvwg-re-ecn-tcp-08: a cancelled packet has worth 0 (left-out); \
                        draft-wagner-conex-audit-02 section 2.2: averages of all congestion and all reports \
                        (counted)";
        /// Share rho of rule paper.
        rho: Option<f64> = Number, Absent("measured share of reports, with rule paper"), Range::between(0.0, 1.0)
            => source: "Zhang et al. 2011, section II, do not define it";
        /// Time after which a silent flow is forgotten.
        idle: Duration = Duration, Text("60 s"), Range::POSITIVE => source: WAGNER;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "auditor",
    room: Room::Stage,
    traits: Traits { place: Place::Egress, accounts: true, ..Mechanism::PLAIN },
    title: "Auditor of congestion reports",
    example: r#"groups.users.path = ["bottleneck", "audit"]

[stages.audit]
kind = "auditor"
rule = "balance"
allowance = "3 packets""#,
    doc: "Compares the congestion of each ConEx flow with its declarations: marks are visible, losses are \
          inferred. Drops, delays or reclassifies packets of flows that declare too little. Place it behind \
          the queues that mark. Segments without data and packets without ConEx pass unchanged.",
    source: "RFC 7713 section 5.5; Sanhaji et al. 2015, section III-A; draft-wagner-conex-audit-02; of re-ECN Zhang et al. 2011, section II, \
             draft-briscoe-conex-re-ecn-motiv-03, section 4.3",
    params: Given::PARAMS,
    observables: View::OBSERVABLES,
    counters: &[Counter::new("audited", "The flow declared less congestion than it met.")],
    deviations: &[
        Deviation {
            what: "Rule ratio compares at each instant. It uses the congestion up to exactly delay ago and all \
                   reports so far.",
            why: "draft-wagner-conex-audit-02 section 2.3 keeps a few snapshots. Its verdict on a late \
                  report then depends on chance.",
        },
        Deviation {
            what: "The allowance also applies to rule ratio.",
            why: "Otherwise one lost report makes a flow guilty indefinitely. \"0 packets\" gives the \
                  draft's behaviour.",
        },
        Deviation {
            what: "Over IPv4, packets with any report or credit are exempt with rule ratio.",
            why: "The draft exempts packets with all missing flags; IPv4 can carry one flag.",
        },
        Deviation {
            what: "Credit is tested from the first packet.",
            why: "The draft waits a minute after the auditor's start, for flows that are older than the \
                  auditor. A run has none.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use evenflow_base::codepoint::CODEPOINTS;
    use evenflow_base::packet::ip;

    use super::*;
    use crate::Stepper;
    use crate::station::Act;

    /// Balance in packets, allowance 3, limit 10; marks and losses; no delay.
    fn params() -> Params {
        Params {
            rule: Rule::Balance { limit: 10.0 },
            audit: Audit { ecn: true, loss: true },
            unit: Unit::Packets,
            allowance: 3.0,
            delay: Duration::ZERO,
            losses: Losses::Gaps,
            reordering: 3,
            order: Order::Count,
            action: Action::Drop,
            own_drops: false,
            together: false,
            apart: false,
            idle: Duration::from_seconds(60.0),
        }
    }

    /// An auditor, and what is around it.
    struct Bench {
        auditor: Auditor,
        by_hand: Stepper,
        /// The next byte that the flow sends.
        next: u64,
    }

    impl Bench {
        fn new(params: Params) -> Bench {
            Bench { auditor: Auditor::new(params), by_hand: Stepper::new(1), next: 0 }
        }

        fn packet(&self, codepoint: Codepoint, seq: u64) -> Packet {
            let mut packet = Packet { seq, ..Packet::new(0, 1500, 1448) }.with_ecn(codepoint.ecn());
            packet.set_re(codepoint.re());
            packet
        }

        fn pass(&mut self, mut packet: Packet, seconds: f64) -> Pass {
            let now = Time::from_seconds(seconds);
            self.auditor.forward(&mut packet, &mut self.by_hand.cx(now))
        }

        /// The next segment, with this codepoint.
        fn send(&mut self, codepoint: Codepoint, seconds: f64) -> Pass {
            let packet = self.packet(codepoint, self.next);
            self.next += 1448;
            self.pass(packet, seconds)
        }

        /// The segment with the number `n`, not marked.
        fn segment(&mut self, n: u64) -> f64 {
            let packet = self.packet(Codepoint::NotMarked, n * 1448);
            let _ = self.pass(packet, 0.0);
            self.seen("losses_met")
        }

        fn seen(&self, name: &str) -> f64 {
            self.auditor.observe(name, Time::ZERO).expect("it is known")
        }
    }

    const DROP: Pass = Pass::Drop(Reason::Audited);
    const CLOCK: Order = Order::Timestamps { late: Duration(100_000_000), repair: Duration(3_000_000_000) };
    use Codepoint::{Cancelled, Credit, Legacy, Negative, NotCapable, NotMarked, ReEcho, Unused};

    /// Table I: what each codepoint is worth to a flow that the auditor knows.
    #[test]
    fn the_eight_rows_of_table_i() {
        let worth = CODEPOINTS.map(|codepoint| {
            let mut bench = Bench::new(params());
            bench.send(Credit, 0.0);
            assert_eq!(bench.send(codepoint, 0.0), Pass::On);
            (bench.seen("balance") - 1.0, bench.seen("arrived") - 1.0)
        });
        assert_eq!(CODEPOINTS, [NotCapable, Credit, ReEcho, NotMarked, Legacy, Unused, Cancelled, Negative]);
        let expected =
            [(0.0, 0.0), (1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 1.0), (-1.0, 1.0)];
        assert_eq!(worth, expected);
    }

    /// Of a flow that nobody knows 11 with RE = 0 is a marked packet of RFC 3168.
    #[test]
    fn a_marked_packet_of_a_stranger_is_legacy() {
        let mut bench = Bench::new(params());
        assert_eq!(bench.send(Cancelled, 0.0), Pass::On);
        assert_eq!((bench.seen("arrived"), bench.seen("flows")), (0.0, 0.0));
    }

    /// Dossier M6: below the allowance the share is debt / limit: 3 marks none, 4 marks 0.4, 10 marks all; reports repair and are
    /// never dropped.
    #[test]
    fn the_share_that_is_dropped_is_the_debt() {
        let mut bench = Bench::new(params());
        for n in 1..=3 {
            assert_eq!(bench.send(Negative, 0.0), Pass::On);
            assert_eq!(bench.seen("balance"), -f64::from(n));
        }
        let share = |bench: &Bench| {
            let account = bench.auditor.flows.get(0).expect("it has one");
            account.probability(Seen::default(), &bench.auditor.params)
        };
        assert_eq!(share(&bench), 0.0);
        for (n, expected) in [(4, 0.4), (5, 0.5), (9, 0.9), (10, 1.0), (13, 1.0)] {
            while bench.seen("balance") > -f64::from(n) {
                let _ = bench.send(Negative, 0.0);
            }
            assert_eq!(share(&bench), expected);
        }
        assert_eq!(bench.send(NotMarked, 0.0), DROP);
        assert_eq!(bench.send(Cancelled, 0.0), DROP, "it repairs nothing");
        for n in 1..=10 {
            assert_eq!(bench.send(ReEcho, 0.0), Pass::On);
            assert_eq!(bench.seen("balance"), -13.0 + f64::from(n));
        }
        assert_eq!(bench.send(NotMarked, 0.0), Pass::On);
        assert_eq!((bench.seen("seen_flows"), bench.seen("sanctioned_flows")), (1.0, 1.0));
        assert_eq!(bench.seen("least_balance"), -13.0);
    }

    /// What was met less than `delay` ago is not held against a flow.
    #[test]
    fn reports_may_be_late_by_the_delay() {
        let mut bench = Bench::new(Params {
            delay: Duration::from_seconds(0.5),
            allowance: 0.0,
            rule: Rule::Balance { limit: 1.0 },
            ..params()
        });
        for at in [0.0, 0.1, 0.2] {
            assert_eq!(bench.send(Negative, at), Pass::On);
        }
        assert_eq!((bench.send(NotMarked, 0.499), bench.seen("balance")), (Pass::On, 0.0));
        assert_eq!((bench.send(NotMarked, 0.5), bench.seen("balance")), (DROP, -1.0));
        assert_eq!((bench.send(ReEcho, 0.55), bench.seen("balance")), (Pass::On, 0.0));
        assert_eq!((bench.send(NotMarked, 0.65), bench.seen("balance")), (DROP, -1.0));
        assert_eq!((bench.send(NotMarked, 9.0), bench.seen("balance")), (DROP, -2.0));
    }

    /// Segments 0, 1, 4, 5, 6: with the third from beyond the gap two packets are lost. 2 and 3 come later and change nothing.
    #[test]
    fn what_stays_missing_is_lost() {
        let mut bench = Bench::new(params());
        let seen = [0, 1, 4, 5, 6, 2, 3, 7].map(|n| bench.segment(n));
        assert_eq!(seen, [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(bench.seen("balance"), -2.0);
    }

    /// Overtaken by fewer than three it is late, not lost; by a part of it, the rest is.
    #[test]
    fn what_is_overtaken_by_few_is_late() {
        let mut bench = Bench::new(params());
        assert_eq!([0, 2, 3, 1, 4, 5, 6].map(|n| bench.segment(n)), [0.0; 7]);
        // 7 and 8 are missing; 8 comes, 7 does not.
        assert_eq!([9, 8, 10, 11].map(|n| bench.segment(n)), [0.0, 0.0, 1.0, 1.0]);
        // 12 to 14 are missing; 13 comes and makes two gaps of one.
        assert_eq!([15, 13, 16, 17].map(|n| bench.segment(n)), [1.0, 1.0, 2.0, 3.0]);
    }

    /// RFC 7713 section 5.5: segments that come again; not those that are late. Under new numbers nothing comes again, but numbers
    /// are missing.
    #[test]
    fn what_comes_again_was_lost() {
        let again = Params { losses: Losses::Retransmissions, ..params() };
        let mut bench = Bench::new(again);
        assert_eq!([0, 2, 1, 5, 6, 7].map(|n| bench.segment(n)), [0.0; 6]);
        assert_eq!([3, 4, 3, 8].map(|n| bench.segment(n)), [1.0, 2.0, 3.0, 3.0]);
        for (params, expected) in [(again, 0.0), (params(), 2.0)] {
            let mut bench = Bench::new(params);
            let seen = [0, 3, 4, 5, 6, 7, 8].map(|n| bench.segment(n));
            assert_eq!(seen[6], expected, "1 and 2 were lost, and sent again as 7 and 8");
        }
    }

    /// By timestamps, milliseconds: a packet `n`, when it comes, what its sender's clock showed.
    fn come(bench: &mut Bench, comes: &[(u64, f64, u32)]) -> f64 {
        for &(n, at, stamp) in comes {
            let packet = Packet { stamp, ..bench.packet(NotMarked, n * 1448) };
            let _ = bench.pass(packet, at / 1e3);
        }
        bench.seen("losses_met")
    }

    /// What overtook a packet was sent after it; what was sent again was sent after that. Ten packets overtake, where three would
    /// have been enough.
    #[test]
    fn what_is_late_is_told_from_what_was_sent_again() {
        let clocked = |losses| Params { order: CLOCK, losses, ..params() };
        for (stamp, at, lost) in
            [(2, 25.0, 0.0), (14, 25.0, 1.0), (13, 25.0, 1.0), (3, 25.0, 0.0), (2, 113.5, 1.0)]
        {
            for losses in [Losses::Gaps, Losses::Retransmissions] {
                let mut bench = Bench::new(clocked(losses));
                let _ = come(&mut bench, &[(0, 11.0, 1)]);
                let beyond: Vec<_> = (2..12).map(|n| (n, 11.0 + n as f64, n as u32 + 1)).collect();
                assert_eq!(come(&mut bench, &beyond), 0.0);
                assert_eq!(come(&mut bench, &[(1, at, stamp)]), lost, "{losses:?} {stamp} {at}");
            }
        }
    }

    /// Sent again needlessly, and then the original comes: taken back, once, whether or not its report was due.
    #[test]
    fn what_comes_after_all_was_not_lost() {
        for delay in [0.0, 0.02, 0.5] {
            let delay = Duration::from_seconds(delay);
            let mut bench = Bench::new(Params { order: CLOCK, delay, ..params() });
            assert_eq!(come(&mut bench, &[(0, 11.0, 1), (2, 13.0, 3), (1, 20.0, 9), (3, 21.0, 10)]), 1.0);
            let due = if delay == Duration::ZERO { -1.0 } else { 0.0 };
            assert_eq!(bench.seen("balance"), due);
            assert_eq!(come(&mut bench, &[(1, 50.0, 2)]), 0.0);
            assert_eq!(bench.seen("balance"), 0.0);
            assert_eq!(come(&mut bench, &[(1, 51.0, 2), (4, 900.0, 11)]), 0.0);
            assert_eq!(bench.seen("balance"), 0.0);
        }
    }

    /// A packet that repairs two gaps is one loss; what is never sent again is lost after three seconds, with three from beyond.
    #[test]
    fn what_stays_missing_is_lost_in_the_end() {
        let mut bench = Bench::new(Params { order: CLOCK, ..params() });
        assert_eq!(come(&mut bench, &[(0, 10.0, 0), (3, 20.0, 1), (4, 1000.0, 2), (5, 3019.0, 3)]), 0.0);
        assert_eq!(come(&mut bench, &[(6, 3020.0, 4)]), 2.0);
        assert_eq!(come(&mut bench, &[(1, 3021.0, 5), (2, 3022.0, 5)]), 2.0);
        // Numbers that are never used again: 7 and 8 are lost, and go as 9 and 10.
        assert_eq!(come(&mut bench, &[(9, 3100.0, 6), (10, 3100.0, 6), (11, 6100.0, 7)]), 4.0);
    }

    /// What it drops is congestion met: without, a drop that is reported pays for what was not.
    #[test]
    fn own_drops_count_or_do_not() {
        for (own_drops, after) in [(false, -10.0), (true, -11.0)] {
            let mut bench = Bench::new(Params { own_drops, ..params() });
            for _ in 0..10 {
                let _ = bench.send(Negative, 0.0);
            }
            let before = bench.seen("sanctioned");
            let own = if own_drops { before } else { 0.0 };
            assert_eq!(bench.send(NotMarked, 0.0), DROP);
            let _ = bench.send(Cancelled, 0.0);
            assert_eq!(bench.seen("balance") + own, after, "{own_drops}");
        }
        // What only goes into another class is not lost.
        let counting = Params { own_drops: true, action: Action::Class(0), ..params() };
        let mut bench = Bench::new(counting);
        for _ in 0..20 {
            let _ = bench.send(Negative, 0.0);
        }
        assert_eq!(bench.seen("balance"), -20.0);
    }

    /// In bytes a loss is the headers too: 2 x 1448 B missing, two headers of 52 B.
    #[test]
    fn bytes_are_counted_with_headers() {
        let mut bench = Bench::new(Params { unit: Unit::Bytes, allowance: 4500.0, ..params() });
        bench.send(ReEcho, 0.0);
        assert_eq!(bench.seen("balance"), 1500.0);
        bench.send(Negative, 0.0);
        assert_eq!([4, 5, 6].map(|n| bench.segment(n)), [0.0, 0.0, 3000.0]);
        assert_eq!(bench.seen("balance"), -3000.0);
    }

    /// One balance of marks alone, of losses alone, of both.
    #[test]
    fn marks_and_losses_are_audited_or_not() {
        for (ecn, loss, expected) in [(true, false, -1.0), (false, true, -2.0), (true, true, -3.0)] {
            let mut bench = Bench::new(Params { audit: Audit { ecn, loss }, ..params() });
            bench.send(Negative, 0.0);
            let _ = [3, 4, 5].map(|n| bench.segment(n));
            assert_eq!(bench.seen("balance"), expected);
        }
        let mut bench = Bench::new(params());
        for number in [0, 5, 6, 7] {
            let datagram = Packet { ip: ip::DATAGRAM, ..bench.packet(NotMarked, number) };
            let _ = bench.pass(datagram, 0.0);
        }
        assert_eq!(bench.seen("losses_met"), 0.0, "datagrams have no numbers that an auditor could see");
    }

    /// With bits of their own, reports of losses do not pay for marks; credit does.
    #[test]
    fn bits_are_audited_apart() {
        let mut bench = Bench::new(Params { apart: true, ..params() });
        let mut send = |bits: u8, ecn: Ecn| {
            let mut packet = Packet { seq: bench.next, ..Packet::new(0, 1500, 1448) }.with_ecn(ecn);
            bench.next += 1448;
            packet.set_re(true);
            packet.set_conex(bits);
            let _ = bench.pass(packet, 0.0);
            bench.seen("balance")
        };
        assert_eq!([send(ip::LOSS, Ecn::Capable0), send(ip::LOSS, Ecn::Capable0)], [0.0, 0.0]);
        assert_eq!([send(0, Ecn::Congestion), send(0, Ecn::Congestion)], [-1.0, -2.0]);
        assert_eq!(send(ip::CREDIT | ip::MARK, Ecn::Capable0), 0.0);
        assert_eq!(send(ip::CREDIT, Ecn::Congestion), 0.0);
    }

    /// Flows that have declared nothing share an account, so that a new flow is no new start.
    #[test]
    fn strangers_together() {
        for (together, dropped) in [(false, 0), (true, 12)] {
            let mut bench = Bench::new(Params { together, ..params() });
            let mut drops = 0;
            for flow in 0..25 {
                bench.by_hand.whose.flow = flow;
                bench.next = 0;
                drops += u32::from(bench.send(Negative, 0.0) == DROP);
            }
            let flows = bench.seen("flows");
            assert_eq!(flows, if together { 1.0 } else { 25.0 });
            assert!(if together { drops > dropped } else { drops == 0 }, "{drops}");
            bench.by_hand.whose.flow = 99;
            assert_eq!([bench.send(Credit, 0.0), bench.send(NotMarked, 0.0)], [Pass::On, Pass::On]);
            assert_eq!(bench.seen("flows"), flows + 1.0);
        }
    }

    /// draft-wagner-conex-audit-02 section 2.2: a silent flow is forgotten after a minute, debt and all.
    #[test]
    fn silent_flows_are_forgotten() {
        let mut bench = Bench::new(params());
        for _ in 0..20 {
            let _ = bench.send(Negative, 0.0);
        }
        assert_eq!(bench.send(NotMarked, 60.0), DROP);
        assert_eq!(bench.send(NotMarked, 120.1), Pass::On);
        assert_eq!((bench.seen("flows"), bench.seen("seen_flows")), (1.0, 2.0));
    }

    /// Section 2.4 of the draft, weight a half, no allowance. Credit, then marks: p = 0, 0.5, 0.75 and x = 0.
    #[test]
    fn the_ratio_of_the_draft() {
        let ratio = Params { rule: Rule::Ratio { weight: 0.5, left_out: false }, allowance: 0.0, ..params() };
        let share = |bench: &Bench| {
            let account = bench.auditor.flows.get(0).expect("it has one");
            account.probability(Seen::default(), &bench.auditor.params)
        };
        let mut bench = Bench::new(ratio);
        assert_eq!(bench.send(Credit, 0.0), Pass::On);
        assert_eq!(share(&bench), 0.0);
        assert_eq!(bench.send(Negative, 0.0), DROP);
        // p = 0.5, x = 0; a report: p = 0.25, x = 0.5: more declared than met, and nothing is dropped.
        assert_eq!(share(&bench), 1.0);
        assert_eq!(bench.send(ReEcho, 0.0), Pass::On);
        assert_eq!(share(&bench), 0.0);
        // p = 0.625, x = 0.25: (p - x) / p = 0.6.
        let _ = bench.send(Negative, 0.0);
        assert!((share(&bench) - 0.6).abs() < 1e-15);
        // The report has used up the credit: guilty until there is more, though every mark is reported.
        assert_eq!(bench.send(ReEcho, 0.0), Pass::On);
        let account = bench.auditor.flows.get(0).expect("it has one");
        let failed = account.failed(&ratio);
        assert_eq!((failed.credit, failed.ecn), (true, false));
        assert_eq!(bench.send(Credit, 0.0), Pass::On);
        assert_eq!(bench.auditor.flows.get(0).expect("it has one").failed(&ratio), Failed::default());
    }

    /// Packets wait, those of the same flow behind them too, and order is kept; others do not.
    #[test]
    fn packets_wait_and_order_is_kept() {
        let hold = Duration::from_seconds(0.1);
        let mut bench = Bench::new(Params { action: Action::Delay(hold), ..params() });
        for _ in 0..20 {
            let _ = bench.send(Negative, 0.0);
        }
        let held = bench.seen("held");
        assert!((11.0..=17.0).contains(&held), "{held}");
        assert_eq!(bench.send(NotMarked, 0.05), Pass::Held);
        assert_eq!(bench.send(ReEcho, 0.06), Pass::Held, "behind the others");
        bench.by_hand.whose.flow = 7;
        assert_eq!(bench.send(Credit, 0.06), Pass::On);
        bench.by_hand.whose.flow = 0;
        assert_eq!(bench.auditor.held().len() as f64, held + 2.0);
        let mut released: Vec<u64> = Vec::new();
        let (mut alarm, mut wakes) = (Time::NEVER, 0);
        loop {
            for act in bench.by_hand.acts.drain(..) {
                match act {
                    Act::Wake(at) => alarm = at,
                    Act::Release(packet) => released.push(packet.packet.seq),
                    other => panic!("{other:?}"),
                }
            }
            if alarm == Time::NEVER {
                break;
            }
            let at = std::mem::replace(&mut alarm, Time::NEVER);
            bench.auditor.wake(&mut bench.by_hand.cx(at));
            wakes += 1;
        }
        assert_eq!((wakes, released.len() as f64), (2, held + 2.0));
        assert!(released.is_sorted());
        assert_eq!(bench.seen("held"), 0.0);
    }

    #[test]
    fn a_class_for_those_who_declare_too_little() {
        let mut bench = Bench::new(Params { action: Action::Class(4), ..params() });
        for _ in 0..20 {
            assert_eq!(bench.send(Negative, 0.0), Pass::On);
        }
        let mut packet = bench.packet(NotMarked, 99 * 1448);
        assert_eq!(bench.auditor.forward(&mut packet, &mut bench.by_hand.cx(Time::ZERO)), Pass::On);
        assert_eq!(packet.class, 4);
    }

    /// Dossier 2.18: 19 reports, one of them more cancelled, 49 negative: 1 - 19/49 without the cancelled one, 1 - 20/50 with it.
    #[test]
    fn the_ratio_with_and_without_cancelled_reports() {
        let share = |left_out: bool| {
            let rule = Rule::Ratio { weight: 0.0002, left_out };
            let audit = Audit { ecn: true, loss: false };
            let mut auditor = Auditor::new(Params { rule, audit, ..params() });
            let mut by_hand = Stepper::new(1);
            for n in 0..60_000u64 {
                let code = match n * 617 % 1000 {
                    0..19 => Codepoint::ReEcho,
                    19 => Codepoint::Cancelled,
                    20..69 => Codepoint::Negative,
                    _ => Codepoint::NotMarked,
                };
                let mut packet = Packet::new(0, 1500, 1448).with_ecn(code.ecn());
                packet.set_re(code.re());
                let _ = auditor.judge(&packet, n * 1448, 7, Time(n), &mut by_hand.stream);
            }
            let account = auditor.flows.get(7).expect("it is known");
            (account.p - account.x) / account.p
        };
        let (default, option) = (share(true), share(false));
        assert!((default - 0.612).abs() < 0.002 && (option - 0.600).abs() < 0.002, "{default} {option}");
    }

    /// Where marks are not audited nothing is cancelled: a marked report is a report.
    #[test]
    fn only_audited_marks_cancel() {
        let rule = Rule::Ratio { weight: 0.5, left_out: true };
        let audits = [(true, (0.0, 0.0)), (false, (0.0, 0.5))];
        for (ecn, expected) in audits {
            let mut bench = Bench::new(Params { rule, audit: Audit { ecn, loss: true }, ..params() });
            bench.send(Credit, 0.0);
            bench.send(Cancelled, 0.0);
            let account = bench.auditor.flows.get(0).expect("it has one");
            assert_eq!((account.p, account.x), expected);
        }
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let word = |name: &'static str, word: &str| (name, Value::Word(word.into()));
        let names = |values: &[(&'static str, Value)]| {
            let values = Values(values.iter().cloned().collect());
            problems(&values).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let (packets, bytes) = (Value::Packets(3.0), Value::Bytes(15_000.0));
        let mixed = [("allowance", packets.clone()), ("limit", bytes), word("action", "class")];
        assert_eq!(names(&mixed), ["limit", "class"]);
        let ratio = [word("rule", "ratio"), ("limit", packets.clone()), ("allowance", packets)];
        assert_eq!(names(&ratio), ["limit", "delay"]);
        assert_eq!(names(&[("hold", Value::Seconds(1.0)), word("action", "drop")]), ["hold"]);
        let counted = [word("order", "count"), ("repair", Value::Seconds(1.0)), word("own_drops", "counted")];
        assert_eq!(names(&counted), ["repair"]);
        let own = [
            word("own_drops", "counted"),
            word("losses", "retransmissions"),
            word("action", "class"),
            word("class", "be"),
        ];
        assert_eq!(names(&own), ["own_drops", "own_drops"]);
    }
}
