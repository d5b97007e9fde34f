//! Endpoints: what senders, receivers and sources do when they are called, and what they send.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use evenflow_base::{Ecn, End, Packet, Time, ip};
use evenflow_transport::exposure::Cheat;
use evenflow_transport::profile::Ecn as Counter;
use evenflow_transport::sender::Life;
use evenflow_transport::sender::metrics::Metrics;
use evenflow_transport::{Profile, Sender};

use super::{Engine, SEND_AT_ONCE, Wake};
use crate::events::{Key, Rank, key, time_of};
use crate::measure::Window;
use crate::network::{Connection, Flow, Host, PORT};
use crate::probe::{Closed, How, Opened};

impl Engine<'_> {
    pub(super) fn timer(&mut self, fired: Key, now: Time) {
        if self.sources.peek().is_some_and(|source| source.0.0 == fired) {
            return self.datagram(now);
        }
        if self.wakeup_is_first(fired) {
            return self.wake_end(now);
        }
        let Some(Reverse((_, flow, wake))) = self.timers.pop() else { return };
        match wake {
            Wake::Alarm(number) => return self.alarm(flow, number, now),
            Wake::Arrival => return self.shared_arrival(flow, now),
            Wake::Stage => return self.wake_stage(flow, fired, now),
            _ => {}
        }
        let info = self.net.flows[flow as usize];
        let endpoint = info.endpoint as usize;
        match wake {
            Wake::Start => self.start(flow, now),
            Wake::Sender => {
                let (c, profiles) = (&mut self.net.connections[endpoint], &self.net.profiles);
                // A wake-up that is not the one on record is stale: its deadline moved earlier once.
                if c.sender_wake != time_of(fired) {
                    return;
                }
                c.sender_wake = Time::NEVER;
                let profile = &profiles[c.profile as usize];
                if now >= c.sender.deadline() {
                    advance(c, profile, now, &self.net.window);
                    c.sender.wake(now, profile, &mut self.outbox);
                    match c.sender.life() {
                        Life::Done => return self.save_metrics(endpoint, info.host),
                        Life::Dead => self.probes.closed.iter_mut().for_each(|list| {
                            list.push(Closed { time: now, flow, how: How::GaveUp });
                        }),
                        _ => {}
                    }
                }
                let (profile, due) = (c.profile, c.sender_due());
                self.after(flow, info, profile, Wake::Sender, due, now);
            }
            Wake::Receiver => {
                let c = &mut self.net.connections[endpoint];
                if c.receiver_wake != time_of(fired) {
                    return;
                }
                c.receiver_wake = Time::NEVER;
                c.receiver.wake(now, &mut self.outbox);
                let (profile, due) = (c.profile, c.receiver_due());
                self.after(flow, info, profile, Wake::Receiver, due, now);
            }
            Wake::Alarm(_) | Wake::Arrival | Wake::Stage => {}
        }
    }

    /// Whether what is due at `fired` is the wake-up of a flow that was opened on the way. Of timers of one instant that are about
    /// the same, those of the application come before it, and those of stages behind.
    #[inline]
    fn wakeup_is_first(&self, fired: Key) -> bool {
        let Some(wakeup) = self.wakeups.first().filter(|wakeup| wakeup.key == fired) else { return false };
        let Some(Reverse((_, whose, wake))) = self.timers.peek().filter(|timer| timer.0.0 == fired) else {
            return true;
        };
        (wakeup.application, Wake::Arrival) < (*whose, *wake)
    }

    /// A connection is over, in order, and leaves its metrics to those of its host.
    #[cold]
    fn save_metrics(&mut self, endpoint: usize, host: u32) {
        let c = &self.net.connections[endpoint];
        keep_metrics(&mut self.net.profiles, c.profile, &self.net.hosts[host as usize], &c.sender);
    }

    fn start(&mut self, flow: u32, now: Time) {
        let info = self.net.flows[flow as usize];
        let endpoint = info.endpoint as usize;
        if info.hosted {
            return self.start_application(info.endpoint, now);
        }
        if let Some(list) = &mut self.probes.opened {
            let [group, user, number] = self.probes.whose[flow as usize];
            list.push(Opened { time: now, flow, group, user, number });
        }
        if info.tcp {
            if self.net.conex.is_some() {
                self.begin_exposed(info);
            }
            let c = &mut self.net.connections[endpoint];
            let profile = &self.net.profiles[c.profile as usize];
            c.sender.open(now, profile, &mut self.outbox);
            let (profile, due) = (c.profile, c.sender_due());
            self.after(flow, info, profile, Wake::Sender, due, now);
        } else {
            let d = &mut self.net.datagrams[endpoint];
            d.source.start(now);
            let next = d.source.next(&mut d.gaps);
            if next != Time::NEVER {
                let key = key(next, Rank::Timer, 0, flow);
                self.sources.push(Reverse((key, flow)));
                self.advance_agenda(key);
            }
        }
    }

    /// The next datagram is due.
    fn datagram(&mut self, now: Time) {
        let Some(mut first) = self.sources.peek_mut() else { return };
        let flow = first.0.1;
        let info = self.net.flows[flow as usize];
        let d = &mut self.net.datagrams[info.endpoint as usize];
        let size = d.source.size(&mut d.sizes, d.sent);
        let mut packet = Packet {
            seq: d.sent,
            class: info.class,
            ip: ip::DATAGRAM | d.source.ecn as u8,
            ..Packet::new(flow, size, size.saturating_sub(evenflow_traffic::UDP_HEADER))
        };
        d.sent += 1;
        let next = d.source.next(&mut d.gaps);
        if next == Time::NEVER {
            PeekMut::pop(first);
        } else {
            *first = Reverse((key(next, Rank::Timer, 0, flow), flow));
            drop(first);
        }
        self.created += 1;
        self.launch(&mut packet, false, info, now);
    }

    /// After a call of an endpoint: sets the wake-up that it wants and sends what it left in the outbox.
    #[inline(always)]
    fn after(&mut self, flow: u32, info: Flow, profile: u32, wake: Wake, due: Option<Time>, now: Time) {
        if let Some(at) = due {
            self.set_timer(at, flow, wake);
        }
        self.send(flow, info, profile, now);
    }

    #[inline(never)]
    fn send(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        // Nothing, or more than goes at once: one comparison for both.
        if self.outbox.len().wrapping_sub(1) >= SEND_AT_ONCE {
            if !self.outbox.is_empty() {
                self.send_many(flow, info, profile, now);
            }
            return;
        }
        if info.special {
            return self.send_specially(flow, info, profile, now);
        }
        self.send_all::<false>(flow, info, profile, now);
    }

    /// The same where more is sent than the stop flag should wait for.
    #[cold]
    #[inline(never)]
    fn send_many(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        if info.special {
            return self.send_specially(flow, info, profile, now);
        }
        self.send_in_pieces(|engine| engine.send_all::<false>(flow, info, profile, now));
    }

    /// The same where ACKs carry the receiver's clock, and of ConEx cheats. Apart, so that others do not pay for it.
    #[inline(never)]
    fn send_specially(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        self.send_in_pieces(|engine| engine.send_all::<true>(flow, info, profile, now));
        if let Some(conex) = &mut self.net.conex {
            conex.share(
                info.host,
                End::Client,
                flow,
                &mut self.net.connections[info.endpoint as usize].sender,
            );
        }
    }

    /// What other flows of its user left goes to a flow that begins.
    #[cold]
    #[inline(never)]
    fn begin_exposed(&mut self, info: Flow) {
        self.collect_leftovers(info.host);
        if let Some(conex) = &mut self.net.conex {
            let sender = &mut self.net.connections[info.endpoint as usize].sender;
            conex.begin(info.host, End::Client, sender);
        }
    }

    /// Uploads of a machine that are over leave what they owe.
    pub(super) fn collect_leftovers(&mut self, host: u32) {
        let Some(conex) = &mut self.net.conex else { return };
        let Some(uploads) = conex.uploads.get_mut(&host).map(std::mem::take) else { return };
        for flow in &uploads {
            let endpoint = self.net.flows[*flow as usize].endpoint as usize;
            conex.leave_upload(host, &mut self.net.connections[endpoint].sender);
        }
        conex.uploads.insert(host, uploads);
    }

    /// A packet of data goes under a number that its sender makes up.
    #[cold]
    #[inline(never)]
    fn renumber(&mut self, packet: &mut Packet, info: Flow) {
        let sender = &mut self.net.connections[info.endpoint as usize].sender;
        if let Some(exposure) = sender.exposure_mut()
            && exposure.settings().cheat == Cheat::Renumber
        {
            self.options.attach(packet).shown = Some(exposure.number(packet.payload));
        }
    }

    #[inline(always)]
    fn send_all<const SPECIAL: bool>(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        self.created += self.outbox.len() as u64;
        let sack = self.net.profiles[profile as usize].sack;
        // By index, for what a packet meets needs the engine whole; nothing on its way adds to the outbox.
        let mut i = 0;
        while let Some(&segment) = self.outbox.get(i) {
            i += 1;
            let back = segment.is_backward();
            let mut packet = Packet {
                seq: segment.seq,
                stamp: segment.stamp,
                hop: if back { info.back } else { 0 },
                class: info.class,
                flags: segment.flags,
                ip: segment.ip,
                ..Packet::new(flow, segment.size(&self.net.profiles[profile as usize]), segment.payload)
            };
            if back && sack && self.net.connections[info.endpoint as usize].receiver.reports() {
                self.report(&mut packet, info);
            }
            if SPECIAL && packet.payload > 0 {
                self.renumber(&mut packet, info);
            }
            if SPECIAL && back && info.sends_timestamps {
                let ts_val = self.net.profiles[profile as usize].clock_at(now);
                self.options.attach(&mut packet).ts_val = ts_val;
            }
            if SPECIAL && back && self.net.profiles[profile as usize].ecn == Counter::ReEcnUnlimited {
                let marked = self.net.connections[info.endpoint as usize].receiver.marked();
                self.options.attach(&mut packet).marked = marked;
            }
            self.launch(&mut packet, segment.again, info, now);
        }
        self.outbox.clear();
    }

    /// An ACK gets its SACK option.
    #[inline(never)]
    fn report(&mut self, packet: &mut Packet, info: Flow) {
        let receiver = &mut self.net.connections[info.endpoint as usize].receiver;
        receiver.report(&mut self.options.attach(packet).report);
    }

    /// A packet leaves its endpoint, `again` where it was sent before: at once, or after the host's processing.
    #[inline(always)]
    fn launch(&mut self, packet: &mut Packet, again: bool, info: Flow, now: Time) {
        if packet.is_backward() {
            return self.enter(packet, now);
        }
        if packet.is_data() && self.window_open {
            let counters = &mut self.net.counters[packet.flow as usize];
            counters.sent += 1;
            counters.retransmits += u64::from(again);
        }
        self.leave_host(packet, info, now);
    }

    /// A packet leaves its host along the path: at once, or after the host's processing.
    #[inline(always)]
    pub(super) fn leave_host(&mut self, packet: &mut Packet, info: Flow, now: Time) {
        let Some(left) = self.net.hosts[info.host as usize].process(packet, now) else {
            return self.enter(packet, now);
        };
        if !info.folded {
            // A host keeps the order in which it is handed packets, whatever their flows.
            let lane = self.net.sides.len() as u32;
            return self.fly(lane, key(left, Rank::Arrival, lane, info.host), packet);
        }
        packet.hop = 1;
        let first = self.net.routes[info.route as usize] & PORT;
        if let Some((lane, arrival)) = self.cross(first, packet, left) {
            self.fly(lane, key(arrival, Rank::Arrival, lane, info.tie), packet);
        }
    }

    /// A packet that was just made begins its way.
    #[inline(never)]
    pub(super) fn enter(&mut self, packet: &mut Packet, now: Time) {
        self.carry(packet, now);
    }

    #[inline(never)]
    pub(super) fn at_sender(&mut self, packet: &mut Packet, info: Flow, now: Time) {
        self.consumed += 1;
        if !self.probes.flow_series.is_empty() {
            self.log_sender(packet.flow, info, now);
        }
        let c = &mut self.net.connections[info.endpoint as usize];
        let profile = &self.net.profiles[c.profile as usize];
        advance(c, profile, now, &self.net.window);
        let carried = self.options.release(packet);
        c.sender.receive(packet, carried, now, profile, &mut self.outbox);
        let (profile, due) = (c.profile, c.sender_due());
        self.after(packet.flow, info, profile, Wake::Sender, due, now);
    }

    /// A sender is about to receive a segment. Apart, so that others do not pay for it.
    #[cold]
    #[inline(never)]
    fn log_sender(&mut self, flow: u32, info: Flow, now: Time) {
        let c = &self.net.connections[info.endpoint as usize];
        if c.sender.life() == Life::Opening {
            return;
        }
        let profile = &self.net.profiles[c.profile as usize];
        let window = c.sender.window().cwnd / profile.mss as f64;
        self.probes.at_sender(flow as usize, window, |name| c.sender.observe(name, profile), now);
    }

    #[inline(never)]
    pub(super) fn at_receiver(&mut self, packet: &mut Packet, info: Flow, now: Time) {
        self.consumed += 1;
        self.options.release(packet);
        if packet.is_data() && self.window_open {
            let counters = &mut self.net.counters[packet.flow as usize];
            counters.throughput_bytes += u64::from(packet.size);
            counters.delivered += 1;
            if packet.ecn() == Ecn::Congestion {
                counters.marks += 1;
            }
        }
        if !info.tcp {
            self.net.datagrams[info.endpoint as usize].received += u64::from(packet.payload);
            return;
        }
        let c = &mut self.net.connections[info.endpoint as usize];
        let profile = &self.net.profiles[c.profile as usize];
        c.receiver.receive(packet, now, profile, &mut self.outbox);
        let (profile, due) = (c.profile, c.receiver_due());
        self.after(packet.flow, info, profile, Wake::Receiver, due, now);
    }
}

/// A sender whose profile is `index` leaves its metrics to the profiles of its host.
pub(super) fn keep_metrics(profiles: &mut [Profile], index: u32, host: &Host, sender: &Sender) {
    let profile = &profiles[index as usize];
    let mut metrics = Metrics::of(profile);
    metrics.learn(sender, profile);
    profiles[host.profiles.clone()].iter_mut().filter(|p| p.save_metrics).for_each(|p| metrics.keep(p));
}

/// Integrates a connection's window up to `now`.
#[inline]
pub(super) fn advance(c: &mut Connection, profile: &Profile, now: Time, window: &Window) {
    if c.sender.life() == Life::Open {
        c.meter.advance(c.sender.window().cwnd, profile.segment(), now, window);
    } else {
        c.meter.skip(now);
    }
}
