//! Congestion controller at a network's ingress, the sending end of re-ECN's loop (Zhang et al. 2011 section
//! III.B, steps 3 to 5: the PDN gateway).
//!
//! It receives reports of congestion from its peer, and declares each reported packet on the outer header of
//! a later one (Re-Echo). Other packets are RECT, or FNE for credit. A report's list assigns the congestion
//! to flows; without a list it is shared by bytes. With `split` the gateway also sets ECE on ACKs to senders
//! without ECN. Policers behind it use the reported round-trip time ([`crate::reecn_policer`]);
//! [`crate::congestion_reporter`] makes the reports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenflow_base::schema::{Deviation, Mechanism, Problem, Room, Traits, Values, Ways};
use evenflow_base::{Codepoint, Duration, Ecn, Heap, Packet, Time, flags};

use crate::congestion_reporter::{self, Report};
use crate::station::{Cx, Kind, Owner, Pass, Station};
use crate::{Kept, Message, mean};

/// The declarations of a bearer or flow.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Undeclared congestion in packets.
    owed: f64,
    sent: u64,
    last: Time,
}

/// Rounding error of a sum of packet shares.
const ROUNDING: f64 = 1e-9;
/// A first packet after this is a start (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.6).
const PAUSE: Duration = Duration(1_000_000_000);

impl Account {
    /// The codepoint of the packet that leaves at `now`.
    fn say(&mut self, now: Time) -> Codepoint {
        let idle = self.sent > 0 && now.since(self.last) > PAUSE;
        self.sent += 1;
        self.last = now;
        if self.owed > 1.0 - ROUNDING {
            self.owed -= 1.0;
            Codepoint::ReEcho
        } else if idle || self.sent == 1 || self.sent == 3 {
            Codepoint::Credit
        } else {
            Codepoint::NotMarked
        }
    }
}

/// A packet that was sent and may be in a report.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    flow: u64,
    size: u16,
    at: Time,
}

/// The most that is remembered of a bearer: the numbers of 16 bits.
const MOST: usize = 1 << 16;
/// How long before the last that came a number may still be listed: more than any sound `reordering`.
const SLACK: u64 = 1024;

/// A bearer, that is a tunnel.
#[derive(Clone, Debug, Default)]
struct Bearer {
    account: Account,
    sent: VecDeque<Sent>,
    /// The last number; absent: nothing was sent.
    newest: Option<u64>,
    /// The last number that a report has covered.
    covered: u64,
    /// Counters of the last report: received, marked, lost.
    known: (u64, u64, u64),
    rtt: Option<Duration>,
}

impl Bearer {
    /// Notes a packet; `sequence` is its number in the tunnel.
    fn note(&mut self, sequence: Option<u16>, flow: u64, size: u16, at: Time) {
        let number = match (self.newest, sequence) {
            (None, sequence) => (1 << 16) + u64::from(sequence.unwrap_or(0)),
            (Some(newest), None) => newest + 1,
            (Some(newest), Some(sequence)) => newest + u64::from(sequence.wrapping_sub(newest as u16)),
        };
        if self.newest.is_none() {
            self.covered = number - 1;
        }
        self.newest = Some(number);
        if self.sent.len() == MOST {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { number, flow, size, at });
    }

    /// A number of 16 bits, of which the newest sent is the highest.
    fn number(&self, sequence: u16) -> u64 {
        let newest = self.newest.unwrap_or(1 << 16);
        newest - u64::from((newest as u16).wrapping_sub(sequence))
    }

    fn find(&self, number: u64) -> Option<Sent> {
        let at = self.sent.binary_search_by_key(&number, |sent| sent.number).ok()?;
        self.sent.get(at).copied()
    }
}

/// A flow.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    account: Account,
    /// The next acknowledgement tells of congestion.
    echo: bool,
    echoed: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reports: u64,
    stale: u64,
    marked: u64,
    lost: u64,
    received: u64,
    volume: f64,
    unlisted: f64,
    re_echoed: u64,
    credits: u64,
    echoes: u64,
}

impl Counts {
    fn congestion(&self) -> Option<f64> {
        let sent = self.received + self.lost;
        (sent > 0).then(|| (self.marked + self.lost) as f64 / sent as f64)
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct CongestionController {
    params: Params,
    bearers: BTreeMap<Option<u32>, Bearer>,
    flows: Kept<Flow>,
    counts: Counts,
}

/// How long a silent flow is remembered (draft-wagner-conex-audit-02 section 2.2).
const IDLE: Duration = Duration(60_000_000_000);

impl CongestionController {
    /// A controller that has seen nothing.
    pub fn new(params: Params) -> CongestionController {
        CongestionController {
            params,
            bearers: BTreeMap::new(),
            flows: Kept::new(Some(IDLE)),
            counts: Counts::default(),
        }
    }

    /// A report has come.
    fn hear(&mut self, report: &Report, now: Time) {
        let (flows, counts) = (&mut self.flows, &mut self.counts);
        let Some(bearer) = self.bearers.get_mut(&report.tunnel) else { return };
        counts.reports += 1;
        let (received, marked, lost) = bearer.known;
        if report.received.0 < received {
            counts.stale += 1; // overtaken by a later one, which has said all of it
            return;
        }
        let news = (report.marked.0.saturating_sub(marked)) + report.lost.saturating_sub(lost);
        counts.received += report.received.0 - received;
        counts.marked += report.marked.0.saturating_sub(marked);
        counts.lost += report.lost.saturating_sub(lost);
        bearer.known = (report.received.0, report.marked.0.max(marked), report.lost.max(lost));
        let last = report.last.map(|last| bearer.number(last));
        if let Some(sent) = last.and_then(|last| bearer.find(last)) {
            let sample = (now - sent.at).0.saturating_sub(report.held.0);
            // RFC 6298 section 2.3: an eighth of each sample.
            let smoothed = bearer.rtt.map_or(sample, |rtt| rtt.0 - rtt.0 / 8 + sample / 8);
            bearer.rtt = Some(Duration(smoothed));
        }
        bearer.account.owed += news as f64;
        let mut hit: BTreeSet<u64> = BTreeSet::new();
        let mut charge = |flow: u64, packets: f64| {
            flows.of(flow, now, Flow::default).account.owed += packets;
            hit.insert(flow);
        };
        let mut listed = 0.0;
        for number in report.list.iter().map(|sequence| bearer.number(*sequence)) {
            if let Some(sent) = bearer.find(number) {
                charge(sent.flow, 1.0);
                counts.volume += f64::from(sent.size);
                listed += 1.0;
            }
        }
        // Congestion that no list names is shared by bytes among the packets of this report.
        let rest = (news as f64 - listed).max(0.0);
        let upto = last.unwrap_or(u64::MAX);
        let until = |number: u64| bearer.sent.partition_point(|sent| sent.number <= number);
        let (from, to) = (until(bearer.covered), until(upto));
        let window = || bearer.sent.range(from..to.max(from));
        let (packets, bytes) =
            window().fold((0.0, 0.0), |(n, bytes), sent| (n + 1.0, bytes + f64::from(sent.size)));
        if rest > 0.0 && bytes > 0.0 {
            let mut shares: BTreeMap<u64, f64> = BTreeMap::new();
            window().for_each(|sent| *shares.entry(sent.flow).or_default() += f64::from(sent.size));
            shares.into_iter().for_each(|(flow, share)| charge(flow, rest * share / bytes));
            counts.volume += rest * bytes / packets;
        }
        counts.unlisted += rest;
        bearer.covered = bearer.covered.max(last.or(bearer.newest).unwrap_or(0));
        let kept = if report.last.is_some() { bearer.covered.saturating_sub(SLACK) } else { bearer.covered };
        while bearer.sent.front().is_some_and(|sent| sent.number <= kept) {
            bearer.sent.pop_front();
        }
        // Once a round trip of reports (Zhang et al. 2011 section III.B).
        let rtt = bearer.rtt.unwrap_or(Duration::ZERO);
        for flow in hit.into_iter().filter(|_| self.params.mode == Mode::Split) {
            let flow = flows.of(flow, now, Flow::default);
            if flow.echoed.is_none_or(|at| now.since(at) >= rtt) {
                (flow.echo, flow.echoed) = (true, Some(now));
            }
        }
    }
}

impl CongestionController {
    fn owed(&self) -> f64 {
        match self.params.account == AccountOf::Flow {
            true => self.flows.iter().map(|(_, flow)| flow.account.owed).sum(),
            false => self.bearers.values().map(|bearer| bearer.account.owed).sum(),
        }
    }
}

impl Station for CongestionController {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        if packet.is_of_stage() {
            return Pass::On;
        }
        let header = cx.options.of(packet).outermost();
        let bearer = self.bearers.entry(header.map(|header| header.tunnel)).or_default();
        let sequence = header.filter(|header| header.numbered).map(|header| header.sequence);
        bearer.note(sequence, cx.whose.flow, packet.size, cx.now);
        let account = match self.params.account == AccountOf::Flow {
            true => &mut self.flows.of(cx.whose.flow, cx.now, Flow::default).account,
            false => &mut bearer.account,
        };
        let says = account.say(cx.now);
        self.counts.re_echoed += u64::from(says == Codepoint::ReEcho);
        self.counts.credits += u64::from(says == Codepoint::Credit);
        // A mark that was made before stays.
        if packet.ecn() != Ecn::Congestion {
            packet.set_ecn(says.ecn());
        }
        packet.set_re(says.re());
        if let Some(rtt) = bearer.rtt {
            cx.options.tell_round_trip(packet, rtt);
        }
        Pass::On
    }

    fn backward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let answers = packet.is(flags::ACK) && !packet.is(flags::SYN | flags::RST);
        if self.params.mode == Mode::Split
            && answers
            && self.flows.get(cx.whose.flow).is_some_and(|flow| flow.echo)
        {
            self.flows.of(cx.whose.flow, cx.now, Flow::default).echo = false;
            packet.flags |= flags::ECE;
            self.counts.echoes += 1;
        }
        Pass::On
    }

    fn receive(&mut self, message: Message, cx: &mut Cx) {
        if let Message::Report(report) = message {
            self.hear(&report, cx.now);
        }
    }

    fn heap_bytes(&self) -> u64 {
        let sent = self.bearers.values().map(|bearer| bearer.sent.heap_bytes()).sum::<u64>();
        sent + self.bearers.heap_bytes() + self.flows.heap_bytes()
    }
}

impl Kind for CongestionController {
    fn build(values: &Values, _owner: Owner) -> Result<CongestionController, Vec<Problem>> {
        Ok(CongestionController::new(Params::read(values)))
    }
}

words! {
    pub enum Mode { Police = "police", Split = "split" }
}

words! {
    pub enum AccountOf { Bearer = "bearer", Flow = "flow" }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Params {
        /// Reaction for senders without ECN. `police`: policers behind the stage react. `split`: the stage
        /// sets ECE on one passing ACK per round trip of reports. It is for TCP senders at the gateway with
        /// ecn = "gateway".
        mode: Mode = Mode::TYPE, Text("police")
            => source: "Zhang et al. 2011 sections III.B and V leave the reaction open";
        /// Account of congestion and credit: that of the tunnel (bearer), or that of the flow that met it.
        account: AccountOf = AccountOf::TYPE, Text("bearer")
            => source: "Zhang et al. 2011 section III.B: congestion-volume of flow, user or customer";
    }
}

observables! {
    CongestionController: gateway, _now;
    congestion_volume: "B",
        "Bytes of packets reported as marked or lost, headers included. The controller ranks offenders by \
        it." => gateway.counts.volume;
    marked: "packets", "Packets reported as marked." => gateway.counts.marked;
    lost: "packets", "Packets reported as lost." => gateway.counts.lost;
    congestion: "1", "Share of packets marked or lost; null before the first report."
        => gateway.counts.congestion();
    re_echoed: "packets", "Packets that declared congestion (Re-Echo)." => gateway.counts.re_echoed;
    credits: "packets", "Packets of credit (FNE)." => gateway.counts.credits;
    owed: "packets", "Reported congestion that is not declared yet."
        => gateway.owed();
    reports: "packets", "Reports received." => gateway.counts.reports;
    stale: "packets", "Reports that a later one had overtaken." => gateway.counts.stale;
    unlisted: "packets", "Congestion that no list named, shared by bytes." => gateway.counts.unlisted;
    bearers: "tunnels", "Tunnels seen." => gateway.bearers.len();
    rtt: "s", "Mean round-trip time of reports over all tunnels; null before the first report."
        => mean(gateway.bearers.values().filter_map(|bearer| bearer.rtt).map(Duration::seconds));
    echoes: "packets", "ACKs on which it set ECE." => gateway.counts.echoes;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: congestion_reporter::PEER,
    traits: Traits {
        ways: Ways::Both,
        peers: &[congestion_reporter::KIND],
        accounts: true,
        ..Mechanism::PLAIN
    },
    title: "Congestion controller",
    example: r#"groups.users.path = ["gateway", "bottleneck", "report"]

[stages]
gateway = { kind = "congestion-controller", peer = "report" }
report = { kind = "congestion-reporter", peer = "gateway", every = "200 ms" }"#,
    doc: "Declares the congestion that a congestion-reporter, its peer, reports. It writes re-ECN codes on \
          the outer header of later packets. Re-Echo declares one marked or lost packet. FNE is credit: on \
          packets 1 and 3 and after a second of silence. All others are RECT. Policers behind it read the \
          round-trip time of reports with rtt_from = \"report\". Place it behind a tunnel's ingress: the PDN \
          gateway in re-ECN's infrastructure mode. Without a tunnel it writes on the packets themselves, as \
          an honest source.",
    source: "Zhang et al. 2011 section III.B, steps 3 to 5",
    params: Params::PARAMS,
    observables: CongestionController::OBSERVABLES,
    deviations: &[
        Deviation {
            what: "Drops of a policer behind the controller are missing at the reporter, and count as \
                   congestion.",
            why: "The tunnel's ingress numbers packets before the policer. A drop is a loss, and re-ECN \
                  declares losses.",
        },
        Deviation {
            what: "The controller ranks offenders by congestion volume, but names no overloaded links.",
            why: "Zhang et al. 2011 want both. A report lacks the place of congestion: the gateway would \
                  need the path of each bearer. Records have the marks of each link.",
        },
    ],
    ..Mechanism::of(Room::Stage)
};
