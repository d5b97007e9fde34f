//! By hand, and against the pseudo-code as RFC 8289 prints it.

use std::collections::VecDeque;

use evenflow_base::{Ecn, Stream};

use super::*;

const MS: u64 = 1_000_000;

fn params() -> Params {
    Params {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        max_packet: 1500,
        ecn: true,
        ce_threshold: None,
        ce_threshold_selector: None,
    }
}

fn packet(ecn: Ecn) -> Packet {
    Packet::new(0, 1500, 1448).with_ecn(ecn)
}

/// Shows a head that has waited `waited` ms at `now` ms, with plenty behind it.
fn shown(state: &mut State, p: &Params, now: u64, waited: u64, ecn: Ecn) -> Verdict {
    let now = Time(now * MS);
    state.head(p, &mut packet(ecn), Time(now.0 - waited * MS), now, 100_000)
}

#[test]
fn the_control_law_by_hand() {
    let law = |count| control_law(Time(7 * MS), Duration::from_millis(100), count).0;
    assert_eq!(law(1), 107 * MS);
    assert_eq!(law(4), 57 * MS); // 100 / 2
    assert_eq!(law(2), 7 * MS + 70_710_678); // 100 / 1.41421356…
    assert_eq!(law(100), 17 * MS);
}

#[test]
fn the_first_count_by_hand() {
    let first = |count, last, since_ms: u64| {
        first_count(
            count,
            last,
            Time(10_000 * MS),
            Time((10_000 - since_ms) * MS),
            Duration::from_millis(100),
        )
    };
    assert_eq!(first(0, 0, 0), 1); // never before
    assert_eq!(first(9, 1, 1599), 8); // within 16 intervals: with the last state's drops
    assert_eq!(first(9, 1, 1600), 1); // not any more
    assert_eq!(first(3, 2, 0), 1); // one drop is no experience
    // The next drop would still be to come: a negative difference in the pseudo-code.
    assert_eq!(first_count(9, 1, Time(0), Time(MS), Duration(1)), 8);
}

#[test]
fn nothing_is_dropped_before_a_whole_interval_above_the_target() {
    let (p, mut s) = (params(), State::default());
    assert_eq!(shown(&mut s, &p, 1000, 6, Ecn::NotCapable), Verdict::Accept);
    assert_eq!(s.first_above, Some(Time(1100 * MS)));
    assert_eq!(shown(&mut s, &p, 1099, 90, Ecn::NotCapable), Verdict::Accept);
    // Once below, and the interval begins anew.
    assert_eq!(shown(&mut s, &p, 1100, 4, Ecn::NotCapable), Verdict::Accept);
    assert_eq!(s.first_above, None);
    assert_eq!(shown(&mut s, &p, 1101, 5, Ecn::NotCapable), Verdict::Accept); // 5 ms is not below 5 ms
    assert_eq!(shown(&mut s, &p, 1200, 50, Ecn::NotCapable), Verdict::Accept);
    assert_eq!(shown(&mut s, &p, 1201, 50, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
}

#[test]
fn a_packet_with_no_more_than_an_mtu_behind_it_is_spared() {
    let p = params();
    for (behind, spared) in [(1500, true), (1501, false)] {
        let mut s = State::default();
        s.head(&p, &mut packet(Ecn::NotCapable), Time(0), Time(200 * MS), 9000);
        s.first_above = Some(Time(250 * MS));
        let verdict = s.head(&p, &mut packet(Ecn::NotCapable), Time(0), Time(300 * MS), behind);
        assert_eq!(verdict == Verdict::Accept, spared);
        assert_eq!(s.first_above.is_none(), spared);
    }
}

/// Constant overload, a departure every millisecond: drops at 100 ms after the first head above the target, then after
/// 100, 100/sqrt(2), 100/sqrt(3) … ms, each at the first departure that is not earlier.
#[test]
fn gaps_shrink_with_the_square_root_of_the_count() {
    let (p, mut s) = (params(), State::default());
    let mut drops = Vec::new();
    for now in 1000..2000 {
        while shown(&mut s, &p, now, 50, Ecn::NotCapable) == Verdict::Drop(Reason::Codel) {
            drops.push(now);
        }
    }
    let mut due = 1100.0;
    let mut expected = vec![1100];
    for count in 1..drops.len() {
        due += 100.0 / (count as f64).sqrt();
        expected.push(due.ceil() as u64);
    }
    assert_eq!(drops, expected);
    assert_eq!(&drops[..5], [1100, 1200, 1271, 1329, 1379]);
    // 2 sqrt(n) intervals take n drops: about (900 / 100 / 2)^2 = 20 of them, and some for the sum's start.
    assert_eq!(drops.len(), 27);
}

#[test]
fn the_states_on_a_trace_by_hand() {
    let (p, mut s) = (params(), State::default());
    shown(&mut s, &p, 1000, 6, Ecn::NotCapable);
    // 1100: enters, drops one, sends the next whatever it has waited.
    assert_eq!(shown(&mut s, &p, 1100, 6, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
    assert_eq!(shown(&mut s, &p, 1100, 6, Ecn::NotCapable), Verdict::Accept);
    assert_eq!((s.dropping, s.count, s.drop_next), (true, 1, Time(1200 * MS)));
    // 1199: not yet. 1200: count 2, next at 1270.7.
    assert_eq!(shown(&mut s, &p, 1199, 6, Ecn::NotCapable), Verdict::Accept);
    assert_eq!(shown(&mut s, &p, 1200, 6, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
    assert_eq!(shown(&mut s, &p, 1200, 6, Ecn::NotCapable), Verdict::Accept);
    assert_eq!((s.count, s.drop_next), (2, Time(1200 * MS + 70_710_678)));
    // 1400, late: drops at 1270.7 and 1328.4 (count 3, 4) are due at once; the third head is due at 1378.4 too (count 5),
    // the fourth at 1423.2.
    for count in 3..=5 {
        assert_eq!(shown(&mut s, &p, 1400, 6, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
        assert_eq!(s.count, count);
    }
    assert_eq!(shown(&mut s, &p, 1400, 6, Ecn::NotCapable), Verdict::Accept);
    assert_eq!(s.drop_next.0 / MS, 1423);
    // 1401: below the target: out. 1402 … 1502: above again for an interval; begins with 5 - 1 drops' experience.
    assert_eq!(shown(&mut s, &p, 1401, 4, Ecn::NotCapable), Verdict::Accept);
    assert!(!s.dropping);
    assert_eq!(shown(&mut s, &p, 1402, 6, Ecn::NotCapable), Verdict::Accept);
    assert_eq!(shown(&mut s, &p, 1502, 6, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
    assert_eq!((s.dropping, s.count, s.lastcount, s.drop_next), (true, 4, 4, Time(1552 * MS)));
}

#[test]
fn a_drop_that_brings_the_wait_below_the_target_ends_the_state() {
    let (p, mut s) = (params(), State::default());
    shown(&mut s, &p, 1000, 6, Ecn::NotCapable);
    shown(&mut s, &p, 1100, 6, Ecn::NotCapable);
    shown(&mut s, &p, 1100, 6, Ecn::NotCapable);
    assert_eq!(shown(&mut s, &p, 1200, 6, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
    assert_eq!(shown(&mut s, &p, 1200, 4, Ecn::NotCapable), Verdict::Accept);
    assert!(!s.dropping);
    assert_eq!(s.drop_next, Time(1200 * MS), "nothing is planned");
}

#[test]
fn an_empty_queue_ends_the_state_but_not_its_first_drop() {
    let (p, mut s) = (params(), State::default());
    shown(&mut s, &p, 1000, 6, Ecn::NotCapable);
    assert_eq!(shown(&mut s, &p, 1100, 6, Ecn::NotCapable), Verdict::Drop(Reason::Codel));
    s.emptied();
    assert_eq!((s.dropping, s.first_above), (true, None));
    s.emptied();
    assert!(!s.dropping);
}

#[test]
fn a_mark_counts_as_a_drop_and_leaves() {
    let (p, mut s) = (params(), State::default());
    shown(&mut s, &p, 1000, 6, Ecn::Capable0);
    assert_eq!(shown(&mut s, &p, 1100, 6, Ecn::Capable0), Verdict::Mark(Reason::Codel));
    assert_eq!((s.count, s.drop_next), (1, Time(1200 * MS)));
    // 1300, late: one mark for the departure, though a second is due.
    assert_eq!(shown(&mut s, &p, 1300, 6, Ecn::Capable1), Verdict::Mark(Reason::Codel));
    assert_eq!(s.count, 2);
    assert_eq!(shown(&mut s, &p, 1301, 6, Ecn::Congestion), Verdict::Mark(Reason::Codel));
    assert_eq!(s.count, 3);
    let deaf = Params { ecn: false, ..p };
    assert_eq!(shown(&mut s, &deaf, 1400, 6, Ecn::Capable0), Verdict::Drop(Reason::Codel));
}

#[test]
fn above_the_ce_threshold_every_capable_packet_is_marked() {
    let p = Params { ce_threshold: Some(Duration::from_millis(1)), ecn: false, ..params() };
    let mut s = State::default();
    assert_eq!(shown(&mut s, &p, 1000, 1, Ecn::Capable0), Verdict::Accept); // not longer
    assert_eq!(shown(&mut s, &p, 1000, 2, Ecn::Capable0), Verdict::Mark(Reason::CeThreshold));
    assert_eq!(shown(&mut s, &p, 1000, 2, Ecn::NotCapable), Verdict::Accept);
    shown(&mut s, &p, 1000, 6, Ecn::Capable0);
    assert_eq!(shown(&mut s, &p, 1100, 6, Ecn::Capable0), Verdict::Drop(Reason::Codel));
    let scalable = Params { ce_threshold_selector: Some(Selector::Scalable), ..p };
    let mut s = State::default();
    assert_eq!(shown(&mut s, &scalable, 1000, 2, Ecn::Capable0), Verdict::Accept);
    assert_eq!(shown(&mut s, &scalable, 1000, 2, Ecn::Capable1), Verdict::Mark(Reason::CeThreshold));
}

// --- RFC 8289 section 5, as it is printed ------------------------------------------------------------------------------

/// A queue with the routines of sections 5.5 and 5.6; times in ns.
#[derive(Default)]
struct Printed {
    packets: VecDeque<(u64, u64)>,
    bytes: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    lastcount: u64,
    dropping: bool,
    dropped: u64,
}

impl Printed {
    fn control_law(t: u64, count: u64) -> u64 {
        t + Duration::from_seconds(0.1 / (count as f64).sqrt()).0
    }

    fn dodequeue(&mut self, now: u64) -> (Option<u64>, bool) {
        let Some((at, size)) = self.packets.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= size;
        let mut ok_to_drop = false;
        if now - at < 5 * MS || self.bytes <= 1500 {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + 100 * MS;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(at), ok_to_drop)
    }

    fn dequeue(&mut self, now: u64) -> Option<u64> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.1 {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped += 1;
                self.count += 1;
                r = self.dodequeue(now);
                if r.1 {
                    self.drop_next = Printed::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.1 {
            self.dropped += 1;
            r = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 1600 * MS as i64 {
                self.count = delta;
            }
            self.drop_next = Printed::control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.0
    }
}

/// The same queue with ours at its head.
#[derive(Default)]
struct Ours {
    packets: VecDeque<(u64, u64)>,
    bytes: u64,
    state: State,
    dropped: u64,
}

impl Ours {
    fn dequeue(&mut self, now: u64) -> Option<u64> {
        loop {
            let Some((at, size)) = self.packets.pop_front() else {
                self.state.emptied();
                return None;
            };
            self.bytes -= size;
            let verdict =
                self.state.head(&params(), &mut packet(Ecn::NotCapable), Time(at), Time(now), self.bytes);
            if verdict == Verdict::Accept {
                return Some(at);
            }
            self.dropped += 1;
        }
    }
}

#[test]
fn ours_is_the_printed_pseudo_code() {
    let mut dice = Stream::new(1, "codel");
    let (mut printed, mut ours) = (Printed::default(), Ours::default());
    let (mut arrival, mut now, mut entries) = (MS, MS, 0);
    for n in 0..200_000 {
        // Loads of 0.6 to 1.4 of a link that sends a packet every millisecond, each for a while.
        let load = 0.6 + 0.2 * f64::from(n / 700 % 5);
        now += MS + dice.bits() % 1000;
        while arrival <= now {
            let size = [40, 576, 1500][(dice.bits() % 3) as usize];
            for (queue, bytes) in
                [(&mut printed.packets, &mut printed.bytes), (&mut ours.packets, &mut ours.bytes)]
            {
                queue.push_back((arrival, size));
                *bytes += size;
            }
            arrival += (dice.exponential(1.0 / load) * MS as f64) as u64;
        }
        let before = printed.dropping;
        assert_eq!(ours.dequeue(now), printed.dequeue(now), "departure {n}");
        let s = &ours.state;
        assert_eq!(
            (s.dropping, s.count, s.lastcount, s.drop_next.0, s.first_above.map_or(0, |t| t.0), ours.dropped),
            (
                printed.dropping,
                printed.count,
                printed.lastcount,
                printed.drop_next,
                printed.first_above_time,
                printed.dropped
            ),
            "departure {n}"
        );
        entries += u64::from(printed.dropping && !before);
    }
    assert!(entries > 50 && printed.dropped > 2 * entries, "{entries} entries, {} drops", printed.dropped);
}

/// It drops what a bucket has been charged for: no scheduler with one stands behind it.
#[test]
fn no_bucket_stands_behind_it() {
    assert!(crate::clash(&TABLE, &crate::tbf::TABLE).is_some());
    assert_eq!(crate::clash(&crate::pie::TABLE, &crate::tbf::TABLE), None);
}

/// A microsecond is the shortest interval, and is one.
#[test]
fn an_interval_is_a_microsecond_at_least() {
    let interval = TABLE.params.iter().find(|param| param.name == "interval").expect("it has one");
    assert!(interval.range.holds(1e-6) && !interval.range.holds(0.99e-6));
}
