//! A stage for tests of the engine: it uses everything that a stage may do. Scenarios may name it; lists omit
//! it.
//!
//! It sends packets, answers its peer, holds, drops and marks packets, sets a link's rate, counts connections
//! and remembers flows.

use std::collections::VecDeque;

use evenflow_base::schema::{Counter, Mechanism, Problem, Room, Traits, Values, Ways};
use evenflow_base::{Duration, Ecn, Heap, Packet, Rate, Reason, Time};

use crate::station::{Cx, HeldPacket, Kind, Own, Owner, Pass, Setting, Signal, Station, To};
use crate::{Kept, Message};

/// A probe and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// When it was sent first.
    pub sent: Time,
    /// Whether it is an answer.
    pub answer: bool,
}

/// The stage and its state.
#[derive(Clone, Debug)]
pub struct ProbeStage {
    params: Params,
    /// A rate to set, and when.
    set: Option<(Rate, Time)>,
    next_probe: Time,
    held: VecDeque<HeldPacket>,
    flows: Kept<u64>,
    /// Packets that crossed it, forward and backward.
    seen: [u64; 2],
    sent: u64,
    received: u64,
    answered: u64,
    rtt: Duration,
    opened: u64,
    closed: u64,
    broken: u64,
}

impl ProbeStage {
    fn next_wake(&self) -> Time {
        let release = self.held.front().map_or(Time::NEVER, |held| {
            held.at + self.params.hold.filter(|_| !self.params.forgets).unwrap_or(Duration(u64::MAX))
        });
        let set = self.set.map_or(Time::NEVER, |(_, at)| at);
        self.next_probe.min(release).min(set)
    }

    fn meet(&mut self, packet: &mut Packet, way: usize, cx: &mut Cx) -> Pass {
        self.seen[way] += 1;
        *self.flows.of(cx.whose.flow, cx.now, || 0) += 1;
        match Signal::of(packet) {
            None => {}
            Some(Signal::Opens) => self.opened += 1,
            Some(Signal::Closes) => self.closed += 1,
            Some(Signal::Breaks) => self.broken += 1,
        }
        let turn = |every: Option<u64>| {
            every.is_some_and(|every| (self.seen[0] + self.seen[1]).is_multiple_of(every))
        };
        if turn(self.params.drop_every) {
            return Pass::Drop(Reason::Probe);
        }
        if self.params.hold.is_some() {
            self.held.push_back(cx.hold(packet));
            cx.wake_at(self.next_wake());
            return Pass::Held;
        }
        if turn(self.params.mark_every) && packet.ecn() != Ecn::NotCapable {
            packet.set_ecn(Ecn::Congestion);
            return Pass::Mark(Reason::Probe);
        }
        Pass::On
    }
}

impl Station for ProbeStage {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, 0, cx)
    }

    fn backward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, 1, cx)
    }

    fn start(&mut self, cx: &mut Cx) {
        self.next_probe = self.params.every.map_or(Time::NEVER, |every| cx.now + every);
        cx.wake_at(self.next_wake());
    }

    fn wake(&mut self, cx: &mut Cx) {
        if let Some((rate, _)) = self.set.take_if(|(_, at)| *at <= cx.now) {
            cx.set(Setting::Rate(rate));
        }
        while let (Some(first), Some(hold)) = (self.held.front(), self.params.hold)
            && first.at + hold <= cx.now
        {
            cx.release(*first);
            self.held.pop_front();
        }
        if self.next_probe <= cx.now
            && let Some(every) = self.params.every
        {
            self.next_probe = cx.now + every;
            self.sent += 1;
            let message = Some(Message::Probe(Probe { sent: cx.now, answer: false }));
            let Params { to, size, .. } = self.params;
            cx.send(Own { to, size, class: cx.whose.class, along: cx.whose, message });
        }
        cx.wake_at(self.next_wake());
    }

    fn receive(&mut self, message: Message, cx: &mut Cx) {
        let Message::Probe(probe) = message else { return };
        if probe.answer {
            self.answered += 1;
            self.rtt = cx.now - probe.sent;
        } else {
            self.received += 1;
        }
        if self.params.answers && (!probe.answer || self.params.chatters) {
            let message = Some(Message::Probe(Probe { answer: true, ..probe }));
            let size = self.params.size;
            cx.send(Own { to: To::Peer, size, class: cx.whose.class, along: cx.whose, message });
        }
    }

    fn held(&self) -> Vec<HeldPacket> {
        self.held.iter().copied().collect()
    }

    fn heap_bytes(&self) -> u64 {
        self.held.heap_bytes() + self.flows.heap_bytes()
    }
}

impl Kind for ProbeStage {
    fn build(values: &Values, _owner: Owner) -> Result<ProbeStage, Vec<Problem>> {
        let params = Params::read(values);
        let set_at = params.set_at.map_or(Time::ZERO, Time::from_seconds);
        Ok(ProbeStage {
            set: params.set_rate.map(|rate| (rate, set_at)),
            next_probe: Time::NEVER,
            held: VecDeque::new(),
            flows: Kept::new(params.idle),
            params,
            seen: [0; 2],
            sent: 0,
            received: 0,
            answered: 0,
            rtt: Duration::ZERO,
            opened: 0,
            closed: 0,
            broken: 0,
        })
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Params {
        /// Time between two probes.
        every: Option<Duration> = Duration, Absent("sends none"), Range::POSITIVE => source: "a test";
        /// Bytes of a probe and of an answer.
        size: u16 = Bytes, Text("100 B"), Range::PACKET_SIZE => source: "a test";
        /// Receiver of probes.
        to: To = To::TYPE, Text("peer") => source: "a test";
        /// Answer probes of the peer.
        answers: bool = Flag, Text("true") => source: "a test";
        /// Answer answers too.
        chatters: bool = Flag, Text("false") => source: "a test";
        /// Delay of each packet.
        hold: Option<Duration> = Duration, Absent("0 s"), Range::NOT_NEGATIVE => source: "a test";
        /// Request no wake-up while packets are held.
        forgets: bool = Flag, Text("false") => source: "a test";
        /// Drop every n-th packet.
        drop_every: Option<u64> = Integer, Absent("none"), Range::FROM_ONE => source: "a test";
        /// Mark every n-th packet.
        mark_every: Option<u64> = Integer, Absent("none"), Range::FROM_ONE => source: "a test";
        /// Rate of the link that it controls.
        set_rate: Option<Rate> = Rate, Absent("none"), Range::POSITIVE => source: "a test";
        /// Time of that change.
        set_at: Option<f64> = Duration, Absent("at the start"), Range::NOT_NEGATIVE => source: "a test";
        /// Time after which a silent flow is forgotten.
        idle: Option<Duration> = Duration, Absent("never"), Range::POSITIVE => source: "a test";
    }
}

observables! {
    ProbeStage: stage, _now;
    seen_forward: "packets", "Packets forward." => stage.seen[0];
    seen_backward: "packets", "Packets backward." => stage.seen[1];
    asked: "packets", "Probes sent." => stage.sent;
    received: "packets", "Probes received from the peer." => stage.received;
    answered: "packets", "Answers received." => stage.answered;
    opened: "packets", "SYNs of openers." => stage.opened;
    closed: "packets", "FINs seen." => stage.closed;
    broken: "packets", "RSTs seen." => stage.broken;
    held: "packets", "Packets held." => stage.held.len();
    flows: "flows", "Flows remembered." => stage.flows.len();
    rtt: "s", "Round-trip time of the last answered probe." => stage.rtt;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "probe-stage",
    traits: Traits {
        ways: Ways::Both,
        sends: true,
        peers: &["probe-stage"],
        controls: true,
        hidden: true,
        ..Mechanism::PLAIN
    },
    title: "Probe stage",
    example: r#"groups.users.path = ["probe", "bottleneck"]

[stages.probe]
kind = "probe-stage"
hold = "5 ms""#,
    doc: "Uses everything that a stage may do, for tests: sends, answers, holds, drops, marks, sets a rate, \
          counts.",
    source: "a test",
    params: Params::PARAMS,
    observables: ProbeStage::OBSERVABLES,
    counters: &[Counter::new("probe", "Every n-th packet.")],
    ..Mechanism::of(Room::Stage)
};
