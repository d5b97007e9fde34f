//! The two ends of a tunnel: the ingress adds an outer header, the egress removes it.
//!
//! Inside, a packet is longer and queues mark the outer header. [`evenflow_base::tunnel`] has the ECN rules.
//! Numbered tunnels show the egress the number of losses (3GPP TS 29.281 section 5.1). A tunnel has one
//! direction (RFC 6040); the reverse path needs another. Not modelled: fragments. Headers as bytes are in the
//! crate wire.

use std::collections::BTreeMap;

use evenflow_base::options::Outer;
use evenflow_base::schema::{
    Counter, Deviation, Mechanism, Mouth, Problem, Room, Traits, Value, Values, sound,
};
use evenflow_base::tunnel::{Alarm, FIELDS, Rules, alarm, decapsulate, encapsulate};
use evenflow_base::{Ecn, Heap, Packet, Reason, ip};

use crate::station::{Cx, Kind, Owner, Pass, Station};

/// The headers that have a name, and their bytes over IPv4: IP in IP (RFC 2003), GRE (RFC 2784), VXLAN with the Ethernet header in it
/// (RFC 7348), GTP-U without and with a sequence number (3GPP TS 29.281 section 5.1).
pub const OVERHEADS: [(&str, u16); 5] =
    [("ipip", 20), ("gre", 24), ("vxlan", 50), ("gtp-u", 36), ("gtp-u-sequence", 40)];

const NAMES: &[&str] = &[OVERHEADS[0].0, OVERHEADS[1].0, OVERHEADS[2].0, OVERHEADS[3].0, OVERHEADS[4].0];

/// The header that numbers packets.
const NUMBERED: &str = OVERHEADS[4].0;

words! {
    /// Treatment of the RE flag.
    pub enum Re {
        /// It is copied outward, and what arrives outside goes on inside.
        Copy = "copy",
        /// It stays inside; outside it is 0.
        Inner = "inner",
        /// The inner flag stays. The outer one is 1 with ECT(1), re-ECN's neutral code: the tunnel has
        /// separate accounts.
        Neutral = "neutral",
    }
}

impl Re {
    /// As given; an absent one follows the rules.
    fn given(re: Option<Re>, rules: Rules) -> Re {
        re.unwrap_or(if rules == Rules::Paper { Re::Neutral } else { Re::Copy })
    }
}

/// The bytes of the header that `values` describe.
fn overhead(values: &Values) -> f64 {
    match values.raw(Entrance::overhead) {
        Some(Value::Word(name)) => {
            OVERHEADS.iter().find(|(known, _)| known == name).map_or(0.0, |(_, bytes)| f64::from(*bytes))
        }
        Some(other) => other.bounds().1,
        None => 0.0,
    }
}

/// The configuration of an ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes of the header.
    pub bytes: u16,
    /// The header has a sequence number.
    pub numbered: bool,
    /// How the outer field is written.
    pub rules: Rules,
    /// Treatment of RE.
    pub re: Re,
    /// Bytes of the largest packet that fits, header included.
    pub largest: u16,
    /// The tunnel's number.
    pub tunnel: u32,
    /// The stage's number in the scenario.
    pub own: u16,
}

/// The end where packets go in.
#[derive(Clone, Debug)]
pub struct TunnelIngress {
    entry: Entry,
    next: u16,
    wrapped: u64,
    bytes: u64,
    marked_before: u64,
}

impl TunnelIngress {
    /// A tunnel through which nothing has gone. The first packet has the number 0.
    pub fn new(entry: Entry) -> TunnelIngress {
        TunnelIngress { entry, next: 0, wrapped: 0, bytes: 0, marked_before: 0 }
    }
}

impl Station for TunnelIngress {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let Entry { bytes, numbered, rules, re, largest, tunnel, own } = self.entry;
        if u32::from(packet.size) + u32::from(bytes) > u32::from(largest) {
            return Pass::Drop(Reason::TooBig);
        }
        let inner = packet.ecn();
        let field = encapsulate(rules, inner);
        let flag = match re {
            Re::Copy => packet.re(),
            Re::Inner => false,
            Re::Neutral => field == Ecn::Capable1,
        };
        let header = Outer {
            ip: field as u8 | if flag { ip::RE } else { 0 },
            numbered,
            by: own,
            tunnel,
            sequence: self.next,
            bytes,
            ..Outer::default()
        };
        if !cx.options.push_outer(packet, header) {
            return Pass::Drop(Reason::TooBig);
        }
        self.next = self.next.wrapping_add(1);
        self.wrapped += 1;
        self.bytes += u64::from(packet.size);
        self.marked_before += u64::from(inner == Ecn::Congestion);
        Pass::On
    }
}

impl Kind for TunnelIngress {
    fn build(values: &Values, owner: Owner) -> Result<TunnelIngress, Vec<Problem>> {
        sound(Self::problems(values))?;
        let given = Entrance::read(values);
        let tunnel = given.teid.map_or(owner.index + 1, |teid| teid + owner.copy);
        Ok(TunnelIngress::new(Entry {
            bytes: overhead(values) as u16,
            numbered: given.overhead.is_word(NUMBERED),
            rules: given.ecn,
            re: Re::given(given.re, given.ecn),
            largest: given.max_size.unwrap_or(65_535),
            tunnel,
            own: owner.stage,
        }))
    }

    fn grows(values: &Values) -> f64 {
        overhead(values)
    }

    fn problems(values: &Values) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        if let (Some(_), Some(largest)) =
            (values.raw(Entrance::overhead), values.raw(Entrance::max_size).map(|v| v.bounds().0))
            && largest <= overhead(values)
        {
            let why = format!("must exceed the header, {} B; no packet would fit", overhead(values));
            problems.push((Entrance::max_size.name, why));
        }
        if values.is(Entrance::re, Re::Neutral)
            && values.at(Entrance::ecn).is_some_and(|rules| rules != Rules::Paper)
        {
            let why = "\"neutral\" gives the tunnel separate accounts, which needs ecn = \"paper\"; nearest: \
                       \"inner\"";
            problems.push((Entrance::re.name, why.into()));
        }
        problems
    }
}

/// The numbers that have come through one tunnel, without the wrap of 16 bits.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// The highest that has come; `None`: nothing has.
    highest: Option<u64>,
    /// Numbers that are missing and may yet come.
    missing: Vec<u64>,
    lost: u64,
    late: u64,
}

/// The first number of a tunnel, unwrapped: so that one that comes before it is not less than zero.
const ORIGIN: u64 = 1 << 16;

impl Numbers {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.missing.heap_bytes()
    }

    /// A tunnel through which nothing has come.
    pub fn new() -> Numbers {
        Numbers { highest: None, missing: Vec::new(), lost: 0, late: 0 }
    }

    /// Missing for good.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Came after they had been given up.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// A packet with number `sequence` arrives. A missing number counts as lost after a number at least
    /// `reordering` higher. If a tunnel's first number is in its upper half, the tunnel was in use before,
    /// and earlier numbers do not count.
    pub fn arrive(&mut self, sequence: u16, reordering: u64) {
        self.arrive_telling(sequence, reordering, |_| ());
    }

    /// The same; `lost` is called with the number of each that is lost now.
    pub fn arrive_telling(&mut self, sequence: u16, reordering: u64, mut lost: impl FnMut(u64)) {
        let highest = match self.highest {
            Some(highest) => highest,
            None if sequence >= 0x8000 => {
                self.highest = Some(ORIGIN + u64::from(sequence));
                return;
            }
            None => ORIGIN - 1,
        };
        let step = sequence.wrapping_sub(highest as u16) as i16;
        let number = highest.saturating_add_signed(i64::from(step));
        if number <= highest {
            match self.missing.iter().position(|missing| *missing == number) {
                Some(at) => _ = self.missing.swap_remove(at),
                None => self.late += u64::from(number < highest),
            }
            return;
        }
        self.highest = Some(number);
        let before = self.missing.len();
        self.missing.retain(|missing| {
            let stays = missing + reordering > number;
            if !stays {
                lost(*missing);
            }
            stays
        });
        self.lost += (before - self.missing.len()) as u64;
        let young = (highest + 1).max((number + 1).saturating_sub(reordering)).min(number);
        self.lost += young - (highest + 1);
        (highest + 1..young).for_each(lost);
        self.missing.extend(young..number);
    }
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::new()
    }
}

/// The configuration of an egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How the two fields are put together.
    pub rules: Rules,
    /// Treatment of RE.
    pub re: Re,
    /// Numbers after a missing one by which it is lost.
    pub reordering: u32,
    /// The stage whose headers it takes off; absent: anyone's.
    pub from: Option<u16>,
}

/// The end where packets come out.
#[derive(Clone, Debug)]
pub struct TunnelEgress {
    exit: Exit,
    tunnels: BTreeMap<u32, Numbers>,
    unwrapped: u64,
    /// Packets by inner and outer field, as they arrived.
    pairs: [[u64; 4]; 4],
    /// Left marked, and were not inside.
    marks: u64,
    /// Went on without the mark that was outside.
    marks_lost: u64,
}

impl TunnelEgress {
    /// An egress that has seen nothing.
    pub fn new(exit: Exit) -> TunnelEgress {
        TunnelEgress {
            exit,
            tunnels: BTreeMap::new(),
            unwrapped: 0,
            pairs: [[0; 4]; 4],
            marks: 0,
            marks_lost: 0,
        }
    }

    fn pair(&self, inner: Ecn, outer: Ecn) -> u64 {
        self.pairs[inner as usize][outer as usize]
    }

    /// Packets whose pair of fields RFC 6040 gives this alarm.
    fn alarmed(&self, wanted: Alarm) -> u64 {
        let all = FIELDS.iter().flat_map(|inner| FIELDS.iter().map(move |outer| (*inner, *outer)));
        all.filter(|(inner, outer)| alarm(*inner, *outer) == wanted).map(|(i, o)| self.pair(i, o)).sum()
    }

    /// Marks that were made inside, among packets that came in unmarked (RFC 6040 appendix C).
    fn congestion(&self) -> f64 {
        let marked_before: u64 = self.pairs[Ecn::Congestion as usize].iter().sum();
        let unmarked = self.unwrapped - marked_before;
        if unmarked == 0 { 0.0 } else { self.marked_inside() as f64 / unmarked as f64 }
    }

    fn sum(&self, of: fn(&Numbers) -> u64) -> u64 {
        self.tunnels.values().map(of).sum()
    }

    fn marked_inside(&self) -> u64 {
        [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1]
            .iter()
            .map(|inner| self.pair(*inner, Ecn::Congestion))
            .sum()
    }
}

impl Station for TunnelEgress {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let by = cx.options.of(packet).outermost_by();
        // A packet that another stage has made inside the tunnel has no header of it.
        if by.is_none() || self.exit.from.is_some_and(|from| by != Some(from)) {
            return Pass::On;
        }
        let Some(header) = cx.options.pop_outer(packet) else { return Pass::On };
        if header.numbered {
            let reordering = u64::from(self.exit.reordering);
            self.tunnels.entry(header.tunnel).or_default().arrive(header.sequence, reordering);
        }
        self.unwrapped += 1;
        let (inner, outer) = (packet.ecn(), header.ecn());
        self.pairs[inner as usize][outer as usize] += 1;
        let Some(field) = decapsulate(self.exit.rules, inner, outer) else {
            return Pass::Drop(Reason::Unmarkable);
        };
        let marked = outer == Ecn::Congestion && inner != Ecn::Congestion;
        self.marks += u64::from(marked && field == Ecn::Congestion);
        self.marks_lost += u64::from(marked && field != Ecn::Congestion);
        packet.set_ecn(field);
        if self.exit.re == Re::Copy {
            packet.set_re(header.re());
        }
        Pass::On
    }

    fn heap_bytes(&self) -> u64 {
        let missing = self.tunnels.values().map(Numbers::heap_bytes).sum::<u64>();
        missing + self.tunnels.heap_bytes()
    }
}

impl Kind for TunnelEgress {
    fn build(values: &Values, owner: Owner) -> Result<TunnelEgress, Vec<Problem>> {
        let given = Outlet::read(values);
        Ok(TunnelEgress::new(Exit {
            rules: given.ecn,
            re: Re::given(given.re, given.ecn),
            reordering: given.reordering,
            from: owner.peer,
        }))
    }
}

params! {
    /// The parameters of the ingress.
    #[derive(Clone, Debug)]
    pub struct Entrance {
        /// Size of the header: 20 B (ipip), 24 B (gre), 50 B (vxlan, with the inner Ethernet header), 36 B
        /// (gtp-u), 40 B (gtp-u-sequence, which numbers packets), or a number of bytes.
        overhead: Value = BytesOr(NAMES), Text("ipip"), Range::between(1.0, 1000.0)
            => source: "RFC 2003, RFC 2784, RFC 7348, 3GPP TS 29.281 section 5.1";
        /// Rules for the outer ECN field.
        ecn: Rules = Rules::TYPE, Text("rfc6040")
            => source: "RFC 6040 figures 1 and 3; Zhang et al. 2011 section 2.2";
        /// Treatment of the RE flag of re-ECN and ConEx. `copy`: outward and back. `inner`: the inner flag
        /// stays, the outer one is 0. `neutral`: the inner flag stays, the outer header has re-ECN's neutral
        /// code. With the last two, the egress keeps the inner flag.
        re: Option<Re> = Re::TYPE, Absent("copy; neutral with ecn = \"paper\"")
            => source: "no tunnel RFC covers it; neutral: Zhang et al. 2011 section 2.2";
        /// Maximum packet size with the header; larger packets are dropped.
        max_size: Option<u16> = Bytes, Absent("65535 B"), Range::PACKET_SIZE => source: "RFC 791 section 3.1";
        /// Tunnel number in traces. Further copies of the stage get the following numbers.
        teid: Option<u32> = Integer, Absent("assigned automatically"), Range::between(1.0, 4_294_967_295.0)
            => source: "3GPP TS 29.281 section 5.1";
    }
}

observables! {
    TunnelIngress: tunnel, _now;
    wrapped: "packets", "Packets in." => tunnel.wrapped;
    wrapped_bytes: "B", "Bytes in, with the header." => tunnel.bytes;
    marked_before: "packets", "Packets that were marked on arrival." => tunnel.marked_before;
}

/// The table of the ingress.
pub static INGRESS: Mechanism = Mechanism {
    kind: "tunnel-ingress",
    room: Room::Stage,
    traits: Traits { peers: &["tunnel-egress"], mouth: Some(Mouth::Ingress), ..Mechanism::PLAIN },
    title: "Tunnel ingress",
    example: r#"groups.users.path = ["into", "bottleneck", "out"]

[stages]
into = { kind = "tunnel-ingress", peer = "out", overhead = "gtp-u" }
out = { kind = "tunnel-egress", peer = "into", ecn = "rfc6040" }"#,
    doc: "Adds an outer header to packets until its peer removes it. Queues mark the outer ECN field. \
          Queues, links and meters inside the tunnel count the longer packet.",
    source: "RFC 6040; 3GPP TS 29.281 section 5.1; Zhang et al. 2011 section 2.2",
    params: Entrance::PARAMS,
    observables: TunnelIngress::OBSERVABLES,
    counters: &[Counter::new("too_big", "The packet with its header exceeded max_size.")],
    deviations: &[Deviation {
        what: "A packet that is too large is dropped, without fragmentation and without a message to the \
               sender.",
        why: "RFC 9601 section 5 has separate rules for fragments. Path MTU discovery is not modelled.",
    }],
};

params! {
    /// The parameters of the egress.
    #[derive(Clone, Debug)]
    pub(crate) struct Outlet {
        /// Rules that combine the inner and the outer ECN field.
        ecn: Rules = Rules::TYPE, Text("rfc6040")
            => source: "RFC 6040 figures 2 and 4; Zhang et al. 2011 section 2.2";
        /// Treatment of the RE flag of re-ECN and ConEx. `copy`: outward and back. `inner`: the inner flag
        /// stays, the outer one is 0. `neutral`: the inner flag stays, the outer header has re-ECN's neutral
        /// code. With the last two, the egress keeps the inner flag.
        re: Option<Re> = Re::TYPE, Absent("copy; neutral with ecn = \"paper\"")
            => source: "no tunnel RFC covers it; neutral: Zhang et al. 2011 section 2.2";
        /// Later numbers after which a missing one counts as lost.
        reordering: u32 = Integer, Text("3"), Range::between(1.0, 1000.0)
            => source: "RFC 5681 section 3.2: three duplicate acknowledgements";
    }
}

observables! {
    TunnelEgress: tunnel, _now;
    unwrapped: "packets", "Packets out, including those dropped at the egress." => tunnel.unwrapped;
    marks: "packets", "Packets marked inside the tunnel." => tunnel.marks;
    marks_lost: "packets", "Packets that left unmarked although the outer header was marked."
        => tunnel.marks_lost;
    marked_inside: "packets", "Packets marked on the outer header only." => tunnel.marked_inside();
    congestion: "1",
        "Share of packets marked inside the tunnel among those unmarked at the ingress: congestion of the \
        tunnel (RFC 6040 appendix C)."
        => tunnel.congestion();
    not_ect_in_ect0: "packets", "Not-ECT inside, ECT(0) outside: unused, always dangerous."
        => tunnel.pair(Ecn::NotCapable, Ecn::Capable0);
    not_ect_in_ect1: "packets", "Not-ECT inside, ECT(1) outside: unused, always dangerous."
        => tunnel.pair(Ecn::NotCapable, Ecn::Capable1);
    not_ect_in_ce: "packets", "Not-ECT inside, CE outside: unused, always dangerous."
        => tunnel.pair(Ecn::NotCapable, Ecn::Congestion);
    ce_in_ect1: "packets", "CE inside, ECT(1) outside: unused, always dangerous."
        => tunnel.pair(Ecn::Congestion, Ecn::Capable1);
    ect1_in_ect0: "packets", "ECT(1) inside, ECT(0) outside: unused, possibly dangerous."
        => tunnel.pair(Ecn::Capable1, Ecn::Capable0);
    dangerous: "packets", "All combinations that RFC 6040 calls always potentially dangerous."
        => tunnel.alarmed(Alarm::Dangerous);
    possibly_dangerous: "packets", "All combinations that RFC 6040 calls possibly dangerous."
        => tunnel.alarmed(Alarm::PossiblyDangerous);
    lost: "packets", "Missing numbers; 0 for packets without numbers." => tunnel.sum(Numbers::lost);
    late: "packets", "Packets that arrived after they had been counted as lost, or twice."
        => tunnel.sum(Numbers::late);
}

/// The table of the egress.
pub static EGRESS: Mechanism = Mechanism {
    kind: "tunnel-egress",
    room: Room::Stage,
    traits: Traits { peers: &["tunnel-ingress"], mouth: Some(Mouth::Egress), ..Mechanism::PLAIN },
    title: "Tunnel egress",
    example: r#"groups.users.path = ["into", "bottleneck", "out"]

[stages]
into = { kind = "tunnel-ingress", peer = "out", overhead = "gtp-u" }
out = { kind = "tunnel-egress", peer = "into", ecn = "rfc6040" }"#,
    doc: "Removes the outer header of its peer and combines the two ECN fields. Counts unused and dangerous \
          combinations (RFC 6040), lost marks, and missing numbers.",
    source: "RFC 6040 figure 4; 3GPP TS 29.281 section 5.1; Zhang et al. 2011 section 2.2",
    params: Outlet::PARAMS,
    observables: TunnelEgress::OBSERVABLES,
    counters: &[Counter::new(
        "unmarkable",
        "The outer header was marked, and the inner packet is not ECN-capable (RFC 6040 figure 4).",
    )],
    deviations: &[Deviation {
        what: "A mark passes from one tunnel to the next only through the inner ECN field. If that packet is \
               not ECN-capable, the egress drops it or ignores the mark, by its rule.",
        why: "RFC 9599 section 4.5 lets an S-GW copy outer to outer and inner to inner. Model such a chain \
              as one tunnel from end to end.",
    }],
};

#[cfg(test)]
mod tests {
    use evenflow_base::Time;
    use proptest::prelude::*;

    use super::*;
    use crate::Stepper;

    fn entry(rules: Rules) -> Entry {
        Entry { bytes: 40, numbered: true, rules, re: Re::Copy, largest: 1540, tunnel: 7, own: 2 }
    }

    fn exit(rules: Rules) -> Exit {
        Exit { rules, re: Re::Copy, reordering: 3, from: Some(2) }
    }

    fn packet(field: Ecn, re: bool) -> Packet {
        let mut packet = Packet { seq: 9, ..Packet::new(0, 1500, 1448) }.with_ecn(field);
        packet.set_re(re);
        packet
    }

    fn seen(egress: &TunnelEgress, name: &str) -> f64 {
        egress.observe(name, Time::ZERO).expect("it is known")
    }

    /// All sixteen pairs by all rules, through both ends: what the queue leaves outside is what the table says, and what is inside is
    /// hidden until it comes out.
    #[test]
    fn every_pair_comes_out_as_the_table_has_it() {
        for name in Rules::WORDS {
            let rules = Rules::of(name);
            for inner in FIELDS {
                for outer in FIELDS {
                    let mut by_hand = Stepper::new(1);
                    let mut egress = TunnelEgress::new(exit(rules));
                    let mut p = packet(inner, false);
                    let mut ingress = TunnelIngress::new(entry(rules));
                    assert_eq!(ingress.forward(&mut p, &mut by_hand.cx(Time::ZERO)), Pass::On);
                    assert_eq!((p.ecn(), p.size), (encapsulate(rules, inner), 1540), "{name} {inner:?}");
                    p.set_ecn(outer);
                    let pass = egress.forward(&mut p, &mut by_hand.cx(Time::ZERO));
                    assert_eq!(seen(&egress, "unwrapped"), 1.0);
                    assert_eq!(p.size, 1500);
                    match decapsulate(rules, inner, outer) {
                        None => {
                            assert_eq!(pass, Pass::Drop(Reason::Unmarkable), "{name} {inner:?} {outer:?}")
                        }
                        Some(field) => {
                            assert_eq!((pass, p.ecn()), (Pass::On, field), "{name} {inner:?} {outer:?}")
                        }
                    }
                    let dangerous = f64::from(u8::from(alarm(inner, outer) == Alarm::Dangerous));
                    assert_eq!(seen(&egress, "dangerous"), dangerous);
                }
            }
        }
    }

    /// Dossier 2.18: 65534, 65535, 1: one is missing, 0; and one that is only late is not.
    #[test]
    fn numbers_wrap_and_what_is_missing_is_counted() {
        let lost = |numbers: &[u16]| {
            let mut all = Numbers::new();
            numbers.iter().for_each(|number| all.arrive(*number, 3));
            (all.lost, all.late)
        };
        assert_eq!(lost(&[65_534, 65_535, 1, 2]), (0, 0), "0 may yet come");
        assert_eq!(lost(&[65_534, 65_535, 1, 2, 3]), (1, 0));
        assert_eq!(lost(&[65_534, 65_535, 1, 2, 0, 3, 4]), (0, 0));
        assert_eq!(lost(&[0, 1, 2, 9]), (4, 0), "3 to 6; 7 and 8 may come");
        assert_eq!(lost(&[3, 4, 5, 6]), (3, 0), "the first ones");
        assert_eq!(lost(&[0, 5, 6, 2]), (3, 1), "given up, and came");
    }

    #[test]
    fn a_packet_that_would_be_too_big_is_dropped_and_takes_no_number() {
        let mut by_hand = Stepper::new(1);
        let mut ingress = TunnelIngress::new(entry(Rules::Rfc6040));
        let mut large = Packet { size: 1501, ..packet(Ecn::Capable0, false) };
        assert_eq!(ingress.forward(&mut large, &mut by_hand.cx(Time::ZERO)), Pass::Drop(Reason::TooBig));
        assert_eq!((large.size, ingress.next, by_hand.options.len()), (1501, 0, 0));
    }

    /// RE both ways, or left inside; the paper's outer header is neutral.
    #[test]
    fn re_is_carried_or_left_inside() {
        let through = |rules: Rules, re: Re, inner: bool, cleared: bool| {
            let mut by_hand = Stepper::new(1);
            let mut p = packet(Ecn::Capable1, inner);
            let _ =
                TunnelIngress::new(Entry { re, ..entry(rules) }).forward(&mut p, &mut by_hand.cx(Time::ZERO));
            let outside = p.re();
            if cleared {
                p.set_re(false);
            }
            let _ =
                TunnelEgress::new(Exit { re, ..exit(rules) }).forward(&mut p, &mut by_hand.cx(Time::ZERO));
            (outside, p.re())
        };
        assert_eq!(through(Rules::Rfc6040, Re::Copy, true, false), (true, true));
        assert_eq!(through(Rules::Rfc6040, Re::Copy, true, true), (true, false));
        assert_eq!(through(Rules::Rfc6040, Re::Inner, true, true), (false, true));
        assert_eq!(through(Rules::Paper, Re::Neutral, false, false), (true, false));
        assert_eq!(through(Rules::Paper, Re::Neutral, false, true), (true, false));
    }

    /// A stage inside the tunnel makes a packet; an egress of another tunnel meets one of this: both leave it alone.
    #[test]
    fn only_its_own_header_is_taken_off() {
        let mut by_hand = Stepper::new(1);
        let mut egress = TunnelEgress::new(exit(Rules::Rfc6040));
        let mut bare = packet(Ecn::Congestion, false);
        assert_eq!(egress.forward(&mut bare, &mut by_hand.cx(Time::ZERO)), Pass::On);
        let mut other = TunnelIngress::new(Entry { own: 5, ..entry(Rules::Rfc6040) });
        let mut p = packet(Ecn::Capable0, false);
        let _ = other.forward(&mut p, &mut by_hand.cx(Time::ZERO));
        let _ = egress.forward(&mut p, &mut by_hand.cx(Time::ZERO));
        assert_eq!((p.size, seen(&egress, "unwrapped")), (1540, 0.0));
    }

    /// RFC 6040 appendix C: of 100 packets 30 came in marked and 12 of the others were marked inside: 12 of 70, 17 %.
    #[test]
    fn congestion_inside_the_tunnel() {
        let (mut by_hand, mut egress) = (Stepper::new(1), TunnelEgress::new(exit(Rules::Rfc6040)));
        let mut ingress = TunnelIngress::new(entry(Rules::Rfc6040));
        for n in 0..100 {
            let mut p = packet(if n < 30 { Ecn::Congestion } else { Ecn::Capable0 }, false);
            let _ = ingress.forward(&mut p, &mut by_hand.cx(Time::ZERO));
            if n >= 88 {
                p.set_ecn(Ecn::Congestion);
            }
            let _ = egress.forward(&mut p, &mut by_hand.cx(Time::ZERO));
            by_hand.options.release(&mut p);
        }
        assert_eq!((seen(&egress, "congestion"), seen(&egress, "marks")), (12.0 / 70.0, 12.0));
        assert!(by_hand.options.is_empty());
    }

    proptest! {
        /// Whatever is lost or changes its order by less than the window: what was sent is what came and what is lost, after three more.
        #[test]
        fn lost_and_come_are_all_that_were_sent(fates in prop::collection::vec(0u8..10, 1..400), start in 0u16..2) {
            let first = if start == 0 { 0 } else { 65_400u16 };
            let mut numbers = Numbers::new();
            let (mut lost, mut held): (u64, Option<u16>) = (0, None);
            numbers.arrive(first, 3);
            for (n, fate) in fates.iter().enumerate() {
                let number = first.wrapping_add(1 + n as u16);
                match fate {
                    0 | 1 => lost += 1,
                    // One is overtaken by the next that comes.
                    2 if held.is_none() && fates.get(n + 1).is_some_and(|next| *next > 2) => held = Some(number),
                    _ => {
                        numbers.arrive(number, 3);
                        if let Some(late) = held.take() {
                            numbers.arrive(late, 3);
                        }
                    }
                }
            }
            for n in 0..3 {
                numbers.arrive(first.wrapping_add(1 + fates.len() as u16 + n), 3);
            }
            prop_assert_eq!((numbers.lost, numbers.late), (lost, 0));
            prop_assert!(numbers.missing.is_empty());
        }
    }
}
