//! A FIFO whose rule decides on arrival: service instants are computed at once, and waiting packets are a ring of them.

use evenflow_base::{Heap, Packet, Reason, Time, Verdict};
use evenflow_queue::{Gate, RESTS_EVERY};

use crate::counters::{Lengths, Window};
use crate::impairments::Impairments;
use crate::link::{Call, Surroundings, Wire};
use crate::ring::Ring;

/// Rule, limit and waiting packets.
#[derive(Debug)]
pub struct Fifo {
    /// Rule and limit.
    pub(crate) gate: Gate,
    /// Loss and delay at random.
    pub(crate) impairments: Impairments,
    /// No impairments.
    pub(crate) unimpaired: bool,
    /// Nothing but a limit: an idle link takes any packet and remembers nothing of it.
    pub(crate) plain: bool,
    /// Time spent at each queue length.
    pub(crate) lengths: Option<Lengths>,
    /// Waiting packets: when each starts, and its size.
    waiting: Ring<(Time, u32)>,
}

impl Fifo {
    /// Without packets.
    pub fn new(gate: Gate, impairments: Impairments, lengths: Option<Lengths>) -> Fifo {
        let unimpaired = !impairments.any();
        let plain = gate.rule.is_plain() && unimpaired;
        Fifo { gate, impairments, unimpaired, plain, lengths, waiting: Ring::default() }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let lengths = self.lengths.as_ref().map_or(0, |lengths| lengths.time.heap_bytes());
        self.gate.rule.heap_bytes() + self.waiting.heap_bytes() + lengths
    }

    /// Whether a packet of `size` bytes finds room behind a transmitter that is busy until `free`; if so, it waits. For a plain rule.
    #[inline(always)]
    pub(crate) fn enters(&mut self, size: u16, free: Time, now: Time, window: &Window) -> bool {
        self.release(now, window);
        let room = !self.gate.is_full(size);
        if room {
            self.wait(free, size, now, window);
        }
        room
    }

    /// Asks the rule at `now`, where the transmitter is free at `free`.
    #[inline(always)]
    pub(crate) fn ask(&mut self, packet: &mut Packet, free: Time, now: Time, window: &Window) -> Verdict {
        self.advance(now, free, window);
        let full = free > now && self.gate.is_full(packet.size);
        self.gate.ask(packet, now, full, (free <= now).then_some(free))
    }

    /// Does what follows from a verdict that is more than a plain yes, or is watched. Returns whether the packet goes on.
    #[inline(never)]
    pub(crate) fn conclude(
        &mut self,
        packet: &mut Packet,
        verdict: Verdict,
        free: Time,
        x: &mut Call<impl Surroundings>,
    ) -> bool {
        if x.around.watches() {
            x.around.decided(packet, verdict, &|_, name| self.gate.observe(name), x.now);
        }
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark(reason) => x.count_mark(packet.class, reason),
            Verdict::Drop(reason) => {
                self.refuse(packet, reason, x);
                return false;
            }
        }
        self.wait(free, packet.size, x.now, x.account.window);
        if !self.unimpaired && self.loses(x.wire, packet.size, free, x.now) {
            x.around.lose(packet);
        }
        true
    }

    /// Drops an arriving packet.
    #[inline(never)]
    pub(crate) fn refuse(&self, packet: &Packet, reason: Reason, x: &mut Call<impl Surroundings>) {
        x.count_arrival(packet.class);
        x.drop(packet, reason, self.gate.packets);
    }

    /// Draws the delay of an accepted packet; returns whether the packet is lost.
    #[inline(never)]
    pub(crate) fn loses(&mut self, wire: &mut Wire, size: u16, free: Time, now: Time) -> bool {
        let lost = self.impairments.will_lose(now);
        if !self.impairments.varies() {
            return lost;
        }
        let (start, _) = wire.ready(free, now);
        let ended = (start + wire.byte_time.times(u32::from(size))).ceil();
        self.impairments.vary(&mut wire.delay, now, ended) || lost
    }

    /// A packet of `size` bytes, accepted at `now`, waits until `start` if that is later.
    #[inline]
    pub(crate) fn wait(&mut self, start: Time, size: u16, now: Time, window: &Window) {
        if start <= now {
            return;
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.advance(self.gate.packets, now, window);
        }
        self.waiting.push_back((start, u32::from(size)));
        self.gate.add(u32::from(size));
    }

    /// Ticks the rule's clock up to `now`, each time with the backlog at that time. Forgets packets whose
    /// transmission has begun. The transmitter is free at `free`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Time, free: Time, window: &Window) {
        if self.gate.rule.next_tick() <= now {
            self.tick(now, free, window);
        }
        self.release(now, window);
    }

    /// Apart, so that packets between two ticks keep their registers.
    #[inline(never)]
    fn tick(&mut self, now: Time, free: Time, window: &Window) {
        let mut ticks = 0_u32;
        while self.gate.rule.next_tick() <= now {
            let at = self.gate.rule.next_tick();
            self.release(at, window);
            let seen = self.gate.occupancy(false, (free <= at).then_some(free));
            self.gate.rule.tick(at, &seen);
            ticks = ticks.wrapping_add(1);
            if ticks.is_multiple_of(RESTS_EVERY) {
                // The queue stays as it is until the next packet begins its transmission.
                let next = self.waiting.front().map_or(Time::NEVER, |(start, _)| Time(start.0 - 1));
                self.gate.rule.rest(&seen, now.min(next));
            }
        }
    }

    /// Forgets packets whose transmission has begun by `now`.
    #[inline]
    fn release(&mut self, now: Time, window: &Window) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            if let Some(lengths) = &mut self.lengths {
                lengths.advance(self.gate.packets, start, window);
            }
            self.waiting.drop_front();
            self.gate.remove(size);
        }
    }

    pub(crate) fn finish(&mut self, window: &Window) {
        self.release(window.to, window);
        if let Some(lengths) = &mut self.lengths {
            lengths.advance(self.gate.packets, window.to, window);
        }
    }
}
