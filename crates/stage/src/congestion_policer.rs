//! Congestion policer: charges users for the congestion that their packets report. It acts on ConEx packets
//! of users without tokens (RFC 7713 section 5.4.3; Sanhaji et al. 2015, section III-F and figure 6).
//!
//! A report takes its packet, or its bytes, from a token bucket. A drop function of the bucket's level gives
//! the share of drops; the level may become negative. Users who cause little congestion are never policed,
//! whatever their rate. [`crate::auditor`] checks the reports; [`crate::policer`] polices by rate.

use evenflow_base::params::Key;
use evenflow_base::schema::{
    Counter, Deviation, Fallback, Mechanism, Param, Place, Problem, Range, Room, Traits, Type, Value, Values,
    sound,
};
use evenflow_base::{Codepoint, Duration, Packet, Reason, Stream, Time};

use crate::station::{Cx, Pass, Reads, Station};
use crate::three_colour::Unit;

words! {
    /// Owner of a bucket.
    pub enum Scope {
        /// Each flow.
        Flow = "flow",
        /// Each user.
        User = "user",
        /// All whose packets cross this copy of the stage.
        Customer = "customer",
    }
}

words! {
    /// Where the round-trip time is from.
    pub enum RttFrom {
        /// It is given.
        Given = "given",
        /// The delays of the flow's path.
        Base = "base",
        /// From a flow's SYN, or SYN-ACK where its receiver opens it, to the next of its packets that comes this way.
        Handshake = "handshake",
        /// Measured by the sender.
        Srtt = "srtt",
        /// Round-trip time of reports, written by a congestion controller upstream.
        Report = "report",
    }
}

words! {
    /// How steeply packets are dropped when the tokens are used up (Sanhaji et al. 2015, figure 6).
    pub enum Harshness {
        /// All, as soon as there are none.
        Strict = "strict",
        /// More and more, all from a debt of a tenth of the depth on.
        Mild = "mild",
        /// More and more, all from a debt of the depth on.
        Soft = "soft",
    }
}

impl Harshness {
    /// The debt at which everything is dropped, of a bucket of `depth`.
    #[inline]
    pub fn end(self, depth: f64) -> f64 {
        match self {
            Harshness::Strict => 0.0,
            Harshness::Mild => depth / 10.0,
            Harshness::Soft => depth,
        }
    }

    /// The probability of a drop at `level` (figure 6).
    #[inline]
    pub fn probability(self, level: f64, depth: f64) -> f64 {
        if level > 0.0 {
            return 0.0;
        }
        match self {
            Harshness::Strict => 1.0,
            Harshness::Mild | Harshness::Soft => (-level / self.end(depth)).min(1.0),
        }
    }
}

words! {
    /// When a report is charged.
    pub enum Charge {
        /// When it arrives, whatever becomes of it.
        Arrival = "arrival",
        /// When it goes on.
        Pass = "pass",
    }
}

/// Action on picked packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are dropped.
    Drop,
    /// They go on in this class.
    Class(u8),
    /// They get a congestion mark.
    Mark,
}

/// A token bucket that reports are charged to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Unit of tokens.
    pub unit: Unit,
    /// Tokens a second: packets, or bytes.
    pub rate: f64,
    /// Tokens that it holds.
    pub depth: f64,
    /// Tokens in it at first.
    pub level: f64,
    /// The drop function.
    pub harshness: Harshness,
    /// When reports are charged.
    pub charge: Charge,
    /// The debt ends where the drop function does.
    pub floor: bool,
    /// Action on picked packets.
    pub action: Action,
    /// Credits are charged as reports are.
    pub credit: bool,
    /// 11 with RE = 0 is a report that met congestion, not a marked packet of RFC 3168.
    pub cancelled: bool,
    /// Packets that are not ConEx are dropped like the user's others; they cost nothing.
    pub legacy: bool,
    /// Reports are three bits, each of which is charged, not the codes of IPv4.
    pub bits: bool,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values, classes: &[String]) -> Result<Params, Vec<Problem>> {
        sound(problems(values))?;
        let given = Given::read(values);
        let unit = given.rate.as_ref().and_then(unit).unwrap_or(Unit::Packets);
        let number = |value: &Option<Value>| value.as_ref().and_then(Value::number).unwrap_or(0.0);
        let (rate, depth) = (number(&given.rate), number(&given.depth));
        Ok(Params {
            unit,
            rate: if unit == Unit::Bytes { rate / 8.0 } else { rate },
            depth,
            level: given.level * depth,
            harshness: given.harshness,
            charge: given.charge,
            floor: values.is(Given::floor, Floor::End),
            action: match given.action {
                ActionWord::Class => Action::Class(numbered(given.class.as_deref(), classes)),
                ActionWord::Mark => Action::Mark,
                _ => Action::Drop,
            },
            credit: values.is(Given::credit, CreditCost::Charged),
            cancelled: values.is(Given::cancelled, Cancelled::Charged),
            legacy: values.is(Given::legacy, Legacy::Police),
            bits: given.encoding == Encoding::Ipv6,
        })
    }
}

/// Unit of a quantity; for a random one, of its draws.
pub(crate) fn unit(value: &Value) -> Option<Unit> {
    match value {
        Value::Rate(_) | Value::Bytes(_) => Some(Unit::Bytes),
        Value::PacketRate(_) | Value::Packets(_) => Some(Unit::Packets),
        Value::Random(law) => unit(law.example()),
        _ => None,
    }
}

/// `class` is required with the action that needs it, and refused with others.
pub(crate) fn class_problem(values: &Values, wanted: bool) -> Option<Problem> {
    match (wanted, values.has(Given::class)) {
        (true, false) => Some((
            Given::class.name,
            "is required with action = \"class\": the traffic class of picked packets".into(),
        )),
        (false, true) => Some((Given::class.name, "has no effect without action = \"class\"".into())),
        _ => None,
    }
}

/// The number of a class.
pub(crate) fn numbered(class: Option<&str>, classes: &[String]) -> u8 {
    classes.iter().position(|name| Some(name.as_str()) == class).unwrap_or(0) as u8
}

/// The class that `values` give to packets, if the action does so.
pub(crate) fn class_given(values: &Values, wanted: bool) -> Vec<(&'static str, String)> {
    values.at(Given::class).filter(|_| wanted).map(|class| (Given::class.name, class)).into_iter().collect()
}

/// The classes that packets of `class` may have behind such a stage.
pub(crate) fn class_after(values: &Values, wanted: bool, class: &str) -> Vec<String> {
    let given =
        class_given(values, wanted).into_iter().map(|(_, given)| given).filter(|given| given != class);
    std::iter::once(class.to_owned()).chain(given).collect()
}

/// Whether picked packets get another class.
pub(crate) fn classifies(values: &Values) -> bool {
    values.is(Given::action, ActionWord::Class)
}

pub(crate) fn problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    if let (Some(rate), Some(depth)) =
        (values.raw(Given::rate).and_then(unit), values.raw(Given::depth).and_then(unit))
        && rate != depth
    {
        // Full packets of 1500 B.
        let example = match values.raw(Given::depth) {
            Some(Value::Packets(packets)) => format!("{} kB", 1.5 * packets),
            Some(Value::Bytes(bytes)) => format!("{} packets", (bytes / 1500.0).ceil()),
            _ if rate == Unit::Packets => "45 packets".to_owned(),
            _ => "67.5 kB".to_owned(),
        };
        let (rate, depth) = (rate.name(), depth.name());
        problems.push((
            Given::depth.name,
            format!("counts {depth}, but rate counts {rate}; tokens have one unit: write \"{example}\""),
        ));
    }
    if values.is(Given::charge, Charge::Pass) && values.is(Given::floor, Floor::End) {
        let why = "excludes charge = \"pass\", which limits the debt to one packet anyway; leave one of the \
                   two out";
        problems.push((Given::floor.name, why.into()));
    }
    problems.extend(class_problem(values, classifies(values)));
    problems
}

/// The bucket of one user.
#[derive(Clone, Debug)]
struct Bucket {
    level: f64,
    last: Time,
}

impl Bucket {
    /// The tokens at `now`.
    #[inline]
    fn at(&self, now: Time, params: &Params) -> f64 {
        (self.level + params.rate * now.since(self.last).seconds()).min(params.depth)
    }
}

/// Counters of every rule; those from `negative` on are for re-ECN's rules.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Bytes of reports.
    pub(crate) volume: u64,
    pub(crate) reports: u64,
    pub(crate) credits: u64,
    pub(crate) arrived: u64,
    pub(crate) policed: u64,
    pub(crate) charged: f64,
    pub(crate) least: f64,
    pub(crate) first: Option<Time>,
    pub(crate) negative: u64,
    pub(crate) owners: u64,
    pub(crate) policed_owners: u64,
}

/// The values shown by each rule.
pub(crate) struct View<'a> {
    pub(crate) tokens: Option<f64>,
    pub(crate) rtt: Option<f64>,
    pub(crate) counts: &'a Counts,
}

observables! {
    View<'_>: view;
    tokens: "B or packets", "Tokens in the bucket; negative: debt." => view.tokens;
    least_tokens: "B or packets", "Minimum of the tokens; negative: debt." => view.counts.least;
    congestion_volume: "B",
        "Bytes of all packets that reported congestion (RFC 6789 section 2.2), dropped or not."
        => view.counts.volume;
    charged: "B or packets", "Tokens charged." => view.counts.charged;
    reports: "packets", "Packets that reported congestion." => view.counts.reports;
    credits: "packets", "Packets of credit." => view.counts.credits;
    arrived: "packets", "Policed packets." => view.counts.arrived;
    policed: "packets", "Picked packets." => view.counts.policed;
    first_drop: "s", "Time of the first pick; null without any." => view.counts.first;
    negative: "packets",
        "Packets that arrived negative, CE(-1). This and the following are for re-ECN's rules only."
        => view.counts.negative;
    buckets: "buckets", "Buckets opened." => view.counts.owners;
    policed_buckets: "buckets", "Buckets with a picked packet." => view.counts.policed_owners;
    rtt: "s", "Mean of T over buckets; null without any." => view.rtt;
}

/// Marks a picked packet. One that cannot be marked is dropped.
#[inline]
pub(crate) fn mark(packet: &mut Packet, codepoint: Codepoint, reason: Reason) -> Pass {
    match codepoint.marked(false) {
        None => Pass::Drop(reason),
        Some(marked) if marked == codepoint => Pass::On,
        Some(marked) => {
            packet.set_ecn(marked.ecn());
            Pass::Mark(reason)
        }
    }
}

/// The policer of one user.
#[derive(Clone, Debug)]
pub struct CongestionPolicer {
    params: Params,
    bucket: Bucket,
    counts: Counts,
}

impl CongestionPolicer {
    /// A policer that has seen nothing.
    pub fn new(params: Params) -> CongestionPolicer {
        let bucket = Bucket { level: params.level, last: Time::ZERO };
        let counts = Counts { least: params.level, ..Counts::default() };
        CongestionPolicer { params, bucket, counts }
    }

    /// Charges `cost`.
    #[inline]
    fn take(&mut self, cost: f64) {
        let (params, level) = (&self.params, &mut self.bucket.level);
        *level -= cost;
        if params.floor {
            *level = level.max(-params.harshness.end(params.depth));
        }
        self.counts.least = self.counts.least.min(*level);
        self.counts.charged += cost;
    }

    /// The cost of a packet of `codepoint`, if its sender is policed.
    #[inline]
    fn cost(&mut self, packet: &Packet, codepoint: Codepoint) -> Option<f64> {
        let params = &self.params;
        let of_packet = params.unit.of(packet.size);
        if params.bits {
            let says = packet.signals();
            if !says.capable {
                return params.legacy.then_some(0.0);
            }
            let reports = u32::from(says.loss) + u32::from(says.ecn);
            self.counts.reports += u64::from(reports > 0);
            self.counts.credits += u64::from(says.credit);
            self.counts.volume += u64::from(packet.size) * u64::from(reports);
            let charged = reports + u32::from(says.credit && params.credit);
            return Some(of_packet * f64::from(charged));
        }
        match codepoint {
            Codepoint::NotMarked | Codepoint::Negative => Some(0.0),
            Codepoint::Cancelled if !params.cancelled => params.legacy.then_some(0.0),
            Codepoint::ReEcho | Codepoint::Cancelled => {
                self.counts.reports += 1;
                self.counts.volume += u64::from(packet.size);
                Some(of_packet)
            }
            Codepoint::Credit => {
                self.counts.credits += 1;
                Some(if params.credit { of_packet } else { 0.0 })
            }
            Codepoint::NotCapable | Codepoint::Legacy | Codepoint::Unused => params.legacy.then_some(0.0),
        }
    }

    /// The verdict on a packet at `now`. Draws a number where only a share is dropped.
    #[inline]
    pub fn meet(&mut self, packet: &mut Packet, now: Time, draws: &mut Stream) -> Pass {
        if packet.payload == 0 && !packet.is_datagram() {
            return Pass::On;
        }
        let codepoint = packet.codepoint();
        let Some(cost) = self.cost(packet, codepoint) else { return Pass::On };
        self.counts.arrived += 1;
        self.bucket.level = self.bucket.at(now, &self.params);
        self.bucket.last = now;
        if self.params.charge == Charge::Arrival && cost > 0.0 {
            self.take(cost);
        }
        let probability = self.params.harshness.probability(self.bucket.level, self.params.depth);
        let picked = probability >= 1.0 || probability > 0.0 && draws.open01() < probability;
        if !picked {
            if self.params.charge == Charge::Pass && cost > 0.0 {
                self.take(cost);
            }
            return Pass::On;
        }
        self.counts.policed += 1;
        self.counts.first.get_or_insert(now);
        match self.params.action {
            Action::Drop => Pass::Drop(Reason::CongestionPoliced),
            Action::Class(class) => {
                packet.class = class;
                Pass::On
            }
            Action::Mark => mark(packet, codepoint, Reason::CongestionPoliced),
        }
    }
}

impl Station for CongestionPolicer {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx.now, cx.stream)
    }

    fn observe(&self, name: &str, now: Time) -> Option<f64> {
        let tokens = Some(self.bucket.at(now, &self.params));
        View { tokens, rtt: None, counts: &self.counts }.observe(name)
    }
}

const CONEX_2015: &str = "Sanhaji et al. 2015, section III-F";
const MOTIV: &str = "draft-briscoe-conex-re-ecn-motiv-03, appendix B.2: 1 is neutral";
const FIGURE_6: &str = "Sanhaji et al. 2015, figure 6";

/// `class`.
pub(crate) const CLASS: Param = Param {
    name: "class",
    ty: Type::Name,
    default: Fallback::Absent("required with action = \"class\""),
    range: Range::ANY,
    source: "RFC 2474 section 3",
    doc: "New traffic class of picked packets, with action \"class\".",
};

/// How packets declare congestion.
pub(crate) const ENCODING: Param = Param {
    name: "encoding",
    ty: Encoding::TYPE,
    default: Fallback::Text("ipv4"),
    range: Range::ANY,
    source: "Sanhaji et al. 2015, table I (ipv4); RFC 7837 section 4 (ipv6)",
    doc: "Encoding of declarations: one code for reports and one for credit (ipv4), or three bits for \
          losses, marks and credit (ipv6). Each bit counts the whole packet.",
};

/// The encoding, if it is known. With `re_ecn` it is that of IPv4, the only one for re-ECN's rules.
pub(crate) fn reads(values: &Values, re_ecn: bool) -> Option<Reads> {
    values.at(Given::encoding).map(|encoding| Reads { ipv6: encoding == Encoding::Ipv6, either: !re_ecn })
}

words! {
    pub(crate) enum Encoding { Ipv4 = "ipv4", Ipv6 = "ipv6" }
}

words! {
    pub(crate) enum RuleWord { Bucket = "bucket", TcpRate = "tcp-rate", RateBytes = "rate-bytes", Volume = "volume" }
}

words! {
    pub(crate) enum Floor { None = "none", End = "end" }
}

words! {
    pub(crate) enum ActionWord { Drop = "drop", Class = "class", Mark = "mark", DropOne = "drop-one", DropWhileEmpty = "drop-while-empty", Block = "block", Probability = "probability" }
}

words! {
    pub(crate) enum CreditCost { Free = "free", Charged = "charged" }
}

words! {
    pub(crate) enum Cancelled { Charged = "charged", Free = "free" }
}

words! {
    pub(crate) enum Legacy { Pass = "pass", Police = "police" }
}

words! {
    pub(crate) enum Strangers { Together = "together", Own = "own" }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub(crate) struct Given {
        /// Token rate: allowed congestion in packets or bits per second, for all flows of a user together.
        rate: Option<Value> = RateOrPacketRate, Absent("required with the rules bucket and volume"), Range::POSITIVE
            => source: CONEX_2015;
        /// Bucket size in packets or bytes, like the rate. Rule rate-bytes needs bytes.
        depth: Option<Value> = PacketsOrBytes, Absent("required, except with rule tcp-rate"), Range::POSITIVE
            => source: CONEX_2015;
        /// Charging rule. `bucket` (ConEx): one bucket for all reports of a user, with a drop function. The
        /// other rules are re-ECN's. `tcp-rate`: a flow earns a second per second; a report costs the time
        /// that TCP needs per report. `rate-bytes`: a flow earns bytes at TCP's rate; each packet costs its
        /// bytes. `volume`: reports and credit cost a user their bytes.
        rule: RuleWord = RuleWord::TYPE, Text("bucket")
            => source: "Sanhaji et al. 2015, section III-F (bucket); draft-briscoe-conex-re-ecn-motiv-03, appendix B; Zhang et al. 2011, section II";
        /// Share of dropped packets by level. `strict`: all from level 0 down. `mild`: rising from 0 at level
        /// 0 to all at a debt of depth / 10. `soft`: rising to all at a debt of depth.
        harshness: Harshness = Harshness::TYPE, Text("mild") => source: FIGURE_6;
        /// Charge a report on arrival, or only if it passes.
        charge: Charge = Charge::TYPE, Text("arrival")
            => source: "Sanhaji et al. 2015, section III-F, literally";
        /// Maximum debt: unlimited, or the level at which all packets are dropped.
        floor: Floor = Floor::TYPE, Text("none") => source: FIGURE_6;
        /// Initial share of tokens in the bucket.
        level: f64 = Number, Text("1"), Range::between(0.0, 1.0) => source: "not given by the documents";
        /// Action on picked packets. `drop`: drop. `class`: assign a new traffic class. `mark`: mark, or drop
        /// if the packet is not ECN-capable. The others are for re-ECN's rules. `drop-one` (the same as
        /// drop): drop the packet that makes the level negative. `drop-while-empty`: drop all packets while
        /// the level is negative. `block`: drop all packets from then on. `probability`: drop the share
        /// beyond TCP's rate while the level is negative. `class` and `mark` pick all packets while the level
        /// is negative.
        action: ActionWord = ActionWord::TYPE, Text("drop")
            => source: "RFC 7713 section 5.4.3; draft-briscoe-conex-re-ecn-motiv-03, appendix B";
        /// New traffic class of picked packets, with action "class".
        class: Option<String> = CLASS;
        /// Cost of credit: free, or the same as a report.
        credit: CreditCost = CreditCost::TYPE, Text("free")
            => source: "Sanhaji et al. 2015, table I; charged: draft-briscoe-conex-policing-01 section 3.11";
        /// Meaning of 11 with RE = 0 behind a queue that marks: a marked report, which is charged, or a
        /// marked packet of RFC 3168 without ConEx.
        cancelled: Cancelled = Cancelled::TYPE, Text("charged")
            => source: "draft-briscoe-conex-re-ecn-motiv-03, appendix B";
        /// Treatment of packets without ConEx: pass, or picked like other packets of the user. They cost
        /// nothing.
        legacy: Legacy = Legacy::TYPE, Text("pass") => source: "RFC 6789 section 5";
        /// Encoding of declarations in packets.
        encoding: Encoding = ENCODING;
        /// Owner of a bucket: a flow, a user, or all users of a copy of the stage. With per = "group" or "5
        /// users" a copy serves several users.
        scope: Option<Scope> = Scope::TYPE, Absent("flow with the rules by rate, user with volume")
            => source: "Zhang et al. 2011, section II";
        /// Share of a flow, compared with TCP (r).
        factor: Option<f64> = Number, Absent("1 with the rules by rate"), Range::POSITIVE => source: MOTIV;
        /// Constant k of TCP's rate, k s / (T sqrt(p)).
        k: Option<f64> = Number, Absent("1.2247, the root of 3/2, with the rules by rate"), Range::POSITIVE
            => source: "draft-briscoe-conex-re-ecn-motiv-03, appendix B.2: at most the root of 3/2; with delayed ACKs the root of 3/4";
        /// Initial fill of a flow's bucket in seconds.
        start: Option<f64> = Duration, Absent("20 s with rule tcp-rate"), Range::NOT_NEGATIVE
            => source: "our choice; more than 3.5 T / k, the cost of the first packets of every flow";
        /// Bucket size in seconds, and maximum debt.
        most: Option<f64> = Duration, Absent("400 s with rule tcp-rate"), Range::POSITIVE
            => source: "our choice; at least 1.5 sqrt(N) T / k, for the longest spacing N of reports";
        /// Charge once per round trip. Further reports count as packets and are charged with the next one.
        event_merge: Option<bool> = Flag, Absent("true with rule tcp-rate")
            => source: "our choice: TCP reacts once per round trip (RFC 3168 section 6.1.2); false is the \
                        draft's";
        /// Round-trip time T of TCP's rate; with rtt_from, its initial value.
        rtt: Option<f64> = Duration, Absent("1 s before the first measurement, with the rules by rate"), Range::POSITIVE
            => source: "RFC 6298 section 2.1";
        /// Source of T. `given`: the parameter rtt. `base`: delays of the flow's path. `handshake`: SYN or
        /// SYN-ACK and the flow's next packet. `srtt`: the sender's measurement. `report`: the round-trip
        /// time from a congestion-controller upstream.
        rtt_from: Option<RttFrom> = RttFrom::TYPE, Absent("given if rtt is set, else handshake")
            => source: "Zhang et al. 2011, section II, leave it open";
        /// Token rate of a second bucket for credit (FNE) only, with rule volume.
        credit_rate: Option<Value> = RateOrPacketRate, Absent("no second bucket"), Range::POSITIVE
            => source: "draft-briscoe-conex-re-ecn-motiv-03, appendix B.1";
        /// Size of the second bucket.
        credit_depth: Option<Value> = PacketsOrBytes, Absent("required with credit_rate"), Range::POSITIVE
            => source: "draft-briscoe-conex-re-ecn-motiv-03, appendix B.1";
        /// Time for which the owner of an empty bucket is blocked.
        block_for: Option<Duration> = Duration, Absent("indefinitely, with action block"), Range::POSITIVE
            => source: "Zhang et al. 2011, section II";
        /// Bucket of flows whose first packet is not credit: a common one, or one for each flow.
        strangers: Option<Strangers> = Strangers::TYPE, Absent("together with re-ECN's rules, by flow")
            => source: "draft-briscoe-conex-re-ecn-motiv-03, appendix B.2";
        /// Time after which a silent flow is forgotten.
        idle: Option<f64> = Duration, Absent("60 s with re-ECN's rules, by flow"), Range::POSITIVE
            => source: "draft-wagner-conex-audit-02 section 2.2";
    }
}

/// Where it has the round-trip time from.
pub const RTT_FROM: Key<Option<RttFrom>> = Given::rtt_from;

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "congestion-policer",
    room: Room::Stage,
    traits: Traits { place: Place::Ingress, accounts: true, ..Mechanism::PLAIN },
    title: "Congestion policer",
    example: r#"groups.users.path = ["policer", "bottleneck"]

[stages.policer]
kind = "congestion-policer"
per = "user"
rate = "120 packets/s"
depth = "45 packets""#,
    doc: "Charges the congestion that a user's packets report (ConEx) to one token bucket for all flows of \
          the user. When the tokens are used up, it drops, marks or reclassifies the user's ConEx packets. \
          Give it per = \"user\". Segments without data are never policed.",
    source: "RFC 7713 section 5.4.3; Sanhaji et al. 2015, section III-F (bucket); Zhang et al. 2011, section II, draft-briscoe-conex-re-ecn-motiv-03, \
             appendix B (tcp-rate, rate-bytes, volume)",
    params: Given::PARAMS,
    observables: View::OBSERVABLES,
    counters: &[
        Counter::new("congestion_policed", "The user caused more congestion than its tokens cover."),
        Counter::new("blocked", "The owner of the bucket is blocked."),
        Counter::new("credit_policed", "The second bucket has no token for credit."),
    ],
    deviations: &[
        Deviation {
            what: "The bucket fills continuously from the start of the run, also while the user is silent.",
            why: "The paper does not define this; a periodic refill would add its own bursts.",
        },
        Deviation {
            what: "Rule bucket has one bucket. Rule volume may have a second one for credit (credit_rate, \
                   credit_depth).",
            why: "RFC 7713 section 5.4.3 and draft-briscoe-conex-policing-01 section 3 recommend a second, \
                  shallow one; the paper has one.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use evenflow_base::codepoint::CODEPOINTS;
    use evenflow_base::packet::ip;

    use super::*;
    use crate::Stepper;

    /// Five tokens, one a second, mild; in packets.
    fn params() -> Params {
        Params {
            unit: Unit::Packets,
            rate: 1.0,
            depth: 5.0,
            level: 5.0,
            harshness: Harshness::Mild,
            charge: Charge::Arrival,
            floor: false,
            action: Action::Drop,
            credit: false,
            cancelled: true,
            legacy: false,
            bits: false,
        }
    }

    fn packet(codepoint: Codepoint) -> Packet {
        let mut packet = Packet { ip: ip::DATAGRAM, ..Packet::new(0, 1500, 1472) }.with_ecn(codepoint.ecn());
        packet.set_re(codepoint.re());
        packet
    }

    /// What becomes of a packet, and the tokens after it.
    fn meet(policer: &mut CongestionPolicer, codepoint: Codepoint, seconds: f64) -> (Pass, f64) {
        let now = Time::from_seconds(seconds);
        let pass = policer.forward(&mut packet(codepoint), &mut Stepper::new(1).cx(now));
        (pass, policer.observe("tokens", now).expect("it is known"))
    }

    const DROP: Pass = Pass::Drop(Reason::CongestionPoliced);

    /// Figure 6 at its corners. At d = 5 the mild function spans half a packet.
    #[test]
    fn each_drop_function_at_its_corners() {
        let at = |harshness: Harshness, depth: f64, levels: [f64; 6]| {
            levels.map(|level| harshness.probability(level, depth))
        };
        let d5 = [5.0, 1e-9, 0.0, -0.25, -0.5, -5.0];
        assert_eq!(at(Harshness::Strict, 5.0, d5), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(at(Harshness::Mild, 5.0, d5), [0.0, 0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(at(Harshness::Soft, 5.0, d5), [0.0, 0.0, 0.0, 0.05, 0.1, 1.0]);
        let d45 = [45.0, 0.5, -2.25, -4.5, -22.5, -45.0];
        assert_eq!(at(Harshness::Strict, 45.0, d45), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(at(Harshness::Mild, 45.0, d45), [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(at(Harshness::Soft, 45.0, d45), [0.0, 0.0, 0.05, 0.1, 0.5, 1.0]);
        assert_eq!(
            [Harshness::Strict, Harshness::Mild, Harshness::Soft].map(|h| h.end(45.0)),
            [0.0, 4.5, 45.0]
        );
    }

    /// Table I: what each codepoint costs, and which of them an empty bucket drops.
    #[test]
    fn the_eight_rows_of_table_i() {
        use Codepoint::{Cancelled, Credit, Legacy, Negative, NotCapable, NotMarked, ReEcho, Unused};
        let costs = |params: Params| {
            CODEPOINTS.map(|codepoint| 5.0 - meet(&mut CongestionPolicer::new(params), codepoint, 0.0).1)
        };
        assert_eq!(CODEPOINTS, [NotCapable, Credit, ReEcho, NotMarked, Legacy, Unused, Cancelled, Negative]);
        assert_eq!(costs(params()), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(costs(Params { credit: true, ..params() }), [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(costs(Params { cancelled: false, ..params() }), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let dropped = |params: Params| {
            let broke = Params { harshness: Harshness::Strict, level: 0.0, ..params };
            CODEPOINTS.map(|codepoint| meet(&mut CongestionPolicer::new(broke), codepoint, 0.0).0 == DROP)
        };
        let conex = [false, true, true, true, false, false, true, true];
        assert_eq!(dropped(params()), conex);
        assert_eq!(dropped(Params { legacy: true, ..params() }), [true; 8]);
        let without = [false, true, true, true, false, false, false, true];
        assert_eq!(dropped(Params { cancelled: false, ..params() }), without);
    }

    /// Dossier M5, P1 with d = 2, strict: 2, 1, 0 (dropped), 0.5 after half a second (passes unmarked), -0.5 (dropped), 0.5.
    #[test]
    fn charged_on_arrival_the_debt_grows() {
        let mut policer = CongestionPolicer::new(Params {
            depth: 2.0,
            level: 2.0,
            harshness: Harshness::Strict,
            ..params()
        });
        let report = Codepoint::ReEcho;
        assert_eq!(meet(&mut policer, report, 0.0), (Pass::On, 1.0));
        assert_eq!(meet(&mut policer, report, 0.0), (DROP, 0.0));
        assert_eq!(meet(&mut policer, Codepoint::NotMarked, 0.5), (Pass::On, 0.5));
        assert_eq!(meet(&mut policer, report, 0.5), (DROP, -0.5));
        for _ in 0..9 {
            assert_eq!(meet(&mut policer, report, 0.5).0, DROP);
        }
        assert_eq!(policer.observe("tokens", Time::from_seconds(0.5)), Some(-9.5));
        assert_eq!(meet(&mut policer, Codepoint::NotMarked, 10.0), (DROP, 0.0));
        assert_eq!(meet(&mut policer, Codepoint::NotMarked, 10.25), (Pass::On, 0.25));
        let seen = |name| policer.observe(name, Time::from_seconds(99.0));
        assert_eq!((seen("tokens"), seen("least_tokens")), (Some(2.0), Some(-9.5)));
        assert_eq!((seen("reports"), seen("congestion_volume")), (Some(12.0), Some(18_000.0)));
        assert_eq!((seen("arrived"), seen("policed"), seen("charged")), (Some(15.0), Some(12.0), Some(12.0)));
        assert_eq!(seen("first_drop"), Some(0.0));
    }

    /// P2: what is dropped costs nothing, so that the bucket stands half a packet or less below zero.
    #[test]
    fn charged_when_they_pass_the_debt_is_at_most_a_packet() {
        let mut policer = CongestionPolicer::new(Params {
            level: 0.5,
            charge: Charge::Pass,
            harshness: Harshness::Strict,
            ..params()
        });
        assert_eq!(meet(&mut policer, Codepoint::ReEcho, 0.0), (Pass::On, -0.5));
        assert_eq!(meet(&mut policer, Codepoint::ReEcho, 0.0), (DROP, -0.5));
        assert_eq!(meet(&mut policer, Codepoint::NotMarked, 0.5), (DROP, 0.0));
        assert_eq!(meet(&mut policer, Codepoint::ReEcho, 0.75), (Pass::On, -0.75));
        assert_eq!(policer.observe("charged", Time::ZERO), Some(2.0));
    }

    /// P3: the debt ends where the drop function does: -0, -0.5 and -5 of five tokens.
    #[test]
    fn the_floor_is_the_end_of_the_drop_function() {
        for (harshness, floor) in [(Harshness::Strict, 0.0), (Harshness::Mild, -0.5), (Harshness::Soft, -5.0)]
        {
            let mut policer = CongestionPolicer::new(Params { floor: true, harshness, ..params() });
            for _ in 0..20 {
                meet(&mut policer, Codepoint::ReEcho, 0.0);
            }
            assert_eq!(policer.observe("least_tokens", Time::ZERO), Some(floor), "{harshness:?}");
        }
    }

    /// The paper's byte mode: 1 packet/s is 12 kbit/s, 5 packets are 7,500 B.
    #[test]
    fn in_bytes_a_report_costs_its_size() {
        let bytes = Params { unit: Unit::Bytes, rate: 1500.0, depth: 7500.0, level: 7500.0, ..params() };
        let mut policer = CongestionPolicer::new(bytes);
        assert_eq!(meet(&mut policer, Codepoint::ReEcho, 0.0), (Pass::On, 6000.0));
        let mut small = Packet { size: 100, ..packet(Codepoint::ReEcho) };
        let now = Time::from_seconds(0.5);
        assert_eq!(policer.forward(&mut small, &mut Stepper::new(1).cx(now)), Pass::On);
        assert_eq!(policer.observe("tokens", now), Some(6650.0));
        assert_eq!(policer.observe("congestion_volume", now), Some(1600.0));
    }

    /// A class and a mark instead of a drop; what a queue of RFC 3168 could not mark is dropped.
    #[test]
    fn picked_packets_get_a_class_or_a_mark() {
        let broke = Params { level: -1.0, harshness: Harshness::Strict, ..params() };
        let mut demoted = packet(Codepoint::NotMarked);
        let mut policer = CongestionPolicer::new(Params { action: Action::Class(3), ..broke });
        assert_eq!(policer.forward(&mut demoted, &mut Stepper::new(1).cx(Time::ZERO)), Pass::On);
        assert_eq!((demoted.class, policer.counts.policed), (3, 1));
        let marked = |codepoint| {
            let mut policer = CongestionPolicer::new(Params { action: Action::Mark, ..broke });
            let mut packet = packet(codepoint);
            let pass = policer.forward(&mut packet, &mut Stepper::new(1).cx(Time::ZERO));
            (pass, packet.codepoint())
        };
        let mark = Pass::Mark(Reason::CongestionPoliced);
        assert_eq!(marked(Codepoint::NotMarked), (mark, Codepoint::Negative));
        assert_eq!(marked(Codepoint::ReEcho), (mark, Codepoint::Cancelled));
        assert_eq!(marked(Codepoint::Negative), (Pass::On, Codepoint::Negative));
        assert_eq!(marked(Codepoint::Credit), (DROP, Codepoint::Credit));
    }

    /// RFC 7837 section 4: a packet is counted once for each of its bits; X alone, which RE stands for, costs nothing.
    #[test]
    fn each_bit_of_ipv6_is_charged() {
        let cost = |bits: u8, re: bool, credit: bool| {
            let mut policer = CongestionPolicer::new(Params { bits: true, credit, ..params() });
            let mut packet = Packet { ip: ip::DATAGRAM | bits, ..Packet::new(0, 1500, 1472) };
            packet.set_re(re);
            assert_eq!(policer.forward(&mut packet, &mut Stepper::new(1).cx(Time::ZERO)), Pass::On);
            (5.0 - policer.bucket.level, policer.counts.arrived, policer.counts.volume)
        };
        assert_eq!(cost(ip::LOSS | ip::MARK | ip::CREDIT, true, true), (3.0, 1, 3000));
        assert_eq!(cost(ip::LOSS | ip::MARK | ip::CREDIT, true, false), (2.0, 1, 3000));
        assert_eq!(cost(ip::MARK, true, false), (1.0, 1, 1500));
        assert_eq!(cost(0, true, true), (0.0, 1, 0));
        assert_eq!(cost(0, false, true), (0.0, 0, 0));
    }

    /// Acknowledgements and other segments without data are nobody's congestion.
    #[test]
    fn segments_without_data_pass() {
        let mut policer = CongestionPolicer::new(Params { level: -9.0, legacy: true, ..params() });
        let mut ack = packet(Codepoint::ReEcho);
        (ack.ip, ack.payload) = (ack.ip & !ip::DATAGRAM, 0);
        assert_eq!(policer.forward(&mut ack, &mut Stepper::new(1).cx(Time::ZERO)), Pass::On);
        assert_eq!((policer.counts.arrived, policer.counts.reports), (0, 0));
    }

    /// Where the share is a half, half are dropped.
    #[test]
    fn the_share_is_dropped_at_random() {
        let level = |policer: &mut CongestionPolicer| policer.bucket.level = -0.25;
        let (mut policer, mut by_hand) =
            (CongestionPolicer::new(Params { rate: 0.0, ..params() }), Stepper::new(1));
        for _ in 0..10_000 {
            level(&mut policer);
            let _ = policer.forward(&mut packet(Codepoint::NotMarked), &mut by_hand.cx(Time::ZERO));
        }
        assert!(policer.counts.policed.abs_diff(5_000) < 250, "{}", policer.counts.policed); // five standard errors of 50
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let word = |name: &'static str, word: &str| (name, Value::Word(word.into()));
        let mut values = Values(
            [
                ("rate", Value::PacketRate(45.0)),
                ("depth", Value::Bytes(67_500.0)),
                word("action", "class"),
                word("charge", "pass"),
                word("floor", "end"),
            ]
            .into_iter()
            .collect(),
        );
        let names = |problems: Vec<Problem>| problems.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(problems(&values)), ["depth", "floor", "class"]);
        values.0.insert("class", Value::Word("scavenger".into()));
        assert_eq!(class_given(&values, classifies(&values)), [("class", "scavenger".to_owned())]);
        assert_eq!(class_after(&values, classifies(&values), "be"), ["be", "scavenger"]);
        values.0.insert("action", Value::Word("drop".into()));
        assert_eq!(names(problems(&values)), ["depth", "floor", "class"]);
        assert_eq!(class_after(&values, classifies(&values), "be"), ["be"]);
    }
}
