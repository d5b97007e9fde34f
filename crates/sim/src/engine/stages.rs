//! Stages: what they are given, and what they do with a packet and beside it.

use std::cmp::Reverse;

use evenflow_base::schema::Way;
use evenflow_base::{Heap, Packet, Reason, Time};
use evenflow_queue::Setting as QueueSetting;
use evenflow_stage::{Act, Cx, HeldPacket, Message, Own, Pass, Setting, Whose};

use super::{Engine, Wake};
use crate::events::{Key, Rank, key, time_of};
use crate::faults::{Invariant, RunError, StageFault};
use crate::probe::Happening;
use crate::trace::{Action, Place, STAGES};

/// How often a stage may be woken or answered at one instant, and how deep stages may be at work for each other at one.
const MOST_AT_ONCE: u32 = 100_000;
const DEEPEST: u32 = 200;

/// In the stamp of a packet of a stage's own: it carries nothing.
const EMPTY: u32 = u32::MAX;

/// Contents of packets that stages send, by the index in their stamp. Indices are reused.
#[derive(Debug, Default)]
pub(super) struct Messages {
    places: Vec<Option<Message>>,
    free: Vec<u32>,
}

impl Messages {
    /// Bytes on the heap; what messages own there is not in it.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.places.heap_bytes() + self.free.heap_bytes()
    }

    fn keep(&mut self, message: Option<Message>) -> u32 {
        let Some(message) = message else { return EMPTY };
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(message);
                place
            }
            None => {
                self.places.push(Some(message));
                self.places.len() as u32 - 1
            }
        }
    }

    fn take(&mut self, place: u32) -> Option<Message> {
        let message = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(message)
    }

    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

/// State of stages between events.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// Requests of the stage called last.
    acts: Vec<Act>,
    /// Contents of their packets.
    pub(super) messages: Messages,
    /// How many stages are at work for each other at this instant.
    depth: u32,
}

/// In the key of a stage's alarm: behind the timers of flows of the same instant.
const ALARMS: u32 = 1;

impl Engine<'_> {
    /// The user, flow and class of a flow's packets.
    #[inline]
    fn whose(&self, flow: u32) -> Whose {
        let info = &self.net.flows[flow as usize];
        let number = u64::from(self.net.slots.id(flow));
        Whose { user: info.host, flow: number, class: info.class, slot: info.tie }
    }

    /// The run begins.
    pub(super) fn start_stages(&mut self) {
        for index in 0..self.net.stages.len() as u32 {
            self.call(index, Time::ZERO, |stage, cx| stage.start(cx));
        }
    }

    /// Calls a stage without a packet.
    fn call(&mut self, index: u32, now: Time, what: impl FnOnce(&mut evenflow_stage::Stage, &mut Cx)) {
        let whose = self.whose(self.net.stages[index as usize].home);
        let slot = &mut self.net.stages[index as usize];
        let mut cx =
            Cx::new(now, whose, Way::Forward, &mut slot.stream, &mut self.options, &mut self.staging.acts);
        what(&mut slot.stage, &mut cx);
        self.do_acts(index, now);
    }

    /// A packet meets a stage. Says whether it goes on.
    #[inline(never)]
    pub(super) fn pass(&mut self, index: u32, way: Way, packet: &mut Packet, now: Time) -> bool {
        let asks = self.net.stages[index as usize].round_trips;
        let round_trip = asks.then(|| self.net.round_trip(packet.flow));
        let info = &self.net.flows[packet.flow as usize];
        let slot = &mut self.net.stages[index as usize];
        let flow = u64::from(self.net.slots.id(packet.flow));
        let whose = Whose { user: info.host, flow, class: packet.class, slot: info.tie };
        let (options, acts) = (&mut self.options, &mut self.staging.acts);
        let mut cx = Cx::new(now, whose, way, &mut slot.stream, options, acts);
        let pass = match way {
            Way::Forward => {
                if let Some(round_trip) = round_trip {
                    cx.round_trip = round_trip;
                }
                slot.stage.forward(packet, &mut cx)
            }
            Way::Backward => slot.stage.backward(packet, &mut cx),
        };
        if self.probes.watches_stages {
            let observe = |name: &str| slot.stage.observe(name, now);
            self.probes.at_stage(slot.spec, slot.copy, observe, now);
            self.trace_stage(index, pass, packet, now);
        }
        if pass != Pass::On || !self.staging.acts.is_empty() {
            return self.decided(index, pass, way, packet, now);
        }
        self.note_passed(index, way, packet);
        true
    }

    /// Does what a stage wants beside letting a packet pass. Says whether the packet goes on.
    #[inline(never)]
    fn decided(&mut self, index: u32, pass: Pass, way: Way, packet: &mut Packet, now: Time) -> bool {
        if pass == Pass::Held {
            self.net.stages[index as usize].held += 1;
        }
        self.do_acts(index, now);
        let slot = &self.net.stages[index as usize];
        let counters = &mut self.net.stage_counters[slot.spec as usize];
        let happening = |reason: Reason| Happening {
            time: now,
            flow: self.net.slots.id(packet.flow),
            component: STAGES | slot.spec,
            code: reason as u8,
        };
        match pass {
            Pass::On => {}
            Pass::Mark(reason) => {
                counters.marks[way as usize][reason as usize] += u64::from(self.net.window.holds(now));
                self.probes.marked(happening(reason));
            }
            Pass::Drop(reason) => {
                counters.all_dropped += 1;
                let inside = self.net.window.holds(now);
                counters.drops[way as usize][reason as usize] += u64::from(inside);
                if self.probes.watches_drops {
                    self.probes.dropped(happening(reason), None);
                }
                self.discard(packet, inside);
                return false;
            }
            Pass::Held => return false,
        }
        self.note_passed(index, way, packet);
        true
    }

    /// A stage has decided on a packet.
    #[cold]
    fn trace_stage(&mut self, index: u32, pass: Pass, packet: &Packet, now: Time) {
        let (action, reason) = match pass {
            Pass::On => (Action::Pass, None),
            Pass::Mark(reason) => (Action::Mark, Some(reason)),
            Pass::Drop(reason) => (Action::Drop, Some(reason)),
            Pass::Held => (Action::Hold, None),
        };
        let slot = &self.net.stages[index as usize];
        let place = Place { component: STAGES | slot.spec, copy: slot.copy };
        self.trace(place, action, reason, packet, now);
    }

    fn note_passed(&mut self, index: u32, way: Way, packet: &Packet) {
        let passed = &mut self.net.stages[index as usize].passed[way as usize];
        passed.0 += u64::from(self.window_open);
        passed.1 += u64::from(packet.size) * u64::from(self.window_open);
    }

    /// Does what a stage has asked for: sets its alarm, and the rest in that order.
    fn do_acts(&mut self, index: u32, now: Time) {
        if self.staging.acts.is_empty() {
            return;
        }
        let mut acts = std::mem::take(&mut self.staging.acts);
        self.staging.depth += 1;
        if self.staging.depth > DEEPEST {
            self.endless(index, now);
            acts.retain(|act| matches!(act, Act::Release(_)));
        }
        // First of all, because later requests may call the stage again.
        for act in &acts {
            if let Act::Wake(at) = act {
                self.wake_stage_at(index, *at);
            }
        }
        for act in acts.drain(..) {
            match act {
                Act::Wake(_) => {}
                Act::Send(own) => self.send_own(index, own, now),
                Act::Release(held) => self.release(index, held, now),
                Act::Set(setting) => self.reconfigure(index, setting, now),
            }
        }
        self.staging.depth -= 1;
        self.staging.acts = acts;
    }

    /// Sets the one alarm that a stage has.
    fn wake_stage_at(&mut self, index: u32, at: Time) {
        let slot = &mut self.net.stages[index as usize];
        if std::mem::replace(&mut slot.wake, at) == at || at == Time::NEVER {
            return;
        }
        let key = key(at, Rank::Timer, ALARMS, index);
        self.timers.push(Reverse((key, index, Wake::Stage)));
        self.advance_agenda(key);
    }

    /// A stage's alarm fires, unless it was reset.
    pub(super) fn wake_stage(&mut self, index: u32, fired: Key, now: Time) {
        let slot = &mut self.net.stages[index as usize];
        if slot.wake != time_of(fired) {
            return;
        }
        slot.wake = Time::NEVER;
        if self.once_more(index, now) {
            self.call(index, now, |stage, cx| stage.wake(cx));
        }
    }

    /// A stage is woken or given a message at `now`. Says whether that may still come to an end.
    fn once_more(&mut self, index: u32, now: Time) -> bool {
        let slot = &mut self.net.stages[index as usize];
        slot.called = (now, if slot.called.0 == now { slot.called.1 + 1 } else { 0 });
        let sound = slot.called.1 < MOST_AT_ONCE;
        if !sound {
            self.endless(index, now);
        }
        sound
    }

    #[cold]
    fn endless(&mut self, index: u32, now: Time) {
        self.halt(StageFault::Endless { stage: self.name_of(index).to_owned(), seconds: now.seconds() });
    }

    /// A stage sends a packet. Without a route to its receiver, nothing is sent.
    fn send_own(&mut self, index: u32, own: Own, now: Time) {
        let flow = own.along.slot;
        let info = self.net.flows[flow as usize];
        let group = self.net.hosts[info.host as usize].group as usize;
        let slot = &mut self.net.stages[index as usize];
        let counters = &mut self.net.stage_counters;
        let ways = self.net.own_ways.get(group * counters.len() + slot.spec as usize);
        let Some(hop) = ways.map(|ways| ways[own.to as usize]).filter(|hop| *hop != 0) else { return };
        let counters = &mut counters[slot.spec as usize];
        counters.sent.0 += u64::from(self.window_open);
        counters.sent.1 += u64::from(own.size) * u64::from(self.window_open);
        let stamp = self.staging.messages.keep(own.message);
        let mut packet = Packet { stamp, hop, class: own.class, ..Packet::new(flow, own.size, 0) };
        self.created += 1;
        self.enter(&mut packet, &info, now);
    }

    /// A stage sends on a packet that it has held.
    fn release(&mut self, index: u32, mut held: HeldPacket, now: Time) {
        let slot = &mut self.net.stages[index as usize];
        let Some(rest) = slot.held.checked_sub(1) else {
            return self.halt(StageFault::NotHeld { stage: self.name_of(index).to_owned() });
        };
        slot.held = rest;
        self.note_passed(index, held.way, &held.packet);
        if self.probes.watches_stages {
            self.trace_stage(index, Pass::On, &held.packet, now);
        }
        let info = self.net.flows[held.packet.flow as usize];
        self.enter(&mut held.packet, &info, now);
    }

    /// Changes what a stage controls.
    fn reconfigure(&mut self, index: u32, setting: Setting, now: Time) {
        for i in 0..self.net.stages[index as usize].controls.len() {
            let port = self.net.stages[index as usize].controls[i];
            let set = match setting {
                Setting::Rate(rate) => QueueSetting::LinkRate(rate),
                Setting::Share(flow, class, share) => {
                    let key = self.net.ports[port as usize].select.key_of(flow, class, &self.net.slots);
                    QueueSetting::Share(key, share)
                }
            };
            self.set(port, set, now);
        }
    }

    /// A packet of a stage's own has reached its peer.
    #[inline(never)]
    pub(super) fn deliver_message(&mut self, index: u32, packet: &mut Packet, now: Time) {
        let message = self.end_own(packet);
        let whose = self.whose(packet.flow);
        let slot = &mut self.net.stages[index as usize];
        let mut cx =
            Cx::new(now, whose, Way::Forward, &mut slot.stream, &mut self.options, &mut self.staging.acts);
        if let Some(message) = message {
            slot.stage.receive(message, &mut cx);
        }
        if !self.once_more(index, now) {
            self.staging.acts.retain(|act| matches!(act, Act::Release(_) | Act::Wake(_)));
        }
        self.do_acts(index, now);
    }

    /// The way of a packet ends that a stage has made.
    #[inline(never)]
    pub(super) fn end_own(&mut self, packet: &mut Packet) -> Option<Message> {
        self.consumed += 1;
        self.options.discard(packet);
        self.staging.messages.take(packet.stamp)
    }

    /// Drops the contents of a packet that a stage sent.
    #[cold]
    pub(super) fn forget_message(&mut self, packet: &Packet) {
        self.staging.messages.take(packet.stamp);
    }

    fn name_of(&self, index: u32) -> &str {
        let spec = self.net.stages[index as usize].spec;
        &self.net.stage_counters[spec as usize].name
    }

    /// Messages between stages are kept for packets `inside`, and for no other.
    pub(super) fn check_messages(&self, inside: &[Packet]) -> Result<(), Invariant> {
        let under_way = inside.iter().filter(|packet| packet.is_of_stage() && packet.stamp != EMPTY).count();
        let kept = self.staging.messages.len();
        if kept == under_way { Ok(()) } else { Err(Invariant::Messages { kept, under_way }) }
    }

    /// Invariants of stages at the end of a run.
    pub fn check_stages(&self) -> Result<(), RunError> {
        for (index, slot) in self.net.stages.iter().enumerate() {
            let (held, own) = (slot.held, slot.stage.held().len());
            if held as usize != own {
                return Err(Invariant::Held { stage: index, own, held }.into());
            }
            if held > 0 && slot.wake == Time::NEVER {
                let stage = self.name_of(index as u32).to_owned();
                return Err(StageFault::HeldForever { stage, held }.into());
            }
        }
        Ok(())
    }
}
