//! Virtual-queue marking: a slower and shorter virtual queue triggers marks before the real queue grows
//! (Gibbens and Kelly, Automatica 1999; Siris et al., Computer Communications 2002, section 4.2).
//!
//! The virtual FIFO has `rate_factor` times the link's rate and `buffer_factor` times `buffer`. A packet that
//! does not fit is virtually lost. Marking lasts from a virtual loss until the virtual queue is empty; `mark`
//! selects the packets. Not modelled: the adaptive virtual queue.
//!
//! Settings: 0.95 for both factors, a buffer of some tens of packets. `overflow` marks at most a share of 1 -
//! `rate_factor`.

use std::collections::VecDeque;

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Range, Room, Traits, Value, Values};
use evenflow_base::{Heap, Packet, Rate, Stream, Time};

use crate::action::{ACTION, mark};
use crate::{Action, LinkFacts, Occupancy, Reason, Rule, Verdict};

words! {
    /// Which packets are marked.
    pub enum Mark {
        /// Those that arrive between a virtual loss and the end of the virtual busy period, the lost one included.
        BusyArrival = "busy-arrival",
        /// Those that leave the real queue in that time.
        BusyDeparture = "busy-departure",
        /// The virtually lost alone (Gibbens, Key, Turner 2001).
        Overflow = "overflow",
    }
}

/// How much fits into the virtual queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Packets; the one in virtual transmission counts with its remaining part.
    Packets(f64),
    /// Bytes.
    Bytes(f64),
}

/// Its configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// See [`Mark`].
    pub mark: Mark,
    /// θ_C C, bytes a second.
    pub drain: f64,
    /// θ_B B.
    pub room: Size,
    /// The action on picked packets.
    pub action: Action,
}

impl Params {
    /// From decoded values; the capacity defaults to the link's rate.
    pub fn new(values: &Values, rate: Option<Rate>) -> Result<Params, Vec<Problem>> {
        let mut problems: Vec<Problem> = Vec::new();
        let given = Given::read(values);
        let capacity = given.capacity.or(rate);
        if capacity.is_none() {
            problems.push(("capacity", "is required: the link has no rate".into()));
        }
        let (mark, action) = (given.mark, given.action);
        if mark == Mark::BusyDeparture && action != Action::MarkEverything {
            problems.push((
                "action",
                "must be \"mark-everything\" with mark = \"busy-departure\": departing packets cannot be \
                 dropped"
                    .into(),
            ));
        }
        let factor = given.buffer_factor;
        let room = match given.buffer {
            Value::Bytes(b) => Size::Bytes(b * factor),
            packets => Size::Packets(packets.number().unwrap_or(0.0) * factor),
        };
        if let Size::Packets(packets) = room
            && packets < 1.0
        {
            problems
                .push(("buffer", format!("times buffer_factor must be at least 1 packet; it is {packets}")));
        }
        match (capacity, problems.is_empty()) {
            (Some(capacity), true) => {
                let drain = given.rate_factor * capacity.0 / 8.0;
                Ok(Params { mark, drain, room, action })
            }
            _ => Err(problems),
        }
    }
}

/// The virtual FIFO: work in bytes, drained at a constant rate.
#[derive(Clone, Debug, Default)]
struct Backlog {
    /// Sizes of its packets, the one in virtual transmission first; empty where room is in bytes.
    sizes: VecDeque<u16>,
    /// Bytes of all of it that are left.
    bytes: f64,
    /// Bytes left of the first.
    head: f64,
    /// Last update.
    last: Time,
}

impl Backlog {
    /// Removes packets whose virtual transmission has ended by `now`.
    #[inline]
    fn drain(&mut self, now: Time, rate: f64) {
        let mut sent = rate * now.since(self.last).seconds();
        self.last = now;
        if sent >= self.bytes {
            self.bytes = 0.0;
            self.sizes.clear();
            return;
        }
        self.bytes -= sent;
        while sent >= self.head && self.sizes.len() > 1 {
            sent -= self.head;
            self.sizes.pop_front();
            self.head = f64::from(self.sizes[0]);
        }
        self.head -= sent;
    }

    /// v: packets, the first with the part of it that is left.
    #[inline]
    fn packets(&self) -> f64 {
        match self.sizes.front() {
            Some(first) => self.sizes.len() as f64 - 1.0 + self.head / f64::from(*first),
            None => 0.0,
        }
    }
}

/// The rule and its state.
#[derive(Clone, Debug)]
pub struct VirtualQueue {
    params: Params,
    backlog: Backlog,
    /// Whether there has been a virtual loss in this virtual busy period.
    overflowed: bool,
}

impl VirtualQueue {
    /// A rule that has seen nothing.
    pub fn new(params: Params) -> VirtualQueue {
        VirtualQueue { params, backlog: Backlog::default(), overflowed: false }
    }

    /// Brings the virtual queue to `now`. The mark ends with its busy period.
    #[inline]
    fn advance(&mut self, now: Time) {
        self.backlog.drain(now, self.params.drain);
        self.overflowed &= self.backlog.bytes > 0.0;
    }

    /// A packet arrives at the virtual queue; says whether it is lost there.
    #[inline]
    fn arrive(&mut self, size: u16, now: Time) -> bool {
        self.advance(now);
        let bytes = f64::from(size);
        let lost = match self.params.room {
            Size::Packets(room) => self.backlog.packets() + 1.0 > room,
            Size::Bytes(room) => self.backlog.bytes + bytes > room,
        };
        if lost {
            self.overflowed = true;
            return true;
        }
        if self.backlog.bytes == 0.0 {
            self.backlog.head = bytes;
        }
        self.backlog.bytes += bytes;
        if let Size::Packets(_) = self.params.room {
            self.backlog.sizes.push_back(size);
        }
        false
    }
}

impl Rule for VirtualQueue {
    fn build(values: &Values, link: LinkFacts) -> Result<VirtualQueue, Vec<Problem>> {
        Params::new(values, link.rate).map(VirtualQueue::new)
    }

    fn admit(&mut self, packet: &mut Packet, now: Time, seen: &Occupancy, _draws: &mut Stream) -> Verdict {
        let lost = self.arrive(packet.size, now);
        if seen.full {
            return Verdict::Drop(Reason::Limit);
        }
        let picked = match self.params.mark {
            Mark::BusyArrival => self.overflowed,
            Mark::BusyDeparture => false,
            Mark::Overflow => lost,
        };
        if picked { self.params.action.apply(packet, Reason::Virtual) } else { Verdict::Accept }
    }

    /// Whether it marks packets that leave.
    fn sees_dequeue(&self) -> bool {
        self.params.mark == Mark::BusyDeparture
    }

    fn on_dequeue(&mut self, packet: &mut Packet, _at: Time, now: Time, _seen: &Occupancy) -> Verdict {
        if self.params.mark != Mark::BusyDeparture {
            return Verdict::Accept;
        }
        self.advance(now);
        if self.overflowed && mark(packet) { Verdict::Mark(Reason::Virtual) } else { Verdict::Accept }
    }

    fn heap_bytes(&self) -> u64 {
        self.backlog.sizes.heap_bytes()
    }
}

const FACTOR: Range = Range { min: 0.0, closed: false, max: 1.0 };

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Packets to mark: arrivals between a virtual loss and the end of the virtual busy period,
        /// departures in that time, or virtually lost packets only.
        mark: Mark = Mark::TYPE, Text("busy-arrival")
            => source: "Siris et al. 2002, section 4.2; departures: Gibbens and Kelly 1999; overflow: Gibbens, Key, Turner 2001";
        /// Rate of the virtual queue divided by the link's rate.
        rate_factor: f64 = Number, Text("0.95"), FACTOR => source: "Siris et al. 2002, section 5 (theta)";
        /// Size of the virtual queue divided by `buffer`.
        buffer_factor: f64 = Number, Text("0.95"), FACTOR
            => source: "Siris et al. 2002, section 5 (theta, the same for rate and buffer)";
        /// Size of the imitated queue. In packets, the one in virtual transmission counts with its remaining
        /// part.
        buffer: Value = PacketsOrBytes, Text("30 packets"), Range::POSITIVE
            => source: "Siris et al. 2002, section 5 (B)";
        /// See [`ACTION`].
        action: Action = ACTION;
        /// Rate that rate_factor multiplies.
        capacity: Option<Rate> = Rate, Absent("the link's rate at the start"), Range::POSITIVE
            => source: "Siris et al. 2002, section 4.2";
    }
}

observables! {
    VirtualQueue: queue;
    virtual_length: "packets or B", "Length of the virtual queue at the last packet."
        => match queue.params.room {
            Size::Packets(_) => queue.backlog.packets(),
            Size::Bytes(_) => queue.backlog.bytes,
        };
    marking: "1", "1 from a virtual loss to the end of the virtual busy period." => queue.overflowed;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "virtual-queue",
    room: Room::Queue,
    traits: Traits { marks_in_runs: true, ..Mechanism::PLAIN },
    title: "Virtual queue marking",
    example: r#"[links.bottleneck.queue]
kind = "virtual-queue"
limit = "100 packets"
buffer = "30 packets"
rate_factor = 0.95"#,
    doc: "Marks packets from an overflow of a virtual queue until it is empty. The virtual queue is slower \
          and shorter than the real one and sees the same arrivals.",
    source: "Gibbens and Kelly, Automatica 1999; Siris et al., Computer Communications 2002, section 4.2",
    params: Given::PARAMS,
    observables: VirtualQueue::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The real queue was full."),
        Counter::new("virtual", "The virtual queue overflowed."),
    ],
    deviations: &[
        Deviation {
            what: "A packet that the real queue drops still enters the virtual queue.",
            why: "The papers assume a real queue without loss.",
        },
        Deviation {
            what: "With busy-departure a packet is marked when its transmission begins.",
            why: "Gibbens and Kelly mark packets that leave the queue. A packet in transmission cannot \
                  change.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::{Duration, Ecn, Stream};

    /// 1000 bytes take 1 ms virtually.
    fn params(mark: Mark, room: Size) -> Params {
        Params { mark, drain: 1e6, room, action: Action::MarkEverything }
    }

    fn packet(size: u16) -> Packet {
        Packet::new(0, size, size).with_ecn(Ecn::Capable0)
    }

    fn seen() -> Occupancy {
        Occupancy { packets: 0, bytes: 0, rate: Some(Rate(10e6)), full: false, idle_since: None }
    }

    fn ms(t: f64) -> Time {
        Time::ZERO + Duration::from_seconds(t / 1e3)
    }

    fn marks(rule: &mut VirtualQueue, size: u16, at: f64) -> bool {
        matches!(
            rule.admit(&mut packet(size), ms(at), &seen(), &mut Stream::scripted([])),
            Verdict::Mark(Reason::Virtual)
        )
    }

    #[test]
    fn marks_from_the_virtual_loss_to_the_end_of_the_busy_period() {
        // Room for 2.5 packets. The third at 0 does not fit (2 + 1 > 2.5); virtually empty at 2 ms.
        let mut rule = VirtualQueue::new(params(Mark::BusyArrival, Size::Packets(2.5)));
        assert_eq!([0.0; 3].map(|t| marks(&mut rule, 1000, t)), [false, false, true]);
        // At 1.6 ms 0.4 are left and it enters: v = 1.4, empty at 3 ms. Still marking, though there is room.
        assert!(marks(&mut rule, 1000, 1.6));
        assert!((rule.observe("virtual_length").unwrap() - 1.4).abs() < 1e-12);
        assert!(marks(&mut rule, 1000, 2.9)); // v was 0.1, is 1.1: empty at 4 ms
        assert!(!marks(&mut rule, 1000, 4.0)); // the busy period ended at this very instant
    }

    #[test]
    fn a_virtually_lost_packet_is_not_added() {
        let mut rule = VirtualQueue::new(params(Mark::BusyArrival, Size::Packets(1.0)));
        assert!(!marks(&mut rule, 1000, 0.0));
        for _ in 0..5 {
            assert!(marks(&mut rule, 1000, 0.5));
        }
        assert_eq!(rule.observe("virtual_length"), Some(0.5));
        assert!(!marks(&mut rule, 1000, 1.0));
    }

    #[test]
    fn overflow_marks_the_lost_alone() {
        let mut rule = VirtualQueue::new(params(Mark::Overflow, Size::Packets(2.5)));
        assert_eq!([0.0; 3].map(|t| marks(&mut rule, 1000, t)), [false, false, true]);
        assert!(!marks(&mut rule, 1000, 1.6)); // 0.4 + 1 fits
        assert!(!marks(&mut rule, 1000, 1.7)); // 1.3 + 1 fits
        assert!(marks(&mut rule, 1000, 1.7)); // 2.3 + 1 does not
        assert!(!marks(&mut rule, 1000, 2.6)); // 1.4 + 1 does, in the same busy period
    }

    #[test]
    fn departures_are_marked_while_the_flag_stands_and_arrivals_are_not() {
        let mut rule = VirtualQueue::new(params(Mark::BusyDeparture, Size::Packets(2.5)));
        assert_eq!([0.0; 3].map(|t| marks(&mut rule, 1000, t)), [false; 3]);
        let mut leaving = packet(1000);
        assert_eq!(rule.on_dequeue(&mut leaving, ms(0.0), ms(1.9), &seen()), Verdict::Mark(Reason::Virtual));
        assert_eq!(leaving.ecn(), Ecn::Congestion);
        assert_eq!(rule.on_dequeue(&mut packet(1000), ms(0.0), ms(2.0), &seen()), Verdict::Accept);
        let mut incapable = packet(1000).with_ecn(Ecn::NotCapable);
        marks(&mut rule, 1000, 3.0);
        marks(&mut rule, 1000, 3.0);
        marks(&mut rule, 1000, 3.0);
        assert_eq!(rule.on_dequeue(&mut incapable, ms(0.0), ms(3.0), &seen()), Verdict::Accept);
    }

    #[test]
    fn packets_of_any_size_count_as_one_and_the_head_by_what_is_left_of_it() {
        let mut rule = VirtualQueue::new(params(Mark::BusyArrival, Size::Packets(10.0)));
        marks(&mut rule, 1000, 0.0);
        marks(&mut rule, 100, 0.0);
        marks(&mut rule, 500, 0.0);
        marks(&mut rule, 40, 0.25); // 750 of the first are left: 0.75 + 2, and itself
        assert!((rule.observe("virtual_length").unwrap() - 3.75).abs() < 1e-12);
        marks(&mut rule, 40, 1.2); // 1000, 100 and 100 of 500 sent: 0.8 + 1, and itself
        assert!((rule.observe("virtual_length").unwrap() - 2.8).abs() < 1e-12);
    }

    #[test]
    fn room_in_bytes() {
        let mut rule = VirtualQueue::new(params(Mark::BusyArrival, Size::Bytes(1500.0)));
        assert!(!marks(&mut rule, 1000, 0.0));
        assert!(!marks(&mut rule, 500, 0.0)); // fills it exactly
        assert!(marks(&mut rule, 1, 0.0));
        assert_eq!(rule.observe("virtual_length"), Some(1500.0));
        assert!(marks(&mut rule, 1000, 0.5)); // 1000 are left, 500 free: lost
        assert!(!marks(&mut rule, 1000, 1.5));
    }

    #[test]
    fn room_for_nothing_is_refused() {
        let values = |buffer: Value, mark: &str, action: &str| {
            Values(
                [
                    ("mark", Value::Word(mark.into())),
                    ("rate_factor", Value::Number(0.95)),
                    ("buffer_factor", Value::Number(0.5)),
                    ("buffer", buffer),
                    ("action", Value::Word(action.into())),
                ]
                .into_iter()
                .collect(),
            )
        };
        let of = |v: Values| {
            Params::new(&v, None).unwrap_err().into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(
            of(values(Value::Packets(1.9), "busy-departure", "mark")),
            ["capacity", "action", "buffer"]
        );
        let sound = values(Value::Packets(2.0), "busy-departure", "mark-everything");
        assert_eq!(Params::new(&sound, Some(Rate(8e6))).unwrap().drain, 0.95e6);
    }
}
