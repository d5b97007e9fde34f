//! A queue discipline from outside the crates: it sees flows, has a clock and a stream, and marks.

use evenflow_base::{Carried, Duration, Ecn, Options, Packet, Rate, Reason, Stream, Time, Verdict};
use evenflow_link::counters::{SideCounters, Window};
use evenflow_link::{Account, Impairments, Link, Queue, Scheduled, Surroundings};
use evenflow_queue::held::{Dropped, Queued, Schedule, Sent};
use evenflow_queue::{Admission, DropTail, FlowTable, Gate, Limit, Qdisc, Scheduler};

/// Last in, first out. Marks for a tick's length if its stream says so; drops SYNs of host 7 and packets with SACK blocks.
#[derive(Debug)]
struct Lifo {
    packets: Vec<Queued>,
    stream: Stream,
    next: Time,
    marking: bool,
    unwanted: bool,
}

impl Schedule for Lifo {
    fn place(&mut self, _: usize, packet: &Packet, flows: &dyn FlowTable, _: Time) -> usize {
        let blocks = flows.options(packet).report.blocks().len();
        self.unwanted = flows.hosts(packet).0 == 7 || flows.dscp(packet) == 46 || blocks > 0;
        0
    }
    fn admit(&mut self, _: usize, _: &mut Packet, _: Time) -> Verdict {
        if self.unwanted { Verdict::Drop(Reason::Probe) } else { Verdict::Accept }
    }
    fn enqueue(&mut self, _: usize, item: Queued) {
        self.packets.push(item);
    }
    fn dequeue(&mut self, _: Time, _: &mut Vec<Dropped>) -> Option<Sent> {
        let mut item = self.packets.pop()?;
        let marks = self.marking && item.packet.ecn() != Ecn::NotCapable;
        if marks {
            item.packet.set_ecn(Ecn::Congestion);
        }
        Some((item, marks.then_some(Reason::Probe)))
    }
    fn sees_all(&self) -> bool {
        true
    }
    fn next_tick(&self) -> Time {
        self.next
    }
    fn tick(&mut self, now: Time) {
        self.marking = self.stream.open01() < 0.5;
        self.next = now + Duration::from_millis(10);
    }
    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.packets.iter().for_each(show);
    }
}

/// The far end, and a flow table in which a flow's number is its source host and its class its DSCP.
#[derive(Default)]
struct Around {
    options: Options,
    delivered: Vec<(u64, Time, Ecn)>,
    dropped: Vec<(u64, Reason)>,
}

impl FlowTable for &mut Around {
    fn hosts(&self, packet: &Packet) -> (u32, u32) {
        (packet.flow, 0)
    }
    fn dscp(&self, packet: &Packet) -> u8 {
        packet.class
    }
    fn options(&self, packet: &Packet) -> &Carried {
        self.options.of(packet)
    }
}

impl Surroundings for &mut Around {
    fn watches(&self) -> bool {
        false
    }
    fn key(&self, _: &Packet) -> usize {
        0
    }
    fn opened(&self, _: &Packet) -> Option<u32> {
        None
    }
    fn decided(&mut self, _: &Packet, _: Verdict, _: &dyn Fn(Option<u32>, &str) -> Option<f64>, _: Time) {}
    fn marked(&mut self, _: &Packet, _: Reason, _: Time) {}
    fn lose(&mut self, _: &mut Packet) {}
    fn dropped(&mut self, packet: &Packet, reason: Reason, _: u32, _: Time) {
        self.dropped.push((packet.seq, reason));
    }
    fn deliver(&mut self, packet: &Packet, arrival: Time) {
        self.delivered.push((packet.seq, arrival, packet.ecn()));
    }
}

#[test]
fn a_link_is_served_by_a_discipline_from_outside() {
    let stream = Stream::new(1, "lifo");
    let marking = stream.clone().open01() < 0.5;
    let lifo = Lifo { packets: Vec::new(), stream, next: Time(10_000_000), marking: false, unwanted: false };
    let rate = Some(Rate(8e6)); // a byte a microsecond
    let gate =
        Gate::new(Admission::DropTail(Box::new(DropTail)), Limit::Packets(9), Stream::new(1, "queue"), rate);
    let qdisc = Qdisc::new(gate, Scheduler::External(Box::new(lifo)));
    let queue =
        Queue::Scheduled(Box::new(Scheduled::new(qdisc, Impairments::default(), None, Vec::new(), None)));
    let mut link = Link::new(rate, Duration::from_millis(2), queue);
    let window = Window { from: Time::ZERO, to: Time(1_000_000_000) };
    let mut side = SideCounters::new(47, window.from, false);
    let mut around = Around::default();
    let mut offer = |packet: Packet, ms: u64, around: &mut Around| {
        let mut packet = packet;
        let account = Account { side: &mut side, window: &window };
        assert_eq!(link.offer(&mut packet, Time(ms * 1_000_000), account, false, || &mut *around), None);
    };
    let packet = |seq| Packet { seq, ..Packet::new(1, 1000, 960).with_ecn(Ecn::Capable0) };
    // The first is on the wire when the others come: last in, first out.
    (0..4).for_each(|seq| offer(packet(seq), 0, &mut around));
    // By host, by DSCP, and a pure ACK by its options.
    offer(Packet { flow: 7, ..packet(4) }, 1, &mut around);
    offer(Packet { class: 46, ..packet(5) }, 1, &mut around);
    let mut ack = Packet { payload: 0, size: 52, ..packet(6) };
    around.options.attach(&mut ack).report.push((10, 20));
    offer(ack, 1, &mut around);
    // Behind the tick at 10 ms.
    offer(packet(7), 10, &mut around);
    let account = Account { side: &mut side, window: &window };
    link.catch_up(Time(1_000_000_000), account, &mut &mut around);
    let ms = |n: u64| Time(n * 1_000_000);
    let last = if marking { Ecn::Congestion } else { Ecn::Capable0 };
    let left = [0, 3, 2, 1].iter().zip(3..).map(|(seq, at)| (*seq, ms(at), Ecn::Capable0));
    assert_eq!(around.delivered, left.chain([(7, ms(13), last)]).collect::<Vec<_>>());
    let number = ack.place().map_or(0, |_| ack.seq);
    assert_eq!(around.dropped, [(4, Reason::Probe), (5, Reason::Probe), (number, Reason::Probe)]);
    assert_eq!(side.marks().iter().sum::<u64>(), u64::from(marking));
}
