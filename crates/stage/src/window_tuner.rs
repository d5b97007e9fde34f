//! Window tuner: gives each session its share of a line by rewriting the receive windows of passing ACKs. A
//! window of share times round trip makes the sender send at its share, without a queue (Ben Ameur et al.
//! 2016, section 2: RWTM).
//!
//! A window is never raised above the client's and never zero. The round trip is measured once per ON period,
//! which starts with a request; until the first one it is that of the handshake. [`crate::sessions`] has the
//! shares, [`crate::windows`] the window field.

use evenflow_base::schema::{Mechanism, Place, Problem, Room, Traits, Values, Way, Ways};
use evenflow_base::{Duration, Packet, Time, flags};

use crate::Kept;
use crate::sessions::{self, Sessions};
use crate::station::{Cx, Kind, Owner, Pass, Station};
use crate::windows::{self, Scales, field};

/// Measurement of the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// From the SYN to the first ACK of who has sent it.
    Handshake,
    /// From a request to the first ACK of what answers it.
    Request,
    /// By the timestamps of the server that ACKs echo, a tick of whose clock is so long.
    Timestamps(Duration),
}

words! {
    /// To what a window is rounded.
    pub enum Rounding {
        /// To the unit of the field, down.
        None = "none",
        /// Down to whole segments, at least one.
        Floor = "floor",
        /// To the nearest number of whole segments, at least one.
        Nearest = "nearest",
        /// To whole segments, up.
        Ceil = "ceil",
    }
}

impl Rounding {
    /// `bytes` in whole segments of `segment` bytes; as they are where that is not known.
    pub fn round(self, bytes: f64, segment: u16) -> u64 {
        let segments = bytes / f64::from(segment.max(1));
        let whole = match self {
            Rounding::None => return bytes as u64,
            _ if segment == 0 => return bytes as u64,
            Rounding::Floor => segments.floor(),
            Rounding::Nearest => segments.round(),
            Rounding::Ceil => segments.ceil(),
        };
        whole.max(1.0) as u64 * u64::from(segment)
    }
}

/// Its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Sessions and policy.
    pub sessions: sessions::Params,
    /// Measurement of the round trip.
    pub by: By,
    /// To what a window is rounded.
    pub rounding: Rounding,
    /// Windows of segments with data are left alone.
    pub pure: bool,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values) -> Result<Params, Vec<Problem>> {
        let sessions = sessions::Params::new(values)?;
        let given = Given::read(values);
        Ok(Params {
            sessions,
            by: match given.round_trip {
                RoundTripBy::Handshake => By::Handshake,
                RoundTripBy::Timestamps => By::Timestamps(given.tick),
                RoundTripBy::Request => By::Request,
            },
            rounding: given.rounding,
            pure: given.rewrites == Rewrites::PureAcks,
        })
    }
}

/// State of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    scales: Scales,
    /// The opener's direction, and the time of its last SYN.
    syn: Option<(Way, Time)>,
    /// The server's clock in its SYN-ACK, or SYN.
    clock: Option<u32>,
    /// The round trip of the handshake has been measured.
    greeted: bool,
    /// The request that began this ON period: when it passed, and the next byte that the client expected then.
    asked: Option<(Time, u64)>,
    rtt: Option<Duration>,
    /// Payload of the largest data segment.
    segment: u16,
}

/// The tuner and its state.
#[derive(Clone, Debug)]
pub struct WindowTuner {
    params: Params,
    sessions: Sessions,
    connections: Kept<Known>,
    rewritten: u64,
    unscaled: u64,
    samples: u64,
    rtt: Option<Duration>,
    window: Option<u64>,
}

impl WindowTuner {
    /// That has seen nothing.
    pub fn new(params: Params) -> WindowTuner {
        WindowTuner {
            sessions: Sessions::new(params.sessions.clone()),
            connections: Kept::new(Some(params.sessions.idle)),
            params,
            rewritten: 0,
            unscaled: 0,
            samples: 0,
            rtt: None,
            window: None,
        }
    }

    /// Notes what a segment tells of the round trip; `acked` is the next byte that its sender expects.
    fn measure(known: &mut Known, by: By, packet: &Packet, acked: u64, cx: &Cx) -> Option<Duration> {
        let opener = known.syn.map(|(way, _)| way);
        if packet.is(flags::SYN) {
            if !packet.is(flags::ACK) {
                (known.syn, known.greeted) = (Some((cx.way, cx.now)), false);
            }
            if cx.way == Way::Forward {
                // an ACK echoes a timestamp and carries its own value separately
                let own = packet.is(flags::ACK);
                known.clock = Some(if own { cx.options.of(packet).ts_val } else { packet.stamp });
            }
            return None;
        }
        if cx.way == Way::Forward {
            known.segment = known.segment.max(packet.payload);
        }
        if !known.greeted
            && opener == Some(cx.way)
            && packet.is(flags::ACK)
            && let Some((_, at)) = known.syn
        {
            known.greeted = true;
            known.asked = (packet.payload > 0).then_some((cx.now, acked));
            return Some(cx.now.since(at));
        }
        if cx.way == Way::Forward || by == By::Handshake {
            return None;
        }
        match known.asked {
            None if packet.payload > 0 => {
                known.asked = Some((cx.now, acked));
                None
            }
            Some((at, before)) if acked > before => {
                // a request that carries this ACK begins the next ON period
                known.asked = (packet.payload > 0).then_some((cx.now, acked));
                match by {
                    By::Timestamps(tick) => {
                        let (clock, (_, syn)) = (known.clock?, known.syn?);
                        if packet.payload > 0 {
                            return None; // its timestamp is its own
                        }
                        let passed = u64::from(packet.stamp.wrapping_sub(clock)) * tick.0;
                        (cx.now.since(syn).0).checked_sub(passed).map(Duration)
                    }
                    _ => Some(cx.now.since(at)),
                }
            }
            _ => None,
        }
    }

    fn meet(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.sessions.meet(packet, cx);
        if !windows::tells(packet) {
            return Pass::On;
        }
        let carried = cx.options.of(packet);
        let acked = if packet.payload > 0 { carried.ack } else { cx.options.seq(packet) };
        let known = self.connections.of(cx.whose.flow, cx.now, Known::default);
        let shift = known.scales.shift(packet, cx.way, cx.options);
        if let Some(rtt) = WindowTuner::measure(known, self.params.by, packet, acked, cx) {
            known.rtt = Some(rtt);
            self.rtt = Some(rtt);
            self.samples += 1;
        }
        if cx.way == Way::Forward || packet.is(flags::SYN) || self.params.pure && packet.payload > 0 {
            return Pass::On;
        }
        let Some(shift) = shift else {
            self.unscaled += 1;
            return Pass::On;
        };
        let (Some(rtt), Some(session)) = (known.rtt, self.sessions.of(cx.whose.flow)) else {
            return Pass::On;
        };
        // several connections of a session share it equally
        let bytes = session.share.0 / 8.0 * rtt.seconds() / f64::from(session.connections.max(1));
        let bytes = self.params.rounding.round(bytes, known.segment);
        self.window = Some(bytes);
        // whole segments must fit into whole units of the field
        let unit = if self.params.rounding == Rounding::None { 0 } else { (1 << shift) - 1 };
        self.rewritten += u64::from(windows::lower(packet, cx.options, field(bytes + unit, shift)));
        Pass::On
    }
}

impl Station for WindowTuner {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx)
    }

    fn backward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx)
    }

    fn wake(&mut self, cx: &mut Cx) {
        self.sessions.wake(cx);
    }

    fn heap_bytes(&self) -> u64 {
        self.sessions.heap_bytes() + self.connections.heap_bytes()
    }
}

impl Kind for WindowTuner {
    fn build(values: &Values, _owner: Owner) -> Result<WindowTuner, Vec<Problem>> {
        Params::new(values).map(WindowTuner::new)
    }

    fn needs_windows(_values: &Values) -> bool {
        true
    }

    fn problems(values: &Values) -> Vec<Problem> {
        sessions::problems(values)
    }
}

const SOURCE: &str = "Ben Ameur et al. 2016, section 2 (RWTM)";

words! {
    pub(crate) enum RoundTripBy { Handshake = "handshake", Request = "request", Timestamps = "timestamps" }
}

words! {
    pub(crate) enum Rewrites { Acks = "acks", PureAcks = "pure-acks" }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub(crate) struct Given {
        ..sessions: sessions::Given;
        /// Measurement of the round trip. `handshake`: from the opener's SYN to its next ACK. `request`: from
        /// each request to the first ACK of its answer. `timestamps`: from the server's timestamps that this
        /// ACK echoes. The handshake gives the first value.
        round_trip: RoundTripBy = RoundTripBy::TYPE, Text("request") => source: SOURCE;
        /// Tick of the server's timestamp clock, for round_trip = "timestamps".
        tick: Duration = Duration, Text("4 ms"), Range::POSITIVE => source: "Linux 3.2 at 250 Hz";
        /// Rounding of a window: to whole segments of the largest size seen, or not at all (down to units of
        /// the field).
        rounding: Rounding = Rounding::TYPE, Text("none") => source: SOURCE;
        /// Segments to rewrite: all ACKs, or those without data.
        rewrites: Rewrites = Rewrites::TYPE, Text("acks") => source: SOURCE;
    }
}

observables! {
    WindowTuner: tuner, _now;
    sessions: "sessions", "Open sessions." => tuner.sessions.open().len();
    opened: "sessions", "Sessions opened." => tuner.sessions.opened();
    assigned: "bit/s", "Total rate of the open sessions." => tuner.sessions.assigned();
    rewritten: "packets", "Segments with a lowered window." => tuner.rewritten;
    unscaled: "packets", "Segments left unchanged because the SYNs of their connection were not seen."
        => tuner.unscaled;
    samples: "1", "Round trips measured." => tuner.samples;
    rtt: "s", "The last round trip measured, of any connection." => tuner.rtt;
    target_window: "B", "The last window computed, before scaling." => tuner.window;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "window-tuner",
    traits: Traits { ways: Ways::Both, sessions: true, place: Place::OnPath, ..Mechanism::PLAIN },
    title: "Window tuner",
    example: r#"groups.users.path = ["tuner", "bottleneck"]

[stages.tuner]
kind = "window-tuner"
rate = "8 Mbit/s"
policy = "equal""#,
    doc: "Gives each session its share of a line by lowering the receive windows of passing ACKs to share \
          times round trip. It tracks the start and end of sessions. Windows change in the backward \
          direction.",
    source: SOURCE,
    params: Given::PARAMS,
    observables: WindowTuner::OBSERVABLES,
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use evenflow_base::Rate;

    use super::*;
    use crate::Stepper;

    const LADDER: [f64; 5] = [248e3, 456e3, 928e3, 1632e3, 4256e3];

    fn tuner(by: By, rounding: Rounding) -> WindowTuner {
        let policy = sessions::Policy::Levels { ladder: LADDER.to_vec(), margin: 1.1 };
        let idle = Duration::from_seconds(60.0);
        let sessions = sessions::Params { policy, rate: Rate(8e6), by_flow: false, idle };
        WindowTuner::new(Params { sessions, by, rounding, pure: false })
    }

    struct Wire {
        tuner: WindowTuner,
        hand: Stepper,
    }

    impl Wire {
        /// A segment passes at `ms`; gives the window's field behind the tuner.
        fn pass(
            &mut self,
            ms: f64,
            way: Way,
            mut packet: Packet,
            window: Option<u16>,
            scale: Option<u8>,
            ack: u64,
        ) -> Option<u16> {
            if window.is_some() || scale.is_some() || packet.payload > 0 {
                let carried = self.hand.options.attach(&mut packet);
                (carried.window, carried.scale, carried.ack) = (window, scale, ack);
                if packet.is(flags::SYN) && packet.is(flags::ACK) {
                    (carried.ts_val, packet.stamp) = (packet.stamp, 0);
                }
            }
            self.hand.way = way;
            let mut cx = self.hand.cx(Time::from_seconds(ms / 1e3));
            assert_eq!(self.tuner.meet(&mut packet, &mut cx), Pass::On);
            let field = self.hand.options.of(&packet).window;
            self.hand.options.discard(&packet);
            field
        }

        fn handshake(&mut self, scale: Option<u8>) {
            let syn = Packet { flags: flags::SYN, ..Packet::new(0, 66, 0) };
            let both = Packet { flags: flags::SYN | flags::ACK, stamp: 1000, ..syn };
            assert_eq!(self.pass(0.0, Way::Backward, syn, Some(14_600), scale, 0), Some(14_600));
            self.pass(90.0, Way::Forward, both, Some(14_480), scale, 0);
        }
    }

    fn wire(by: By, rounding: Rounding) -> Wire {
        Wire { tuner: tuner(by, rounding), hand: Stepper::new(1) }
    }

    fn ack(number: u64) -> Packet {
        Packet { flags: flags::ACK, seq: number, ..Packet::new(0, 66, 0) }
    }

    /// 1.1 * 4256 kbit/s * 100 ms / 8 = 58,520 B, in units of 128 B 457 and a rest.
    #[test]
    fn the_window_of_a_lone_session_by_hand() {
        let mut wire = wire(By::Handshake, Rounding::None);
        wire.handshake(Some(7));
        assert_eq!(wire.pass(100.0, Way::Backward, ack(1), Some(2048), None, 1), Some(457));
        assert_eq!(wire.tuner.observe("target_window", Time(0)), Some(58_520.0));
        assert_eq!(wire.pass(101.0, Way::Backward, ack(1), Some(300), None, 1), Some(300), "never raised");
        assert_eq!(wire.tuner.observe("rewritten", Time(0)), Some(1.0));
    }

    #[test]
    fn without_scales_a_window_is_in_bytes_and_without_syns_it_stays() {
        let mut told = wire(By::Handshake, Rounding::None);
        told.handshake(None);
        assert_eq!(told.pass(100.0, Way::Backward, ack(1), Some(65_535), None, 1), Some(58_520));
        let mut late = wire(By::Handshake, Rounding::None);
        assert_eq!(late.pass(100.0, Way::Backward, ack(1), Some(2048), None, 1), Some(2048));
        assert_eq!(late.tuner.observe("unscaled", Time(0)), Some(1.0));
    }

    /// 58,520 B are 40.41 segments of 1448 B.
    #[test]
    fn whole_segments() {
        let round = |rounding: Rounding| rounding.round(58_520.0, 1448) / 1448;
        assert_eq!([Rounding::Floor, Rounding::Nearest, Rounding::Ceil].map(round), [40, 40, 41]);
        assert_eq!(Rounding::None.round(58_520.9, 1448), 58_520);
        assert_eq!((Rounding::Floor.round(5.0, 1448), Rounding::Ceil.round(5.0, 0)), (1448, 5));
    }

    #[test]
    fn a_request_is_measured_to_the_first_ack_of_its_answer_once_an_on_period() {
        let mut wire = wire(By::Request, Rounding::None);
        wire.handshake(Some(7));
        wire.pass(100.0, Way::Backward, ack(1), Some(2048), None, 1);
        let get = Packet { flags: flags::ACK | flags::PUSH, seq: 1, ..Packet::new(0, 316, 250) };
        wire.pass(100.0, Way::Backward, get, Some(2048), None, 1);
        wire.pass(150.0, Way::Backward, ack(1), Some(2048), None, 1); // covers nothing
        let data = Packet { seq: 1, ..Packet::new(0, 1514, 1448) };
        wire.pass(190.0, Way::Forward, data, None, None, 251);
        assert_eq!(wire.pass(220.0, Way::Backward, ack(1449), Some(2048), None, 1449), Some(548)); // 120 ms: 70,224 B
        wire.pass(300.0, Way::Backward, ack(2897), Some(2048), None, 2897);
        assert_eq!(wire.tuner.observe("rtt", Time(0)), Some(0.12));
        assert_eq!(wire.tuner.observe("samples", Time(0)), Some(2.0)); // the handshake's and this one
        let again = Packet { seq: 251, ..get };
        wire.pass(2000.0, Way::Backward, again, Some(2048), None, 2897);
        wire.pass(2050.0, Way::Backward, ack(4345), Some(2048), None, 4345);
        assert_eq!(wire.tuner.observe("rtt", Time(0)), Some(0.05));
    }

    #[test]
    fn the_servers_timestamps_leave_its_thinking_out() {
        let mut wire = wire(By::Timestamps(Duration::from_seconds(0.004)), Rounding::None);
        wire.handshake(Some(7)); // the server's clock shows 1000 when the SYN is there
        wire.pass(100.0, Way::Backward, ack(1), Some(2048), None, 1);
        let get = Packet { flags: flags::ACK | flags::PUSH, seq: 1, ..Packet::new(0, 316, 250) };
        wire.pass(100.0, Way::Backward, get, Some(2048), None, 1);
        // it thinks for 50 ms: what it sends 150 ms after the SYN came bears 1037.5, 1037
        let echo = Packet { stamp: 1037, ..ack(1449) };
        wire.pass(250.0, Way::Backward, echo, Some(2048), None, 1449);
        assert_eq!(wire.tuner.observe("rtt", Time(0)), Some(0.102));
    }

    #[test]
    fn a_request_with_data_is_left_alone_where_only_pure_acks_are_rewritten() {
        let mut wire = wire(By::Handshake, Rounding::None);
        wire.tuner.params.pure = true;
        wire.handshake(Some(7));
        wire.pass(100.0, Way::Backward, ack(1), Some(2048), None, 1);
        let get = Packet { flags: flags::ACK | flags::PUSH, seq: 1, ..Packet::new(0, 316, 250) };
        assert_eq!(wire.pass(101.0, Way::Backward, get, Some(2048), None, 1), Some(2048));
    }

    /// A GET may come with the handshake's last ACK: it begins an ON period all the same.
    #[test]
    fn a_request_on_the_handshakes_last_ack_is_measured() {
        let mut wire = wire(By::Request, Rounding::None);
        wire.handshake(Some(7));
        let get = Packet { flags: flags::ACK | flags::PUSH, seq: 1, ..Packet::new(0, 316, 250) };
        wire.pass(100.0, Way::Backward, get, Some(2048), None, 1);
        wire.pass(220.0, Way::Backward, ack(1449), Some(2048), None, 1449);
        assert_eq!(wire.tuner.observe("rtt", Time(0)), Some(0.12));
    }

    proptest::proptest! {
        /// Whatever passes in whatever order: a window is never raised, and zero only where its sender says zero; SYNs, data and
        /// segments without ACK are never touched; the same segments without their SYNs pass as they are.
        #[test]
        fn a_window_is_only_ever_lowered(
            calls in proptest::collection::vec((0u8..8, 0u16..20_000, proptest::option::of(0u8..15), 0u64..30_000), 1..120),
            by in 0usize..3,
            rounding in 0usize..4,
        ) {
            let by = [By::Handshake, By::Request, By::Timestamps(Duration(4_000_000))][by];
            let rounding = [Rounding::None, Rounding::Floor, Rounding::Nearest, Rounding::Ceil][rounding];
            let (mut all, mut late) = (wire(by, rounding), wire(by, rounding));
            for (n, (what, told, scale, acked)) in calls.into_iter().enumerate() {
                let (way, packet) = match what {
                    0 => (Way::Backward, Packet { flags: flags::SYN, ..ack(0) }),
                    1 => (Way::Forward, Packet { flags: flags::SYN | flags::ACK, ..ack(0) }),
                    2 => (Way::Backward, Packet { flags: flags::FIN | flags::ACK, ..ack(acked) }),
                    3 => (Way::Backward, Packet { flags: flags::RST, ..ack(acked) }),
                    4 => (Way::Forward, Packet { flags: flags::ACK, ..Packet::new(0, 1514, 1448) }),
                    5 => (Way::Backward, Packet { flags: flags::ACK, ..Packet::new(0, 316, 250) }),
                    _ => (Way::Backward, ack(acked)),
                };
                let scale = if what < 2 { scale } else { None };
                let field = all.pass(n as f64 * 7.0, way, packet, Some(told), scale, acked).expect("one was told");
                proptest::prop_assert!(field <= told && (field > 0 || told == 0));
                if way == Way::Forward || what == 0 {
                    proptest::prop_assert_eq!(field, told);
                }
                if what > 1 {
                    proptest::prop_assert_eq!(late.pass(n as f64 * 7.0, way, packet, Some(told), None, acked), Some(told));
                }
            }
            proptest::prop_assert_eq!(late.tuner.observe("rewritten", Time(0)), Some(0.0));
        }
    }
}
