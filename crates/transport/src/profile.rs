//! TCP profiles: the variants of all rules of a TCP, as data.
//!
//! A profile is a set of options, any of which a scenario may override. [`LINES`] lists them: the scenario's
//! `tcp` table, its canonical form and the table in docs/tcp.md come from it.

use evenflow_base::params::Key;
use evenflow_base::schema::{
    Deviation, Fallback, Mechanism, Param, Problem, Range, Room, Type, Value, Values,
};
use evenflow_base::{Duration, Signals, Time, packet};

use crate::exposure::{self, Cheat, Encoding, Reports, Settings};

/// With a shorter one a connection is given up within nanoseconds, and its application connects again without end.
const AT_LEAST_A_MICROSECOND: Range = Range { min: 1e-6, closed: true, max: f64::INFINITY };

words! {
    /// How congestion marks come back.
    pub enum Ecn {
        /// Not at all: packets are not ECN-capable.
        Off = "off",
        /// One signal a round trip, latched (RFC 3168 section 6.1).
        Classic = "classic",
        /// A counter of marked packets (RFC 9768).
        Accurate = "accurate",
        /// Every ACK reports the mark of one segment.
        PerPacket = "per-packet",
        /// Re-ECN's counter of marked packets, three bits from 0 (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.1).
        ReEcn = "re-ecn",
        /// The same with a counter without end, which no header has room for.
        ReEcnUnlimited = "re-ecn-unlimited",
        /// A gateway beside the sender sets ECE on its ACKs: nothing is agreed on, and packets are not ECN-capable.
        Gateway = "gateway",
    }
}

impl Ecn {
    /// Whether it is one of re-ECN's.
    #[inline]
    pub fn is_re_ecn(self) -> bool {
        matches!(self, Ecn::ReEcn | Ecn::ReEcnUnlimited)
    }
}

words! {
    /// Detection of lost segments.
    pub enum LossDetection {
        /// Duplicate ACKs and partial ACKs (RFC 6582).
        DuplicateAcks = "duplicate-acks",
        /// Three segments, or more than two segments of bytes, reported beyond it (RFC 6675 section 4, IsLost).
        Sack = "sack",
        /// The same by distance to the highest byte reported (forward acknowledgement), retransmissions too.
        Fack = "fack",
        /// Forward acknowledgement as in Linux 3.2: the distance follows the reordering that was seen, and once some was,
        /// segments are counted.
        FackAdaptive = "fack-adaptive",
        /// Something sent sufficiently later was delivered (RFC 8985).
        Rack = "rack",
    }
}

words! {
    /// How the window comes down in a recovery with SACK, and after an ECN signal.
    pub enum Reduction {
        /// The window is the threshold at once (RFC 6675 section 5 step 4.2, RFC 3168 section 6.1.2).
        AtOnce = "at-once",
        /// Proportional rate reduction (RFC 9937) after losses; at once after an ECN signal.
        Proportional = "prr",
        /// Proportional rate reduction after both.
        ProportionalAlways = "prr-always",
        /// One segment leaves for two ACKs until the threshold is met.
        RateHalving = "rate-halving",
        /// Proportional rate reduction as in Linux 3.2 after losses, one segment more an ACK below the threshold; one segment
        /// for two ACKs after an ECN signal.
        ProportionalOrHalving = "prr-or-halving",
    }
}

impl Reduction {
    /// Whether the window comes down step by step after a mark.
    pub(crate) fn is_gradual(self) -> bool {
        !matches!(self, Reduction::AtOnce | Reduction::Proportional)
    }
}

words! {
    /// How the retransmission timeout follows from the samples.
    pub enum RtoRule {
        /// RFC 6298 section 2, with the floor on the whole.
        Rfc = "rfc6298",
        /// The floor is on the variation: RTO >= SRTT + floor; the variation falls once a round trip.
        Linux = "linux",
        /// RFC 6298 in whole ticks of the clock.
        Ticks = "ticks",
        /// Linux's, in whole ticks of the clock.
        LinuxTicks = "linux-ticks",
        /// Linux's mean and deviation in whole ticks, with the minimum on the sum. Any ACK is a sample, also
        /// a duplicate; it restarts the timer and ends the back-off (ns-2's Agent/TCP/Linux).
        AnyAck = "any-ack",
    }
}

words! {
    /// Where round-trip samples come from.
    pub enum RttSource {
        /// The timestamp option (RFC 7323 section 4), in ticks of its clock.
        Timestamps = "timestamps",
        /// The exact time at which an acknowledged segment was sent, retransmitted ones excepted.
        SendTimes = "send-times",
        /// One segment a round trip is timed (RFC 6298 section 3, Karn's rule).
        OneSegment = "one-segment",
    }
}

words! {
    /// The window after an idle time longer than the retransmission timeout.
    pub enum IdleRestart {
        /// Nothing.
        Never = "never",
        /// min(initial window, cwnd) (RFC 5681 section 4.1).
        InitialWindow = "initial-window",
        /// Halved for each timeout that passed, down to the initial window (RFC 2861).
        Halving = "halving",
        /// The same in whole segments; the threshold stays while the window comes down (Linux 3.2).
        HalvingWhole = "halving-whole",
        /// Halved from what the receive window allows, down to one segment (RFC 2861 section 3.2; Ben Ameur et al. 2016,
        /// algorithm 2).
        HalvingToOne = "halving-to-one",
    }
}

words! {
    /// How a connection opens.
    pub enum Handshake {
        /// SYN, SYN-ACK, ACK.
        ThreeWay = "three-way",
        /// Not at all: both ends know of each other from the start (ns-2's one-way agents).
        None = "none",
    }
}

words! {
    /// Effect of a partial ACK in a recovery without SACK.
    pub enum PartialAck {
        /// Retransmits the next hole (RFC 6582 section 3.2 step 3).
        NextHole = "next-hole",
        /// It ends the recovery (RFC 2581 section 3.2 step 5: plain Reno).
        EndsRecovery = "ends-recovery",
    }
}

words! {
    /// Probe of a closed window.
    pub enum WindowProbe {
        /// The next byte of data (RFC 9293 section 3.8.6.1).
        Octet = "octet",
        /// A segment without data, numbered one byte before what is unacknowledged, so that it must be answered (Linux).
        Empty = "empty",
    }
}

words! {
    /// Window updates without a due ACK.
    pub enum WindowUpdate {
        /// Its edge can move by two segments or half the buffer (4.4BSD).
        TwoSegments = "two-segments",
        /// It is at least twice what the other end may still send (Linux).
        Doubled = "doubled",
    }
}

words! {
    /// When a window counts as used to the full.
    pub enum WindowUse {
        /// Less than a segment of it is free, or in slow start less than half.
        Segment = "segment",
        /// Less than a third of it and of 64 KiB is free, or no more segments than reordering was seen (Linux 3.2).
        Third = "third",
    }
}

words! {
    /// The window restored after a spurious reduction.
    pub enum UndoTo {
        /// The window and the threshold of before.
        Before = "before",
        /// Twice the threshold, or the congestion control's memory. The threshold becomes at least 3/4 of the
        /// former window (Linux 3.2).
        TwiceThreshold = "twice-threshold",
    }
}

words! {
    /// How a kernel's timers keep long times.
    pub enum TimerWheel {
        /// In slots of 8 ticks from 63 ticks on, of 64 from 504 on (Linux since 4.8); never early.
        Slots = "slots",
        /// To the tick, from the tick that began last.
        Exact = "exact",
    }
}

words! {
    /// The quantity that a threshold halves.
    #[derive(Default)]
    pub enum WindowBase {
        /// The flight size (RFC 5681 equation 4).
        #[default]
        Flight = "flight",
        /// The congestion window.
        Window = "window",
    }
}

words! {
    /// The gap after a burst of a paced flow.
    pub enum PacingRule {
        /// After each segment its length over the rate (draft-ietf-ccwg-bbr-06 section 5.6.2).
        Draft = "draft",
        /// The same from the tenth data segment on, shorter by up to half after a burst that leaves late (Linux's
        /// `tcp_update_skb_after_send`).
        Linux = "linux",
    }
}

words! {
    /// How CUBIC leaves slow start when nothing is lost.
    pub enum SlowStart {
        /// By a loss only (RFC 5681).
        Standard = "standard",
        /// Hybrid slow start (Ha and Rhee 2011) as in Linux.
        Hystart = "hystart",
        /// HyStart++ (RFC 9406).
        HystartPlusPlus = "hystart++",
        /// SEARCH (draft-chung-ccwg-search-09).
        Search = "search",
        /// SEARCH with its drain phase.
        SearchDrain = "search-drain",
    }
}

/// One line of a profile.
pub struct Line {
    /// Its parameter in the `tcp` table.
    pub param: Param,
    /// Its value in a profile.
    pub get: fn(&Profile) -> Value,
    set: fn(&mut Profile, &Value),
}

/// A number that was checked to be one.
fn number(value: &Value) -> f64 {
    value.number().unwrap_or_default()
}

fn word(value: &Value) -> &str {
    match value {
        Value::Word(word) => word,
        _ => "",
    }
}

fn flag(value: &Value) -> bool {
    matches!(value, Value::Flag(true))
}

const PER_PROFILE: Fallback = Fallback::Absent("the profile's value");

/// The conversions between a field and a value, by kind of line.
macro_rules! convert {
    (get bytes $e:expr) => { Value::Bytes($e as f64) };
    (get packets $e:expr) => { Value::Packets($e) };
    (get integer $e:expr) => { Value::Number(f64::from($e)) };
    (get seconds $e:expr) => { Value::Seconds($e.seconds()) };
    (get flag $e:expr) => { Value::Flag($e) };
    (get (or $word:literal) $e:expr) => {
        $e.map_or_else(|| Value::Word($word.into()), |x| Value::Number(f64::from(x)))
    };
    (get (word $ty:ident) $e:expr) => { Value::Word($e.word().into()) };
    (set bytes $v:expr) => { number($v) as _ };
    (set packets $v:expr) => { number($v) };
    (set integer $v:expr) => { number($v) as u32 };
    (set seconds $v:expr) => { Duration::from_seconds(number($v)) };
    (set flag $v:expr) => { flag($v) };
    (set (or $word:literal) $v:expr) => {
        match $v { Value::Word(_) => None, v => Some(number(v) as u32) }
    };
    (set (word $ty:ident) $v:expr) => { $ty::of(word($v)) };
    (ty bytes) => { Type::Bytes };
    (ty packets) => { Type::Packets };
    (ty integer) => { Type::Integer };
    (ty seconds) => { Type::Duration };
    (ty flag) => { Type::Flag };
    (ty (or $word:literal)) => { Type::IntegerOr($word) };
    (ty (word $ty:ident)) => { Type::Choice($ty::WORDS) };
    (rust bytes) => { u64 };
    (rust packets) => { f64 };
    (rust integer) => { u32 };
    (rust seconds) => { Duration };
    (rust flag) => { bool };
    (rust (or $word:literal)) => { Option<u32> };
    (rust (word $ty:ident)) => { $ty };
    (key (word $ty:ident)) => { $ty };
    (key $kind:tt) => { Value };
}

/// The lines: name, kind, range, source, one sentence.
macro_rules! lines {
    ($($name:ident: $kind:tt, $range:expr, $source:literal, $doc:literal;)+) => {
        /// Every line of a stack profile.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Profile {
            /// Its name.
            pub name: &'static str,
            $(#[doc = $doc] pub $name: convert!(rust $kind),)+
            /// Its reports, if it is a ConEx sender.
            pub conex: Option<Settings>,
            /// Every ACK takes the general path. For the test that the short one changes nothing.
            pub general: bool,
            /// Senders take delivery-rate samples, also for a congestion control that needs none.
            pub rate_samples: bool,
        }

        /// Every line, in the order of the documentation.
        pub static LINES: &[Line] = &[$(Line {
            param: line::$name.param,
            get: |p| convert!(get $kind p.$name),
            set: |p, v| p.$name = convert!(set $kind v),
        }),+];

        /// The parameter of each line.
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod line {
            use super::*;

            $(pub const $name: Key<convert!(key $kind)> = Key::new(Param {
                name: stringify!($name),
                ty: convert!(ty $kind),
                default: PER_PROFILE,
                range: $range,
                source: $source,
                doc: $doc,
            });)+
        }

        const PARAMS: &[Param] = &[STACK.param, $(line::$name.param,)+ CONEX.param];
    };
}

/// The parameter that names a profile.
pub const STACK: Key<String> = Key::new(Param {
    name: "stack",
    ty: Type::Choice(NAMES),
    default: Fallback::Text("rfc"),
    range: Range::ANY,
    source: "docs/tcp.md",
    doc: "TCP profile: the variants of all rules of both ends.",
});

/// The parameter that makes a ConEx sender.
pub const CONEX: Key<Settings> = Key::new(Param {
    name: "conex",
    ty: Type::Table(&exposure::CONEX),
    default: Fallback::Absent("no ConEx sender"),
    range: Range::ANY,
    source: "RFC 7713, RFC 7786",
    doc: "Makes it a ConEx sender, which reports congestion in its packets. Over IPv4, \
          ecn_on_retransmissions is then true by default.",
});

lines! {
    mss: bytes, Range { min: 1.0, closed: true, max: 65_000.0 }, "docs/tcp.md",
        "Payload of a full segment.";
    header: bytes, Range { min: 1.0, closed: true, max: 500.0 }, "docs/tcp.md",
        "Header size of a segment in bytes, which is also the size of a pure ACK.";
    syn_extra: bytes, Range { min: 0.0, closed: true, max: 40.0 }, "RFC 9293 section 3.2",
        "Bytes of a SYN beyond a pure ACK: its options.";
    max_window: bytes, Range::FROM_ONE, "docs/tcp.md",
        "Receive window. It is also the send buffer if send_buffer is unbounded. No sender has more than \
         2^30 bytes in flight (RFC 7323 section 2.3).";
    window_clamp: flag, Range::ANY, "ns-2.35",
        "Limit the data in flight to max_window, not the sequence numbers, as a sender without a receive window.";
    send_buffer: bytes, Range::FROM_ONE, "RFC 9293 section 3.9.1.2",
        "Limit of written but unacknowledged data. Beyond it, the writer waits.";
    window_scaling: flag, Range::ANY, "RFC 7323 section 2",
        "Allow windows above 65535 bytes.";
    write: (or "any"), Range::FROM_ONE, "docs/tcp.md",
        "Size of the application's writes into the send buffer; they cause short segments when the buffer is \
         full. \"any\": full segments only.";
    nagle: flag, Range::ANY, "RFC 9293 section 3.7.4",
        "Delay a short segment while data is unacknowledged (Nagle); without it each write leaves \
         immediately.";
    initial_window: packets, Range::WINDOW, "RFC 6928",
        "Initial congestion window.";
    threshold_from_window: flag, Range::ANY, "RFC 5681 section 3.1",
        "Use max_window as the first slow-start threshold, instead of an unlimited one.";
    slow_start_segments: (or "unlimited"), Range::FROM_ONE, "RFC 5681 equation 2, RFC 3465 section 2.2",
        "Maximum increase per ACK in slow start, in segments, with counted bytes.";
    count_acks: flag, Range::ANY, "docs/tcp.md",
        "Increase per ACK without counted bytes. NewReno's window grows by a segment per ACK in slow start. \
         Then it grows by one after window + 1 ACKs, as in early Linux.";
    byte_counting: flag, Range::ANY, "RFC 5681 section 3.1",
        "Count acknowledged bytes in NewReno's congestion avoidance, instead of ACKs.";
    whole_bytes: flag, Range::ANY, "docs/tcp.md",
        "Use whole bytes for NewReno's steps, instead of real numbers.";
    whole_segments: flag, Range::ANY, "docs/tcp.md",
        "Use whole segments for window, threshold and reductions.";
    count_delivered: flag, Range::ANY, "docs/tcp.md",
        "Count newly delivered segments for growth, SACKed ones included, instead of the advance of the ACK.";
    half_of: (word WindowBase), Range::ANY, "RFC 5681 equation 4",
        "The quantity that NewReno halves after a congestion event. CUBIC in form rfc takes its share beta.";
    reduce_after_timeout: flag, Range::ANY, "RFC 5681 section 3.1",
        "Lower the threshold at a further timeout before all earlier data is acknowledged. A loss that SACK \
         detects then does so too and starts a recovery, as in ns-2's Agent/TCP/Linux. No effect with \
         fack-adaptive.";
    slow_start_at_threshold: flag, Range::ANY, "RFC 5681 section 3.1",
        "Treat a window equal to its threshold as slow start, as in Linux before 3.18. RFC 5681 allows both.";
    slow_start: (word SlowStart), Range::ANY, "RFC 9438 section 4.10",
        "CUBIC's exit from slow start without loss.";
    window_validation: flag, Range::ANY, "RFC 9438 section 5.8, RFC 7661",
        "Grow the window only when it was fully used.";
    window_used: (word WindowUse), Range::ANY, "docs/tcp.md",
        "Criterion for a fully used window, with window_validation.";
    window_decay: flag, Range::ANY, "RFC 2861 section 3.2, docs/tcp.md",
        "Halve the distance between an unused window and its used part after a timeout's time without an ACK \
         of new data.";
    restart_after_idle: (word IdleRestart), Range::ANY, "RFC 5681 section 4.1",
        "Window after an idle time longer than the retransmission timeout.";
    sack: flag, Range::ANY, "RFC 2018",
        "Selective acknowledgement.";
    loss_detection: (word LossDetection), Range::ANY, "RFC 6582, RFC 6675, RFC 8985",
        "Loss detection. Without SACK it is always duplicate-acks.";
    duplicate_threshold: integer, Range::FROM_ONE, "RFC 5681 section 3.2",
        "Duplicate ACKs, or later SACKed segments, that signal a loss.";
    segmentation_offload: flag, Range::ANY, "docs/tcp.md",
        "Send in bursts of a millisecond at the window's rate, at least two segments, the last marked PSH. \
         Smaller bursts wait if the last one left within a millisecond.";
    pacing: flag, Range::ANY, "docs/tcp/congestion-controls.md",
        "Pace controls that do not pace themselves, as Linux under fq. The rate is 2 windows per round trip below \
         half the threshold, then 1.2. The first ten segments are not paced.";
    pacing_rule: (word PacingRule), Range::ANY, "draft-ietf-ccwg-bbr-06 section 5.6.2, Linux: tcp_update_skb_after_send",
        "Gap after a burst of a control that paces itself: always its length over the rate, or as in Linux.";
    gso: bytes, Range::NOT_NEGATIVE, "docs/tcp/congestion-controls.md",
        "Bytes that leave back to back after one pacing decision. 0: the burst of the control, in Linux about a \
         millisecond of its rate.";
    moderation: flag, Range::ANY, "docs/tcp.md",
        "Limit the window to the flight size plus the reordering, for reports before a loss is detected and \
         for ACKs after a timeout.";
    limited_transmit: flag, Range::ANY, "RFC 3042",
        "Let the first duplicate ACKs send new segments (limited transmit).";
    limited_transmit_window: flag, Range::ANY, "RFC 3042 section 2",
        "Limit limited transmit to the congestion window plus two segments, without SACK. With SACK the \
         flight size limits it.";
    partial_ack: (word PartialAck), Range::ANY, "RFC 6582, RFC 2581",
        "Effect of a partial ACK in a recovery without SACK.";
    deflate_at_exit: flag, Range::ANY, "RFC 6582 section 3.2 step 3",
        "Limit the window after a recovery to the flight size plus one segment, without SACK (option 1).";
    reduction: (word Reduction), Range::ANY, "RFC 6675, RFC 9937",
        "Reduction of the window in a recovery with SACK, and after an ECN signal.";
    rescue: flag, Range::ANY, "RFC 6675 section 4, NextSeg rule 4",
        "Retransmit the last segment once in a recovery (rescue retransmission).";
    tail_loss_probe: flag, Range::ANY, "RFC 8985 section 7",
        "Send a probe when no ACK arrives for two round-trip times (TLP).";
    f_rto: flag, Range::ANY, "RFC 5682 section 3.1",
        "Send two new segments first after a timeout; their ACKs show whether it was spurious (F-RTO).";
    undo: flag, Range::ANY, "RFC 4015, RFC 3522, RFC 3708",
        "Undo a reduction that timestamps or duplicate reports reveal as spurious.";
    undo_to: (word UndoTo), Range::ANY, "RFC 4015 section 3.2, docs/tcp.md",
        "Window restored by an undo.";
    rtt: (word RttSource), Range::ANY, "RFC 6298 section 3, RFC 7323 section 4",
        "Source of round-trip samples.";
    clock_tick: seconds, Range::POSITIVE, "RFC 7323 section 5.4",
        "Tick of the timestamp clock.";
    timer_tick: seconds, Range::NOT_NEGATIVE, "docs/tcp.md",
        "Tick of the sender's timers, as in a kernel; 0: exact times.";
    timer_wheel: (word TimerWheel), Range::ANY, "docs/tcp.md",
        "Precision of timers with a tick for long delays.";
    rto: (word RtoRule), Range::ANY, "RFC 6298 section 2",
        "Computation of the retransmission timeout.";
    min_rto: seconds, Range::POSITIVE, "RFC 6298 section 2.4",
        "Minimum retransmission timeout.";
    max_rto: seconds, AT_LEAST_A_MICROSECOND, "RFC 6298 section 2.5",
        "Maximum retransmission timeout.";
    handshake: (word Handshake), Range::ANY, "RFC 9293 section 3.5",
        "Opening of a connection.";
    syn_rto: seconds, AT_LEAST_A_MICROSECOND, "RFC 6298 section 2.1",
        "First timeout of a SYN; it doubles each time.";
    syn_tries: integer, Range::FROM_ONE, "docs/tcp.md",
        "SYNs sent before a connection fails.";
    time_wait: seconds, Range::NOT_NEGATIVE, "RFC 9293 section 3.6",
        "Duration of TIME-WAIT, two maximum segment lifetimes. The end that closed first answers repeated \
         FINs in it.";
    zero_window_probe: (word WindowProbe), Range::ANY, "RFC 9293 section 3.8.6.1",
        "Probe of a closed window.";
    window_update: (word WindowUpdate), Range::ANY, "RFC 9293 section 3.8.6.2.2",
        "Window update after an application's read.";
    retries: (or "unlimited"), Range::FROM_ONE, "docs/tcp.md",
        "Retransmissions without a new ACK before the connection fails.";
    timeout_window_once: flag, Range::ANY, "RFC 5681 section 3.1",
        "Keep the window at a timeout before the last one is repaired, without SACK.";
    ack_every: integer, Range::FROM_ONE, "RFC 5681 section 4.2",
        "In-order segments per ACK.";
    ack_delay: seconds, Range::NOT_NEGATIVE, "RFC 5681 section 4.2",
        "Maximum delay of an ACK.";
    ack_delay_max: seconds, Range::NOT_NEGATIVE, "docs/tcp.md",
        "Maximum of the adaptive ACK delay, which follows the gaps between segments as in Linux. At most \
         ack_delay: the delay is constant.";
    quick_acks: integer, Range::NOT_NEGATIVE, "docs/tcp.md",
        "Segments at the start that are acknowledged one by one.";
    ack_pushed: flag, Range::ANY, "docs/tcp.md",
        "Acknowledge a segment with PSH when the application has read it, as in Linux since 6.6.";
    ack_interactive: flag, Range::ANY, "docs/tcp.md",
        "Delay ACKs for outgoing data after an answer within the ACK delay, as in Linux. The ACK of a FIN is \
         delayed too.";
    ack_growing_window: flag, Range::ANY, "docs/tcp.md",
        "Acknowledge segments one by one while the advertised window grows, as in Linux. Without it the \
         window is constant.";
    ack_compression: seconds, Range::NOT_NEGATIVE, "docs/tcp.md",
        "Maximum delay of compressed ACKs: from the fourth segment beyond a hole, one ACK answers those of \
         1/20 of the round trip.";
    cached_ssthresh: (or "none"), Range::FROM_ONE, "docs/tcp.md",
        "First slow-start threshold in segments, from an earlier connection to the same host.";
    cached_reordering: (or "none"), Range { min: 1.0, closed: true, max: 127.0 }, "docs/tcp.md",
        "Reordering in segments, from an earlier connection.";
    cached_srtt: seconds, Range::NOT_NEGATIVE, "docs/tcp.md",
        "Smoothed round-trip time of an earlier connection, the minimum for the first sample.";
    cached_rttvar: seconds, Range::NOT_NEGATIVE, "docs/tcp.md",
        "Mean deviation of an earlier connection, the minimum for the first sample.";
    save_metrics: flag, Range::ANY, "docs/tcp.md",
        "Save threshold, reordering and round-trip time of a finished connection for later ones of the same \
         user.";
    ecn: (word Ecn), Range::ANY, "RFC 3168, RFC 9768",
        "Feedback of congestion marks.";
    peer_ecn: (word PeerEcn), Range::ANY, "RFC 9768 section 3.1",
        "ECN capability of the receiver, which may be less than the sender's.";
    ect: (word Ect), Range::ANY, "RFC 3168 section 5, RFC 8311",
        "Codepoint of ECN-capable packets: ECT(0) or ECT(1).";
    accurate_ecn_option: flag, Range::ANY, "RFC 9768 section 3.2.3",
        "Send and read the AccECN option, with ecn = \"accurate\": payload bytes by codepoint. It tells a wrapped \
         counter of marks from an unmoved one.";
    ecn_on_retransmissions: flag, Range::ANY, "RFC 8257 section 4.1, RFC 8311 section 4.3",
        "Make retransmissions ECN-capable; by RFC 3168 section 6.1.5 only new data is.";
    ecn_on_control: flag, Range::ANY, "RFC 8257 section 3.6, RFC 8311 section 4.3",
        "Make SYNs, SYN-ACKs and pure ACKs ECN-capable; by RFC 3168 sections 6.1.1 and 6.1.4 only data is.";
}

words! {
    /// The codepoint of ECN-capable packets (RFC 3168 section 5).
    pub enum Ect {
        /// ECT(0).
        Zero = "0",
        /// ECT(1).
        One = "1",
    }
}

impl Ect {
    /// The field with it.
    #[inline]
    pub fn field(self) -> evenflow_base::Ecn {
        match self {
            Ect::Zero => evenflow_base::Ecn::Capable0,
            Ect::One => evenflow_base::Ecn::Capable1,
        }
    }
}

words! {
    /// ECN capability of the receiver.
    pub enum PeerEcn {
        /// The same as the sender's.
        Same = "same",
        /// Nothing.
        Off = "off",
        /// RFC 3168.
        Classic = "classic",
        /// It answers as for the nonce of RFC 3540, which is classic ECN. RFC 9768 section 3.1.3 reserves that
        /// answer: with accurate feedback it counts as an accurate receiver.
        Nonce = "nonce",
        /// It reflects the flags of the SYN: broken.
        Broken = "broken",
    }
}

/// A profile: its name, its options and its description.
type Stack = (&'static str, fn() -> Profile, &'static str);

/// All profiles.
const STACKS: [Stack; 6] = [
    ("rfc", Profile::rfc, "The RFCs in force: the default."),
    (
        "linux",
        Profile::linux,
        "A current Linux kernel, measured packet by packet on 6.18 (docs/validation.md).",
    ),
    ("linux3.2", Profile::linux3_2, "Linux 3.2 at 250 Hz (Debian 7), as in Ben Ameur et al. (2016)."),
    ("ns3.26", Profile::ns3_26, "TCP NewReno of ns-3 release 3.26 with its defaults."),
    ("ns2", Profile::ns2, "ns-2's one-way agents: Agent/TCP/Newreno, with sack = true Agent/TCP/Sack1."),
    (
        "ns2-linux",
        Profile::ns2_linux,
        "ns-2's Agent/TCP/Linux with SACK and timestamps, as in Sanhaji (2015).",
    ),
];

/// The names a scenario may give.
pub const NAMES: &[&str] = &["rfc", "ns3.26", "ns2", "ns2-linux", "linux3.2", "linux"];

/// Those that are complete, in the order of the documentation.
pub const COMPLETE: &[&str] = &["rfc", "linux", "linux3.2", "ns3.26", "ns2", "ns2-linux"];

/// Options that one profile alone uses: accepted, and part of the canonical form, but not documented.
pub const UNDOCUMENTED: &[&str] = &[
    "window_clamp",
    "count_acks",
    "window_used",
    "window_decay",
    "segmentation_offload",
    "pacing_rule",
    "moderation",
    "limited_transmit_window",
    "f_rto",
    "undo_to",
    "timer_wheel",
    "ack_delay_max",
    "ack_pushed",
    "ack_growing_window",
    "ack_compression",
];

/// Options that the canonical form lists only where they differ from the named profile, which keeps the forms of
/// older scenarios.
const OFF: &[&str] = &[
    line::window_clamp.name,
    line::pacing.name,
    line::pacing_rule.name,
    line::gso.name,
    line::accurate_ecn_option.name,
];

/// A window that never binds. A power of two below 2^53, so that it is exact as a number.
const UNBOUNDED: u64 = 1 << 40;

/// No TCP has more bytes out (RFC 7323 section 2.3).
const MOST_OUT: u64 = 1 << 30;

impl Profile {
    /// The profile called `name`; `None` where it is not complete yet.
    pub fn named(name: &str) -> Option<Profile> {
        STACKS.iter().find(|stack| stack.0 == name).map(|stack| stack.1())
    }

    /// Its description.
    pub fn doc(&self) -> &'static str {
        STACKS.iter().find(|stack| stack.0 == self.name).map_or("", |stack| stack.2)
    }

    /// The RFCs in force (docs/tcp.md).
    pub fn rfc() -> Profile {
        Profile {
            name: "rfc",
            mss: 1448,
            header: 52,
            syn_extra: 8,
            max_window: UNBOUNDED,
            window_clamp: false,
            window_scaling: true,
            send_buffer: UNBOUNDED,
            nagle: false,
            write: None,
            initial_window: 10.0, // RFC 6928 section 2
            threshold_from_window: false,
            slow_start_segments: Some(1), // RFC 5681 equation 2
            count_acks: false,
            byte_counting: true,
            whole_bytes: true,
            whole_segments: false,
            count_delivered: false,
            half_of: WindowBase::Flight,
            reduce_after_timeout: false,
            slow_start_at_threshold: false,
            slow_start: SlowStart::HystartPlusPlus, // RFC 9438 section 4.10
            window_validation: true,
            window_used: WindowUse::Segment,
            window_decay: false,
            restart_after_idle: IdleRestart::InitialWindow,
            sack: true,
            loss_detection: LossDetection::Sack,
            duplicate_threshold: 3,
            moderation: false,
            limited_transmit: true,
            limited_transmit_window: true,
            segmentation_offload: false,
            pacing: false,
            pacing_rule: PacingRule::Draft,
            gso: 0,
            partial_ack: PartialAck::NextHole,
            deflate_at_exit: true,
            reduction: Reduction::Proportional,
            rescue: true,
            tail_loss_probe: false,
            f_rto: false,
            undo: false,
            undo_to: UndoTo::Before,
            rtt: RttSource::Timestamps,
            clock_tick: Duration::from_millis(1),
            timer_tick: Duration::ZERO,
            timer_wheel: TimerWheel::Slots,
            rto: RtoRule::Rfc,
            min_rto: Duration::from_millis(1000), // RFC 6298 section 2.4
            max_rto: Duration::from_millis(60_000),
            handshake: Handshake::ThreeWay,
            syn_rto: Duration::from_millis(1000), // RFC 6298 section 2.1
            syn_tries: 6,
            time_wait: Duration::from_millis(240_000), // 2 MSL, RFC 9293 section 3.4.2
            zero_window_probe: WindowProbe::Octet,
            window_update: WindowUpdate::TwoSegments,
            retries: Some(15),
            timeout_window_once: false,
            ack_every: 2,
            ack_delay: Duration::from_millis(200),
            ack_delay_max: Duration::ZERO,
            quick_acks: 0,
            ack_pushed: false,
            ack_interactive: false,
            ack_growing_window: false,
            ack_compression: Duration::ZERO,
            cached_ssthresh: None,
            cached_reordering: None,
            cached_srtt: Duration::ZERO,
            cached_rttvar: Duration::ZERO,
            save_metrics: false,
            ecn: Ecn::Off,
            peer_ecn: PeerEcn::Same,
            ect: Ect::Zero,
            accurate_ecn_option: false,
            ecn_on_retransmissions: false,
            ecn_on_control: false,
            conex: None,
            general: false,
            rate_samples: false,
        }
    }

    /// A current Linux kernel (docs/tcp.md).
    pub fn linux() -> Profile {
        Profile {
            name: "linux",
            max_window: 20 << 20,                      // tcp_rmem[2] of 32 MiB, since 6.16
            slow_start_segments: None,                 // tcp_slow_start
            whole_segments: true,                      // snd_cwnd counts packets
            count_delivered: true,                     // tcp_cong_control
            half_of: WindowBase::Window,               // tcp_reno_ssthresh
            slow_start: SlowStart::Hystart,            // tcp_cubic.c
            restart_after_idle: IdleRestart::Halving,  // tcp_cwnd_restart
            loss_detection: LossDetection::Rack,       // tcp_recovery.c
            deflate_at_exit: false,                    // tcp_end_cwnd_reduction
            reduction: Reduction::ProportionalAlways,  // tcp_cwnd_reduction
            rescue: false,                             // it has none
            tail_loss_probe: true,                     // tcp_send_loss_probe
            undo: true,                                // tcp_try_undo_recovery
            rtt: RttSource::SendTimes,                 // tcp_ack_update_rtt
            timer_tick: Duration::from_millis(4),      // 250 Hz
            rto: RtoRule::Linux,                       // tcp_rtt_estimator
            min_rto: Duration::from_millis(200),       // TCP_RTO_MIN
            max_rto: Duration::from_millis(120_000),   // TCP_RTO_MAX
            time_wait: Duration::from_millis(60_000),  // TCP_TIMEWAIT_LEN
            zero_window_probe: WindowProbe::Empty,     // tcp_xmit_probe_skb
            window_update: WindowUpdate::Doubled,      // tcp_cleanup_rbuf
            ack_delay: Duration::from_millis(40),      // TCP_DELACK_MIN
            quick_acks: 16,                            // TCP_MAX_QUICKACKS
            ack_pushed: true,                          // tcp_cleanup_rbuf, since 6.6
            ack_interactive: true,                     // inet_csk_enter_pingpong_mode
            ack_growing_window: true,                  // __tcp_ack_snd_check
            segmentation_offload: true,                // tcp_tso_autosize
            pacing_rule: PacingRule::Linux,            // tcp_update_skb_after_send
            ack_compression: Duration::from_millis(1), // tcp_comp_sack_delay_ns
            ..Profile::rfc()
        }
    }

    /// Linux 3.2 at 250 Hz, as Debian 7 has it (Ben Ameur et al. 2016; docs/tcp.md).
    pub fn linux3_2() -> Profile {
        Profile {
            name: "linux3.2",
            header: 66,                                    // with Ethernet's
            max_window: 3 << 20,                           // tcp_rmem[2] of 4 MiB
            count_acks: true,                              // tcp_reno_cong_avoid
            byte_counting: false,                          // tcp_abc is 0
            whole_segments: true,                          // snd_cwnd counts packets
            half_of: WindowBase::Window,                   // tcp_reno_ssthresh
            slow_start_at_threshold: true,                 // tcp_reno_cong_avoid
            slow_start: SlowStart::Hystart,                // tcp_cubic.c
            window_used: WindowUse::Third,                 // tcp_is_cwnd_limited
            window_decay: true,                            // tcp_cwnd_validate
            restart_after_idle: IdleRestart::HalvingWhole, // tcp_cwnd_restart
            loss_detection: LossDetection::FackAdaptive,   // tcp_update_scoreboard
            moderation: true,                              // tcp_moderate_cwnd
            deflate_at_exit: false,                        // tcp_complete_cwr
            reduction: Reduction::ProportionalOrHalving,   // tcp_update_cwnd_in_recovery, tcp_cwnd_down
            rescue: false,                                 // it has none
            f_rto: true,                                   // tcp_enter_frto
            undo: true,                                    // tcp_try_undo_recovery
            undo_to: UndoTo::TwiceThreshold,               // tcp_undo_cwr
            clock_tick: Duration::from_millis(4),          // 250 Hz
            timer_tick: Duration::from_millis(4),          // 250 Hz
            timer_wheel: TimerWheel::Exact,                // kernel/timer.c
            rto: RtoRule::LinuxTicks,                      // tcp_rtt_estimator
            min_rto: Duration::from_millis(200),           // TCP_RTO_MIN
            max_rto: Duration::from_millis(120_000),       // TCP_RTO_MAX
            time_wait: Duration::from_millis(60_000),      // TCP_TIMEWAIT_LEN
            zero_window_probe: WindowProbe::Empty,         // tcp_xmit_probe_skb
            window_update: WindowUpdate::Doubled,          // tcp_cleanup_rbuf
            ack_delay: Duration::from_millis(40),          // TCP_DELACK_MIN
            ack_delay_max: Duration::from_millis(200),     // TCP_DELACK_MAX
            quick_acks: 16,                                // TCP_MAX_QUICKACKS
            ack_interactive: true,                         // pingpong mode
            ..Profile::rfc()
        }
    }

    /// TCP NewReno of ns-3 release 3.26 (docs/tcp.md).
    pub fn ns3_26() -> Profile {
        Profile {
            name: "ns3.26",
            mss: 1446,
            header: 54,
            syn_extra: 4,
            max_window: 131_072,
            write: Some(512),
            initial_window: 1.0,
            byte_counting: false,
            slow_start: SlowStart::Standard,
            window_validation: false,
            restart_after_idle: IdleRestart::Never,
            sack: false,
            loss_detection: LossDetection::DuplicateAcks,
            limited_transmit_window: false, // ns-3.26 does not ask
            reduction: Reduction::AtOnce,
            rescue: false,
            syn_rto: Duration::from_millis(3000),
            retries: Some(6),
            timeout_window_once: true,
            quick_acks: 1,
            ..Profile::rfc()
        }
    }

    /// ns-2's one-way agents (Agent/TCP/Newreno, with `sack` Agent/TCP/Sack1; docs/tcp.md).
    pub fn ns2() -> Profile {
        Profile {
            name: "ns2",
            mss: 1460,
            header: 40,
            syn_extra: 0,
            initial_window: 1.0,
            threshold_from_window: true,
            byte_counting: false,
            whole_bytes: false,
            half_of: WindowBase::Window,
            slow_start: SlowStart::Standard,
            window_validation: false,
            restart_after_idle: IdleRestart::Never,
            sack: false,
            loss_detection: LossDetection::DuplicateAcks,
            deflate_at_exit: false,
            reduction: Reduction::AtOnce,
            rescue: false,
            rtt: RttSource::OneSegment,
            clock_tick: Duration::from_millis(10),
            rto: RtoRule::Ticks,
            syn_rto: Duration::from_millis(3000),
            time_wait: Duration::ZERO, // its FullTcp has none
            retries: None,
            ack_every: 1,
            ..Profile::rfc()
        }
    }

    /// ns-2's Agent/TCP/Linux with SACK and timestamps (Sanhaji 2015; docs/tcp.md).
    pub fn ns2_linux() -> Profile {
        Profile {
            name: "ns2-linux",
            window_clamp: true, // LinuxTcpAgent::send_much
            initial_window: 2.0,
            slow_start_segments: None,
            byte_counting: true,
            whole_segments: true,
            count_delivered: true,
            reduce_after_timeout: true,
            slow_start_at_threshold: true,
            window_validation: true,
            restart_after_idle: IdleRestart::InitialWindow,
            sack: true,
            loss_detection: LossDetection::Fack,
            reduction: Reduction::RateHalving,
            rtt: RttSource::Timestamps,
            clock_tick: Duration::from_millis(1),
            rto: RtoRule::AnyAck,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_millis(120_000),
            ..Profile::ns2()
        }
    }

    /// Whether rules of a current Linux kernel apply that no option names: those of the profile that sends in bursts.
    #[inline]
    pub(crate) fn is_linux(&self) -> bool {
        self.segmentation_offload
    }

    /// The tick in which the timeout is computed, ns: the clock's, for `any-ack` no less than ns-2's millisecond.
    #[inline]
    pub(crate) fn jiffy(&self) -> u64 {
        if self.rto == RtoRule::AnyAck { self.clock_tick.0.max(1_000_000) } else { self.clock_tick.0 }
    }

    /// The value of the timestamp clock, which wraps.
    #[inline]
    pub fn clock_at(&self, now: Time) -> u32 {
        (now.0 / self.clock_tick.0) as u32
    }

    /// Replaces the lines given in a scenario's `tcp` table; says what cannot be.
    pub fn apply(&mut self, values: &Values) -> Vec<Problem> {
        for line in LINES {
            if let Some(value) = values.get(line.param.name) {
                (line.set)(self, value);
            }
        }
        let given = |name: &str| values.get(name).is_some();
        if let Some(conex) = values.at(CONEX) {
            self.conex = Some(conex);
            // Re-ECN's retransmissions say nothing (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.7).
            if self.is_conex_over_ipv4() && !self.ecn.is_re_ecn() && !given(line::ecn_on_retransmissions.name)
            {
                self.ecn_on_retransmissions = true;
            }
        }
        if !self.sack && !given(line::loss_detection.name) {
            self.loss_detection = LossDetection::DuplicateAcks;
        } else if self.sack
            && self.loss_detection == LossDetection::DuplicateAcks
            && !given(line::loss_detection.name)
        {
            self.loss_detection = LossDetection::Sack;
        }
        self.max_rto = self.max_rto.max(self.min_rto);
        let mut problems: Vec<Problem> = Vec::new();
        let mut wrong = |name: &'static str, why: String| problems.push((name, why));
        if self.mss + self.header + self.syn_extra > 65_535 {
            wrong(line::mss.name, "mss + header must fit in 65535 bytes".into());
        }
        if self.max_window < self.mss {
            wrong(line::max_window.name, format!("must hold one segment of {} bytes", self.mss));
        }
        if self.send_buffer < self.mss {
            wrong(line::send_buffer.name, format!("must hold one segment of {} bytes", self.mss));
        }
        if let Some(write) = self.write.filter(|write| u64::from(*write) > self.buffer()) {
            let line = if given(line::write.name) {
                line::write.name
            } else if self.is_buffer_bounded() {
                line::send_buffer.name
            } else {
                line::max_window.name
            };
            wrong(
                line,
                format!("a write of {write} bytes does not fit into a send buffer of {}", self.buffer()),
            );
        }
        if self.partial_ack != PartialAck::NextHole && self.sack {
            wrong(line::partial_ack.name, format!("{} is only for sack = false", self.partial_ack.word()));
        }
        if !self.window_scaling && self.max_window > 65_535 {
            if given(line::max_window.name) {
                wrong(line::max_window.name, "more than 65535 bytes needs window_scaling (RFC 7323)".into());
            } else {
                self.max_window = 65_535;
            }
        }
        match (self.sack, self.loss_detection) {
            (true, LossDetection::DuplicateAcks) => {
                wrong(line::loss_detection.name, "duplicate-acks is only for sack = false".into());
            }
            (true, _) | (false, LossDetection::DuplicateAcks) => {}
            (false, detection) => {
                wrong(line::loss_detection.name, format!("{} needs sack = true", detection.word()));
            }
        }
        if !self.sack && given(line::reduction.name) && self.reduction != Reduction::AtOnce {
            wrong(line::reduction.name, format!("{} needs sack = true", self.reduction.word()));
        }
        if self.tail_loss_probe && self.loss_detection != LossDetection::Rack {
            if given(line::tail_loss_probe.name) {
                wrong(line::tail_loss_probe.name, "needs loss_detection = \"rack\" (RFC 8985)".into());
            }
            self.tail_loss_probe = false;
        }
        if self.loss_detection != LossDetection::FackAdaptive {
            for (name, line) in
                [(line::f_rto.name, &mut self.f_rto), (line::moderation.name, &mut self.moderation)]
            {
                if *line && given(name) {
                    wrong(name, "needs loss_detection = \"fack-adaptive\" (Linux 3.2)".into());
                }
                *line = false;
            }
            if self.cached_reordering.is_some() {
                wrong(
                    line::cached_reordering.name,
                    "needs loss_detection = \"fack-adaptive\" (Linux 3.2)".into(),
                );
            }
        }
        if self.cached_rttvar > Duration::ZERO && self.cached_srtt == Duration::ZERO {
            wrong(line::cached_rttvar.name, "needs cached_srtt".into());
        }
        if self.rtt == RttSource::SendTimes && !self.sack {
            if given(line::rtt.name) {
                wrong(line::rtt.name, "send-times needs sack = true, which keeps send times".into());
            }
            self.rtt = RttSource::Timestamps;
        }
        if self.ecn == Ecn::PerPacket && self.ack_every != 1 {
            if given(line::ack_every.name) {
                wrong(
                    line::ack_every.name,
                    "ecn = \"per-packet\" needs an ACK for every segment: ack_every = 1".into(),
                );
            } else {
                wrong(
                    line::ecn.name,
                    "\"per-packet\" needs ack_every = 1; this stack acknowledges every second segment".into(),
                );
            }
        }
        if self.accurate_ecn_option && self.ecn != Ecn::Accurate {
            wrong(line::accurate_ecn_option.name, "needs ecn = \"accurate\" (RFC 9768)".into());
        }
        if matches!(self.ecn, Ecn::Off | Ecn::Gateway) {
            let again = self.ecn_on_retransmissions && !self.is_conex_over_ipv4();
            let lines = [
                (line::ect.name, self.ect != Ect::Zero),
                (line::ecn_on_retransmissions.name, again),
                (line::ecn_on_control.name, self.ecn_on_control),
            ];
            for (name, _) in lines.into_iter().filter(|(name, set)| *set && given(name)) {
                wrong(name, "has no effect with ecn = \"off\"".into());
            }
        }
        match (self.ecn, self.peer_ecn) {
            (_, PeerEcn::Same)
            | (Ecn::Accurate | Ecn::ReEcn | Ecn::ReEcnUnlimited, _)
            | (Ecn::Classic, PeerEcn::Off | PeerEcn::Classic) => {}
            (Ecn::Off, _) => wrong(line::peer_ecn.name, "has no effect with ecn = \"off\"".into()),
            (asked, peer) => {
                wrong(
                    line::peer_ecn.name,
                    format!("\"{}\" cannot answer ecn = \"{}\"", peer.word(), asked.word()),
                );
            }
        }
        self.check_conex(&mut problems);
        problems
    }

    fn check_conex(&self, problems: &mut Vec<Problem>) {
        if self.ecn.is_re_ecn() && !self.is_conex_over_ipv4() {
            let why = format!(
                "\"{}\" is for a sender that reports congestion in the codes of IPv4: add conex = {{ unit = \
                 \"packets\", credit = \"first-and-third\" }}; nearest: \"accurate\"",
                self.ecn.word()
            );
            problems.push((line::ecn.name, why));
        }
        let Some(conex) = &self.conex else { return };
        if self.ecn == Ecn::Gateway {
            let why = "\"gateway\" is for a sender without ConEx: the gateway reports on outer headers; \
                       leave conex out";
            problems.push((line::ecn.name, why.into()));
        }
        if self.ecn == Ecn::Off && conex.report == Reports::LossAndEcn {
            problems.push((
                "conex.report",
                "marks do not return with ecn = \"off\"; nearest: report = \"loss\", or ecn = \"accurate\" \
                 if a queue marks"
                    .into(),
            ));
        }
        if self.ecn == Ecn::Off && conex.cheat == Cheat::HideMarks {
            problems.push(("conex.cheat", "hide-marks has no effect with ecn = \"off\"".into()));
        }
        if conex.undo_spurious && !self.sack {
            problems.push((
                "conex.undo_spurious",
                "needs sack = true, which reports duplicates (RFC 2883)".into(),
            ));
        }
        if self.ecn.is_re_ecn() && self.ecn_on_control {
            let why = "re-ECN's SYNs carry FNE, and its pure ACKs are not ECN-capable (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.7)";
            problems.push((line::ecn_on_control.name, why.into()));
        } else if self.is_conex_over_ipv4() && self.ecn_on_control && self.ect == Ect::One {
            problems.push((
                line::ect.name,
                "with ecn_on_control pure ACKs would be ECT(1) without RE, which means Re-Echo; nearest: ect \
                 = \"0\", or conex.encoding = \"ipv6\""
                    .into(),
            ));
        }
    }

    /// The IP header bits of a handshake segment, for a sender with the ECN mode `mode`. With re-ECN it is
    /// FNE, also if the other end has only RFC 3168 (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.6).
    /// Otherwise it is the field of control packets.
    pub(crate) fn opening_bits(&self, mode: Ecn) -> u8 {
        if self.ecn.is_re_ecn() && mode != Ecn::Off {
            return packet::bits_of(Signals::CREDIT).unwrap_or_default();
        }
        self.ect_where(self.ecn_on_control && mode != Ecn::Off) as u8
    }

    /// Whether its data carries the codepoints of re-ECN.
    pub(crate) fn is_conex_over_ipv4(&self) -> bool {
        self.conex.is_some_and(|conex| conex.encoding == Encoding::Ipv4)
    }

    /// The expiry of a timer set at `now` for `delay`. A kernel rounds the delay up to whole ticks, and adds
    /// one tick to the current one. Above 63 ticks its wheel has slots of 8, above 504 of 64.
    #[inline]
    pub fn due(&self, now: Time, delay: Duration) -> Time {
        if self.timer_tick == Duration::ZERO { now + delay } else { self.due_at_tick(now, delay) }
    }

    #[inline(never)]
    fn due_at_tick(&self, now: Time, delay: Duration) -> Time {
        let tick = self.timer_tick.0;
        let ticks = delay.0.div_ceil(tick);
        if self.timer_wheel == TimerWheel::Exact {
            return Time((now.0 / tick).saturating_add(ticks).saturating_mul(tick));
        }
        let slot = match ticks {
            0..63 => 1,
            63..504 => 8,
            504..4032 => 64,
            _ => 512,
        };
        let end = (now.0 / tick).saturating_add(ticks) / slot + 1;
        Time(end.saturating_mul(slot).saturating_mul(tick))
    }

    /// Whether the send buffer has a size separate from `max_window`.
    #[inline]
    pub fn is_buffer_bounded(&self) -> bool {
        self.send_buffer < UNBOUNDED
    }

    /// The send buffer, bytes.
    #[inline]
    pub fn buffer(&self) -> u64 {
        if self.is_buffer_bounded() { self.send_buffer } else { self.max_window }
    }

    /// The largest window that the other end can tell, bytes.
    pub fn largest_window(&self) -> u64 {
        self.max_window.min(MOST_OUT)
    }

    /// Receive window in bytes that a sender assumes until one is advertised.
    pub fn receive_window(&self) -> u64 {
        if self.window_clamp { MOST_OUT } else { self.largest_window() }
    }

    /// Most bytes that a sender may have unacknowledged.
    pub fn most_out(&self) -> u64 {
        self.receive_window().min(self.send_buffer)
    }

    /// The payload of a full segment, bytes, as a real number.
    #[inline(always)]
    pub fn segment(&self) -> f64 {
        self.mss as i64 as f64 // a signed number converts in one instruction
    }

    /// Every line with its value; `stack` first, ConEx last where there is any. [`OFF`] lines only where they differ
    /// from the named profile.
    pub fn lines(&self) -> Vec<(&'static str, Value)> {
        let stack = (STACK.name, Value::Word(self.name.into()));
        let conex = self.conex.map(|conex| (CONEX.name, Value::Table(conex.values())));
        let off = Profile::named(self.name).unwrap_or_else(Profile::rfc);
        let shown = |line: &&Line| !OFF.contains(&line.param.name) || (line.get)(self) != (line.get)(&off);
        let lines = LINES.iter().filter(shown).map(|line| (line.param.name, (line.get)(self)));
        std::iter::once(stack).chain(lines).chain(conex).collect()
    }

    /// SYNs that are repeated after the first timeout without doubling it, in addition to `syn_tries`: Linux's
    /// `tcp_syn_linear_timeouts`, since 6.5.
    #[inline]
    pub(crate) fn linear_syns(&self) -> u32 {
        if self.name == "linux" { 4 } else { 0 }
    }

    /// The ECN field of new data where the ends have settled on `mode`.
    #[inline]
    pub(crate) fn data_field(&self, mode: Ecn) -> evenflow_base::Ecn {
        self.ect_where(!matches!(mode, Ecn::Off | Ecn::Gateway))
    }

    /// The ECN field of what is no new data: [`Ect`] where `on` says that this is ECN-capable too.
    #[inline]
    pub(crate) fn ect_where(&self, on: bool) -> evenflow_base::Ecn {
        if on { self.ect.field() } else { evenflow_base::Ecn::NotCapable }
    }
}

/// The `tcp` table of a group. `congestion_control` may also be a table with a `kind`.
pub static TCP: Mechanism = Mechanism {
    kind: "tcp",
    title: "TCP of a group",
    example: r#"[groups.users.tcp]
stack = "linux"
congestion_control = "cubic"
initial_window = "10 packets""#,
    doc: "A TCP profile, whose options may be overridden, and a congestion control.",
    source: "docs/tcp.md",
    params: PARAMS,
    observables: crate::sender::observe::View::OBSERVABLES,
    deviations: &[Deviation {
        what: "save_metrics is off in linux3.2 too; Linux keeps route metrics by default.",
        why: "Connections must not depend on earlier ones unless a scenario requests it.",
    }],
    ..Mechanism::of(Room::Stack)
};
