//! Routes: which ports and stages a flow's packets meet, there and back, and where work may be done early.

use std::ops::Range;

use evenflow_base::schema::Way;
use evenflow_base::{Duration, Fine, Time};
use evenflow_scenario::model::{Component, Group, Hop, Per};
use evenflow_stage::To;

use super::Builder;
use super::copies::{Place, Places};
use crate::network::{BACK, DISCARD, FOLD, NOBODY, PEER, PORT, RECEIVER, SENDER, STAGE, STAGE_INDEX, TAP};
use crate::port::{Port, Queue};

/// Whether packets leave a port in the order in which it takes them, at instants that are known at once.
fn in_order(port: &Port) -> bool {
    match &port.queue {
        Queue::Open => true,
        Queue::Fifo(q) => q.impairments.jitter.as_ref().is_none_or(|jitter| jitter.last.is_some()),
        Queue::Events(_) => false,
    }
}

/// Whether sending a packet, however small, takes a nanosecond or more.
fn takes_time(port: &Port) -> bool {
    port.byte_time >= Fine::at(Time(1))
}

/// Whether no two packets reach the far end of a port at the same instant.
fn spaced(port: &Port) -> bool {
    let jitters = matches!(&port.queue, Queue::Fifo(q) if q.impairments.varies());
    takes_time(port) && !jitters
}

impl Builder<'_, '_> {
    /// The route of the flow at `place`: there, back, and the ways of packets that stages on it make.
    pub(super) fn route(&self, group: &Group, place: Place, places: &Places, ports: &[Port]) -> Vec<u32> {
        let hops = group.path.len();
        let traced = self.is_traced(place.group);
        let tap = |number: u32| traced.then_some(STAGE | TAP | number);
        let mut route: Vec<u32> = tap(0).into_iter().collect();
        route.extend(self.way(group, place, places, 0..hops, Way::Forward));
        route.extend(tap(1));
        route.push(RECEIVER);
        route.extend(tap(0));
        let back = route.len();
        route.extend(self.way(group, place, places, 0..hops, Way::Backward));
        self.fold(group, &mut route[back..], ports);
        route.extend(tap(1));
        route.extend([SENDER, DISCARD]);
        for stage in 0..hops {
            for to in [To::Peer, To::Forward, To::Backward] {
                route.extend(self.own_way(group, place, places, stage, to).unwrap_or_default());
            }
        }
        let most = usize::from(u8::MAX);
        assert!(route.len() <= most, "a path has more components than a packet can count");
        route
    }

    /// Where on the routes of a group the ways begin that [`Builder::route`] adds for each stage of the scenario.
    pub(super) fn own_ways(&self, group: &Group, place: Place, places: &Places) -> Vec<[u8; 3]> {
        let mut starts = vec![[0; 3]; self.scenario.stages.len()];
        let len = |way| self.way(group, place, places, 0..group.path.len(), way).len();
        let ends = if self.is_traced(place.group) { 7 } else { 3 };
        let mut at = len(Way::Forward) + len(Way::Backward) + ends;
        for (number, hop) in group.path.iter().enumerate() {
            let Component::Stage(stage) = hop.component else { continue };
            for to in [To::Peer, To::Forward, To::Backward] {
                let Some(way) = self.own_way(group, place, places, number, to) else { continue };
                starts[stage][to as usize] = at as u8;
                at += way.len();
            }
        }
        starts
    }

    /// What a packet meets that the stage at hop number `from` of a path makes and sends `to` somewhere; `None`: it makes none,
    /// or has no such place to send it to.
    fn own_way(&self, group: &Group, place: Place, places: &Places, from: usize, to: To) -> Option<Vec<u32>> {
        let hop = group.path[from];
        let Component::Stage(stage) = hop.component else { return None };
        let stage = &self.scenario.stages[stage];
        if !stage.spec.mechanism.traits.sends {
            return None;
        }
        let after = from + 1..group.path.len();
        let (hops, way, end) = match to {
            To::Peer => {
                let peer = Component::Stage(stage.peer?);
                let at = group.path.iter().position(|hop| hop.component == peer)?;
                let end = self.entry(&group.path[at], place, places) | PEER;
                if at > from { (from + 1..at, Way::Forward, end) } else { (at + 1..from, Way::Backward, end) }
            }
            To::Forward if hop.against => (0..from, Way::Backward, NOBODY),
            To::Forward => (after, Way::Forward, NOBODY),
            To::Backward if hop.against => (after, Way::Forward, NOBODY),
            To::Backward => (0..from, Way::Backward, NOBODY),
        };
        let mut entries = self.way(group, place, places, hops, way);
        entries.push(end);
        Some(entries)
    }

    /// What packets of the flow at `place` meet over some hops of its path, along it or back. A stage that does not act in that
    /// direction is not among it.
    fn way(&self, group: &Group, place: Place, places: &Places, hops: Range<usize>, along: Way) -> Vec<u32> {
        let entry = |hop: &Hop| {
            let way = if hop.against { along.opposite() } else { along };
            let here = self.entry(hop, place, places);
            match hop.component {
                Component::Link(_) => Some(here | u32::from(way == Way::Backward)),
                Component::Stage(i) => {
                    let acts = self.scenario.stages[i].spec.mechanism.traits.ways.has(way);
                    acts.then_some(if way == Way::Backward { here | BACK } else { here })
                }
            }
        };
        let mut entries: Vec<u32> = group.path[hops].iter().filter_map(entry).collect();
        if along == Way::Backward {
            entries.reverse();
        }
        if self.is_traced(place.group) {
            let tapped = |entry: u32| {
                let tap = (entry & STAGE == 0).then_some(STAGE | TAP | (2 + entry));
                tap.into_iter().chain([entry])
            };
            entries = entries.into_iter().flat_map(tapped).collect();
        }
        entries
    }

    /// Whether some flow of a group is traced: taps stand on the routes of all of them then.
    fn is_traced(&self, group: usize) -> bool {
        self.scenario.record.trace.iter().any(|traced| traced.group == group)
    }

    /// The entry of a hop that is crossed forward.
    fn entry(&self, hop: &Hop, place: Place, places: &Places) -> u32 {
        let flows = self.flows[place.group];
        match hop.component {
            Component::Link(i) => {
                let copy = places.links[i].of(self.scenario.links[i].per, place, flows);
                (places.first_port[i] + 2 * copy) as u32
            }
            Component::Stage(i) => {
                let copy = places.stages[i].of(self.scenario.stages[i].per, place, flows);
                let index = (places.first_stage[i] + copy) as u32;
                assert!(index < STAGE_INDEX - 4, "{index} copies of stages: more than a run can have");
                STAGE | index
            }
        }
    }

    /// Marks, on the way back, a port that hears from the one before it alone.
    fn fold(&self, group: &Group, back: &mut [u32], ports: &[Port]) {
        // A packet that a stage makes would enter the last link on the way back by itself.
        let sends = |hop: &Hop| match hop.component {
            Component::Link(_) => false,
            Component::Stage(i) => self.scenario.stages[i].spec.mechanism.traits.sends,
        };
        if group.path.iter().any(sends) {
            return;
        }
        let links = (back.len() > 1).then(|| back.len() - 2..back.len());
        // What acts between the two, or behind them, has its events.
        let Some(links) = links.filter(|links| back[links.clone()].iter().all(|entry| entry & STAGE == 0))
        else {
            return;
        };
        if let [before, last] = &mut back[links]
            && self.last_is_private(group)
        {
            let (from, to) = (&ports[(*before & PORT) as usize], &ports[(*last & PORT) as usize]);
            // Packets of one instant would be taken in the order of their flows if each waited for its time.
            let no_ties = spaced(from) || to.byte_time == Fine::default();
            let open = matches!(to.queue, Queue::Open);
            if in_order(from) && open && no_ties && self.may_fold(from) && self.may_fold(to) {
                *before |= FOLD;
            }
        }
    }

    /// Whether the last link on the way back to a user hears from one copy of one link alone.
    pub(super) fn last_is_private(&self, group: &Group) -> bool {
        let mut links = group.path.iter().filter_map(|hop| match hop.component {
            Component::Link(i) => Some(i),
            Component::Stage(_) => None,
        });
        let (Some(last), Some(before)) = (links.next(), links.next()) else { return false };
        let per = |link: usize| self.scenario.links[link].per;
        per(last) == Per::User && per(before) != Per::Flow && before != last && links.all(|link| link != last)
    }

    /// Whether the work of a port may be done before its time: nobody looks while the run goes on, and a packet is at the far end
    /// later than it comes, so that what happens there at the same instant does not depend on it.
    fn may_fold(&self, port: &Port) -> bool {
        let record = &self.scenario.record;
        let watched = !(record.series.is_empty()
            && record.histograms.is_empty()
            && record.events.is_empty()
            && record.trace.is_empty());
        let jitters = match &port.queue {
            Queue::Fifo(q) => q.impairments.varies(),
            _ => false,
        };
        !watched && !self.options.unfolded && (takes_time(port) || (port.delay > Duration::ZERO && !jitters))
    }

    /// Whether a group's first link may be worked off at launch: nobody else enters it, it is FIFO, and nobody looks at
    /// it while time has not come so far.
    pub(super) fn folds(&self, group: &Group, port: Option<&Port>) -> bool {
        let private = match group.path.first().map(|hop| hop.component) {
            Some(Component::Link(i)) => self.scenario.links[i].per == Per::User,
            _ => false,
        };
        private && port.is_some_and(|p| !matches!(p.queue, Queue::Events(_)) && self.may_fold(p))
    }
}
