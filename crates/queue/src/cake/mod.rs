//! CAKE (Linux sch_cake; Høiland-Jørgensen et al. 2018): shaper, tins by DSCP, flow queues with COBALT, host
//! isolation and ACK filter in one.
//!
//! The shaper allows no burst. The highest tin below its threshold rate is served first. Inside a tin, queues
//! found by an 8-way set-associative hash share by deficit round robin. Overflow drops from the longest
//! queue.
//!
//! Not modelled: NAT, `wash`, `autorate-ingress`, firewall marks, splitting of GSO packets.

mod ack_filter;
mod hosts;
mod shaper;
mod tins;

use evenflow_base::random::salted;
use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Rate, Reason, Stream, Time, Verdict};

use crate::held::{Dropped, FlowTable, HashStats, Kind, PUSHED_OUT, Queued, Schedule, Sent, Served};
use hosts::{Isolation, SIDES};
use shaper::{Framing, Shaper, Wire};
use tins::{BYTE, DECAYING, Scheme, Tin};

/// Queues of a tin.
const QUEUES: usize = 1024;
/// Queues of a set in which a flow finds its own.
const WAYS: usize = 8;

words! {
    /// Which ACKs are dropped.
    pub enum AckFilter {
        /// None.
        Off = "off",
        /// The older of two covered ACKs.
        Filter = "filter",
        /// A covered ACK.
        Aggressive = "aggressive",
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Rate of the shaper, link-layer bytes included.
        rate: Option<Rate> = Rate, Absent("no shaper: the link's rate"), Range::POSITIVE => source: "tc-cake (bandwidth)";
        /// Sorting of packets into tins by DSCP.
        tins: Scheme = Scheme::TYPE, Text("diffserv3") => source: "tc-cake (priority queue parameters)";
        /// Parties that share a tin.
        isolation: Isolation = Isolation::TYPE, Text("triple-isolate") => source: "tc-cake (flow isolation parameters)";
        /// Round-trip time for which COBALT is tuned: its interval; the target is a twentieth.
        rtt: Duration = Duration, Text("100 ms"), Range::at_least(1e-5) => source: "tc-cake (rtt)";
        /// The shaper counts dropped packets too: it stands behind the bottleneck.
        ingress: bool = Flag, Text("false") => source: "tc-cake (ingress)";
        /// Pure ACKs to drop when a newer one in the same queue covers them.
        ack_filter: AckFilter = AckFilter::TYPE, Text("off") => source: "tc-cake (ack-filter, ack-filter-aggressive)";
        /// Bytes that the link layer adds to each packet.
        overhead: i64 = Bytes, Text("0 B"), Range::between(-64.0, 256.0) => source: "tc-cake (overhead)";
        /// Minimum size of a packet with its overhead.
        mpu: i64 = Bytes, Text("0 B"), Range::between(0.0, 256.0) => source: "tc-cake (mpu)";
        /// Framing of the link layer.
        framing: Framing = Framing::TYPE, Text("none") => source: "tc-cake (atm, ptm)";
        /// Memory for waiting packets. A packet takes more than its size: 2304 B for 1500 B.
        memory_limit: Option<u64> = Bytes, Absent("4 rate rtt, between 4 MiB and 10240 packets of max_packet"), Range::FROM_ONE
            => source: "tc-cake (memlimit)";
        /// Size of the largest packet, for targets and memory.
        max_packet: u64 = Bytes, Text("1514 B"), Range::PACKET_SIZE => source: "Linux, sch_cake: the MTU and Ethernet's header";
    }
}

impl Params {
    /// The memory above which packets are dropped.
    fn buffer(&self) -> u64 {
        let most = 10_240 * self.max_packet;
        self.memory_limit.unwrap_or_else(|| match self.rate {
            None => most,
            Some(rate) => ((rate.0 / 2.0 * self.rtt.seconds()) as u64).max(4 << 20).min(most),
        })
    }
}

/// Memory of a packet in Linux: a buffer with headroom and administration, in a power of two, and its
/// descriptor.
#[inline]
fn memory(size: u16) -> u64 {
    256 + (u64::from(size) + 384).next_power_of_two()
}

/// CAKE.
#[derive(Clone, Debug)]
pub struct Cake {
    params: Params,
    wire: Wire,
    buffer: u64,
    tins: Vec<Tin>,
    shaper: Option<Shaper>,
    /// The tin at turn where there is no shaper.
    at_turn: usize,
    /// Packets in all tins, and their memory.
    packets: u32,
    memory: u64,
    salt: u64,
    draws: Stream,
    /// Instant of the last arrival.
    arrived: Time,
    /// The ACK that it makes redundant: tin, queue, place.
    redundant: Option<(usize, usize, usize)>,
    stats: HashStats,
}

impl Cake {
    /// Without packets; the hash's salt is the first number of `hash`.
    pub fn new(params: Params, mut hash: Stream, draws: Stream) -> Cake {
        let bytes_per_second = params.rate.map_or(0, |rate| ((rate.0 / 8.0) as u64).max(64));
        let tin = |(rate, share)| {
            let rate = if params.rate.is_some() { u64::max(rate, 64) } else { 0 };
            Tin::new(params.isolation, rate, share, params.rtt, params.max_packet)
        };
        Cake {
            params,
            wire: Wire { overhead: params.overhead, mpu: params.mpu, framing: params.framing },
            buffer: params.buffer(),
            tins: params.tins.tins(bytes_per_second).into_iter().map(tin).collect(),
            shaper: params.rate.map(Shaper::new),
            at_turn: 0,
            packets: 0,
            memory: 0,
            salt: hash.bits(),
            draws,
            arrived: Time::ZERO,
            redundant: None,
            stats: HashStats::default(),
        }
    }

    /// Hashes of a packet's hosts; 0 where nothing asks for them.
    #[inline]
    fn hosts(&self, packet: &Packet, flows: &dyn FlowTable) -> [u32; SIDES] {
        if !self.params.isolation.needs_hosts() {
            return [0; SIDES];
        }
        let (source, destination) = flows.hosts(packet);
        let hash = |host: u32, side: u64| salted(u64::from(host) | side << 32, self.salt) as u32;
        [hash(source, 1), hash(destination, 2)]
    }

    /// The tin that is served next: the highest one below its threshold, else the one that is due first.
    /// Without a shaper tins take turns.
    #[inline]
    fn next_tin(&mut self, now: Time) -> Option<usize> {
        if self.shaper.is_some() {
            let active = self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active());
            let due = active.map(|(n, tin)| (n, tin.threshold.next.max(now)));
            return due.rev().min_by_key(|(_, at)| *at).map(|(n, _)| n);
        }
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.at_turn];
            if tin.credit >= 0 && tin.is_active() {
                return Some(self.at_turn);
            }
            if tin.credit <= 0 {
                tin.credit += tin.share;
            }
            self.at_turn = (self.at_turn + 1) % self.tins.len();
        }
    }

    /// Counts a packet that leaves a queue or, in ingress mode, is dropped from it.
    #[inline]
    fn charge(&mut self, tin: usize, size: u16, now: Time, dropped: bool) -> i64 {
        let bytes = self.wire.bytes(size);
        if let Some(shaper) = &mut self.shaper {
            shaper.charge(bytes, dropped);
            self.tins[tin].threshold.charge(bytes, now);
        }
        bytes as i64
    }

    /// The next packet of a tin. `None`: a queue was empty; choose the tin again.
    #[inline]
    fn serve(
        &mut self,
        tin: usize,
        now: Time,
        mut decaying: bool,
        dropped: &mut Vec<Dropped>,
    ) -> Option<Sent> {
        loop {
            let own = &mut self.tins[tin];
            let (queue, list) = own.turn(std::mem::take(&mut decaying))?;
            let bulk = if self.params.ingress { u64::from(own.bulk) } else { 0 };
            loop {
                let own = &mut self.tins[tin];
                let flow = &mut own.flows[queue];
                let Some(mut item) = flow.pop(&mut own.bytes) else {
                    own.emptied(queue, list, now);
                    return None;
                };
                self.packets -= 1;
                self.memory -= memory(item.packet.size);
                let state = &mut flow.aqm.cobalt;
                let verdict = state.head(&own.cobalt, &mut item.packet, item.at, now, bulk, &mut self.draws);
                let mark = match verdict {
                    // The last packet is not dropped.
                    Verdict::Drop(reason) if !flow.packets.is_empty() => {
                        dropped.push((item, reason));
                        if !self.params.ingress {
                            continue;
                        }
                        self.spend(tin, queue, item.packet.size, now, true);
                        break;
                    }
                    Verdict::Mark(reason) => Some(reason),
                    _ => None,
                };
                self.spend(tin, queue, item.packet.size, now, false);
                return Some((item, mark));
            }
        }
    }

    /// [`Cake::charge`], also of the credits of queue and tin.
    #[inline]
    fn spend(&mut self, tin: usize, queue: usize, size: u16, now: Time, dropped: bool) {
        let bytes = self.charge(tin, size, now, dropped);
        let tin = &mut self.tins[tin];
        tin.flows[queue].deficit -= bytes * BYTE;
        tin.credit -= bytes;
    }

    /// A sum over the tins.
    fn sum(&self, of: fn(&Tin) -> u32) -> u32 {
        self.tins.iter().map(of).sum()
    }

    /// The longest queue, by bytes, with an arriving packet of `size` in its own.
    fn longest(&self, place: usize, size: u16) -> (usize, usize) {
        let own = (place / QUEUES, place % QUEUES);
        let mut longest = (self.tins[own.0].flows[own.1].bytes + u64::from(size), own);
        for (n, tin) in self.tins.iter().enumerate() {
            tin.active().for_each(|queue| {
                let bytes = tin.flows[queue].bytes;
                if bytes > longest.0 || bytes == longest.0 && (n, queue) < longest.1 {
                    longest = (bytes, (n, queue));
                }
            });
        }
        longest.1
    }

    /// Drops a packet of a queue because of an arrival.
    fn remove(
        &mut self,
        (tin, queue, at): (usize, usize, usize),
        reason: Reason,
        dropped: &mut Vec<Dropped>,
    ) -> bool {
        let own = &mut self.tins[tin];
        let Some(item) = own.flows[queue].packets.remove(at) else { return false };
        let size = item.packet.size;
        own.flows[queue].bytes -= u64::from(size);
        own.bytes -= u64::from(size);
        self.packets -= 1;
        self.memory -= memory(size);
        dropped.push((item, reason));
        if self.params.ingress {
            self.charge(tin, size, self.arrived, true);
        }
        true
    }
}

impl Schedule for Cake {
    #[inline]
    fn place(&mut self, key: usize, packet: &Packet, flows: &dyn FlowTable, now: Time) -> usize {
        self.arrived = now;
        let tin = self.params.tins.tin(flows.dscp(packet));
        let hosts = self.hosts(packet, flows);
        let queue = match self.params.isolation {
            Isolation::FlowBlind => 0,
            isolation => {
                let hash = isolation.hash(salted(key as u64, self.salt) as u32, hosts);
                let (queue, shared) = self.tins[tin].place(hash, hosts);
                self.stats.collisions += u64::from(shared);
                queue
            }
        };
        self.redundant = match self.params.ack_filter {
            AckFilter::Off => None,
            filter => {
                let waiting = &self.tins[tin].flows[queue].packets;
                let at = ack_filter::redundant(waiting, packet, flows, filter == AckFilter::Aggressive);
                at.map(|at| (tin, queue, at))
            }
        };
        tin * QUEUES + queue
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        let tin = &mut self.tins[queue / QUEUES];
        if tin.bytes == 0 {
            tin.threshold.next = tin.threshold.next.max(item.at);
            if let Some(shaper) = self.shaper.as_mut().filter(|_| self.packets == 0) {
                shaper.wake(item.at);
            }
        }
        self.packets += 1;
        self.memory += memory(item.packet.size);
        self.stats.new_flows += u64::from(tin.push(queue % QUEUES, item));
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        let mut decaying = true;
        while self.packets > 0 && self.blocked_until(now).is_none() {
            let tin = self.next_tin(now)?;
            if let Some(sent) = self.serve(tin, now, std::mem::take(&mut decaying), dropped) {
                return Some(sent);
            }
        }
        None
    }

    fn next_event(&self) -> Time {
        self.shaper.filter(|_| self.packets > 0).map_or(Time::NEVER, |shaper| shaper.due())
    }

    #[inline]
    fn blocked_until(&self, now: Time) -> Option<Time> {
        let due = self.shaper?.due();
        (self.packets > 0 && due > now).then_some(due)
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn is_full(&self, _queue: usize, _bytes: u64, size: u16) -> bool {
        self.redundant.is_some() || self.memory + memory(size) > self.buffer
    }

    /// Not if the newcomer is the longest queue by itself.
    fn can_push_out(&self, queue: usize, size: u16) -> bool {
        let (tin, longest) = self.longest(queue, size);
        self.redundant.is_some() || !self.tins[tin].flows[longest].packets.is_empty()
    }

    /// Drops the redundant ACK, if there is one, else the head of the longest queue.
    fn push_out(&mut self, queue: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool {
        if let Some(ack) = self.redundant.take() {
            return self.remove(ack, Reason::AckFilter, dropped);
        }
        let (tin, longest) = self.longest(queue, size);
        self.tins[tin].overflows(longest, self.arrived);
        self.stats.pushed_out += 1;
        self.remove((tin, longest, 0), Reason::PushedOut, dropped)
    }

    fn turned_away(&mut self, queue: usize, _reason: Reason) {
        self.tins[queue / QUEUES].overflows(queue % QUEUES, self.arrived);
    }

    fn heap_bytes(&self) -> u64 {
        let tins: u64 = self.tins.iter().map(Tin::heap_bytes).sum();
        tins + (self.tins.capacity() * size_of::<Tin>()) as u64
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.tins.iter().flat_map(|tin| &tin.flows).flat_map(|flow| &flow.packets).for_each(show);
    }

    fn hash_stats(&self) -> Option<&HashStats> {
        Some(&self.stats)
    }
}

impl Kind for Cake {
    fn build(values: &Values, served: &Served) -> Result<Cake, Vec<Problem>> {
        Ok(Cake::new(Params::read(values), served.hash.clone(), served.draws.clone()))
    }

    fn marks(_values: &Values) -> bool {
        true
    }

    fn check(values: &Values) -> Vec<Problem> {
        let params = Params::read(values);
        let least = memory(params.max_packet as u16);
        let too_small = params.memory_limit.is_some_and(|limit| limit < least);
        let why = || {
            (Params::memory_limit.name, format!("must hold a packet of max_packet bytes: at least {least} B"))
        };
        too_small.then(why).into_iter().collect()
    }

    /// Tins share the rate: more than the link's would be rates that the line does not have.
    fn check_link(values: &Values, link: Rate) -> Vec<Problem> {
        let given = values.at(Params::rate).filter(|rate| rate.0 > link.0);
        let why = |rate: Rate| {
            let (own, most) = (rate.bits_per_second(), link.bits_per_second());
            format!(
                "{own} bit/s is more than the link's {most} bit/s, so that no tin has its rate; write at most the link's"
            )
        };
        given.map(|rate| (Params::rate.name, why(rate))).into_iter().collect()
    }
}

observables! {
    Cake: cake, _now;
    active_queues: "1", "Sparse and bulk queues: with packets, or empty and not yet removed by the scheduler."
        => cake.sum(|tin| tin.sparse + tin.bulk);
    bulk_queues: "1", "Queues that have used up their first quantum: host loads count these."
        => cake.sum(|tin| tin.bulk);
    decaying_queues: "1", "Empty queues whose COBALT is not yet at rest."
        => cake.sum(|tin| tin.lists[DECAYING].len() as u32);
    new_flows: "1",
        "Number of times an idle queue got a packet. Counter: a series shows the increase per interval."
        => cake.stats.new_flows;
    collisions: "packets",
        "Packets that took over the queue of another flow, since all eight of their set were taken (tc: way_cols). \
         Counter."
        => cake.stats.collisions;
    pushed_out: "packets", PUSHED_OUT => cake.stats.pushed_out;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "cake",
    room: Room::Queue,
    traits: Traits {
        hashes: true,
        shapes: true,
        in_turn: true,
        owns_queues: true,
        drops_at_departure: true,
        draws: "always",
        ..Mechanism::PLAIN
    },
    title: "Common Applications Kept Enhanced (CAKE)",
    example: r#"[links.bottleneck.queue]
kind = "cake"
rate = "9.5 Mbit/s"
tins = "diffserv4"
isolation = "dual-srchost"
overhead = "44 B"
framing = "atm""#,
    doc: "A shaper without burst, tins by DSCP, and in each tin 1024 flow queues with COBALT. A tin has priority up to its \
          threshold rate; the rest is shared. Hosts get equal shares, whatever the number of their flows. A full buffer \
          drops from the head of the longest queue. CAKE is rule and scheduler in one. The DSCP is that of the group or its traffic.",
    source: "Linux, sch_cake; tc-cake(8); Høiland-Jørgensen et al., LANMAN 2018",
    params: Params::PARAMS,
    observables: Cake::OBSERVABLES,
    counters: &[
        Counter::new(Reason::Codel.name(), "The queueing delay was above the target, and a signal was due."),
        Counter::new("blue", "Picked at random with BLUE's probability."),
        Counter::new("pushed_out", "Dropped from the head of the longest queue at a full buffer."),
        Counter::new("ack_filter", "A pure ACK that a newer ACK in the same queue covers."),
        Counter::new("limit", "The buffer was full, and the arriving packet alone was the longest queue."),
    ],
    deviations: &[
        Deviation {
            what: "The memory of a packet is 256 B and the next power of two above its size plus 384 B.",
            why: "In Linux it depends on the driver; this is the memory of packets that the host itself sends.",
        },
        Deviation {
            what: "The shaper keeps fractions of a nanosecond.",
            why: "Linux rounds down, which adds up to 1 ns per packet.",
        },
        Deviation {
            what: "Credits of a queue have fractions of a byte.",
            why: "Linux rounds at random to whole bytes. The mean is the same.",
        },
        Deviation {
            what: "Of longest queues of the same length the first one loses a packet.",
            why: "Linux takes one by the state of its heap.",
        },
        Deviation {
            what: "The hash is a salted 64-bit hash of names of flows and hosts.",
            why: "Flows have names instead of addresses. Only uniformity and salt matter.",
        },
        Deviation {
            what: "The gap between signals is the interval over the exact square root of the count.",
            why: "Linux uses an approximation in integers.",
        },
    ],
};

#[cfg(test)]
mod tests;
