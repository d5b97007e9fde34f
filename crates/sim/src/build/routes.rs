//! Routes: which ports and stages a flow's packets meet, there and back, and where work may be done early.

use std::ops::Range;

use evenflow_base::schema::Way;
use evenflow_base::{Duration, End, Fine, Time};
use evenflow_link::Queue;
use evenflow_scenario::model::{Component, Group, Hop as PathHop, Per};
use evenflow_stage::To;

use super::Builder;
use super::copies::{Place, Places};
use crate::network::Hop;
use crate::port::Port;

/// Whether sending a packet, however small, takes a nanosecond or more.
fn takes_time(port: &Port) -> bool {
    port.link.wire.byte_time >= Fine::at(Time(1))
}

impl Builder<'_, '_> {
    /// The route of the flow at `place`: there, back, and the ways of packets that stages on it make.
    pub(super) fn route(&self, group: &Group, place: Place, places: &Places, ports: &[Port]) -> Vec<Hop> {
        let hops = group.path.len();
        let traced = self.is_traced(place.group);
        let tap = |tap: Hop| traced.then_some(tap);
        let mut route: Vec<Hop> = tap(Hop::TapSend).into_iter().collect();
        route.extend(self.way(group, place, places, 0..hops, Way::Forward));
        route.extend(tap(Hop::TapReceive));
        route.push(Hop::End(End::Server));
        route.extend(tap(Hop::TapSend));
        let back = route.len();
        route.extend(self.way(group, place, places, 0..hops, Way::Backward));
        self.fold(group, &mut route[back..], ports);
        route.extend(tap(Hop::TapReceive));
        route.extend([Hop::End(End::Client), Hop::Discard]);
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

    /// The route of a packet that the stage at hop number `from` of a path sends `to` somewhere. `None`: the
    /// stage sends none, or has no such receiver.
    fn own_way(&self, group: &Group, place: Place, places: &Places, from: usize, to: To) -> Option<Vec<Hop>> {
        let hop = group.path[from];
        let Component::Stage(stage) = hop.component else { return None };
        let stage = &self.scenario.stages[stage];
        if !stage.spec.mechanism.traits.sends {
            return None;
        }
        let after = from + 1..group.path.len();
        let (hops, way, end) = match to {
            To::Peer => {
                let peer = stage.peer?;
                let at = group.path.iter().position(|hop| hop.component == Component::Stage(peer))?;
                let end = Hop::Peer(self.stage_at(peer, place, places));
                if at > from { (from + 1..at, Way::Forward, end) } else { (at + 1..from, Way::Backward, end) }
            }
            To::Forward if hop.against => (0..from, Way::Backward, Hop::Nobody),
            To::Forward => (after, Way::Forward, Hop::Nobody),
            To::Backward if hop.against => (after, Way::Forward, Hop::Nobody),
            To::Backward => (0..from, Way::Backward, Hop::Nobody),
        };
        let mut entries = self.way(group, place, places, hops, way);
        entries.push(end);
        Some(entries)
    }

    /// The route of packets of the flow at `place` over some hops of its path, forward or backward. Stages
    /// that do not act in that direction are left out.
    fn way(&self, group: &Group, place: Place, places: &Places, hops: Range<usize>, along: Way) -> Vec<Hop> {
        let entry = |hop: &PathHop| {
            let way = if hop.against { along.opposite() } else { along };
            match hop.component {
                Component::Link(i) => {
                    Some(Hop::Port { index: self.port_at(i, way, place, places), folded: false })
                }
                Component::Stage(i) => {
                    let acts = self.scenario.stages[i].spec.mechanism.traits.ways.has(way);
                    acts.then(|| Hop::Stage { index: self.stage_at(i, place, places), way })
                }
            }
        };
        let mut entries: Vec<Hop> = group.path[hops].iter().filter_map(entry).collect();
        if along == Way::Backward {
            entries.reverse();
        }
        if self.is_traced(place.group) {
            let tapped = |hop: Hop| {
                let tap = match hop {
                    Hop::Port { index, .. } => Some(Hop::TapPort(index)),
                    _ => None,
                };
                tap.into_iter().chain([hop])
            };
            entries = entries.into_iter().flat_map(tapped).collect();
        }
        entries
    }

    /// Whether some flow of a group is traced: taps stand on the routes of all of them then.
    fn is_traced(&self, group: usize) -> bool {
        self.scenario.record.trace.iter().any(|traced| traced.group == group)
    }

    /// The port of the copy of a link that the flow at `place` crosses.
    fn port_at(&self, link: usize, way: Way, place: Place, places: &Places) -> u32 {
        let copy = places.links[link].of(self.scenario.links[link].per, place, self.flows[place.group]);
        (places.first_port[link] + 2 * copy) as u32 + way as u32
    }

    /// The copy of a stage that the flow at `place` crosses.
    fn stage_at(&self, stage: usize, place: Place, places: &Places) -> u32 {
        let copy = places.stages[stage].of(self.scenario.stages[stage].per, place, self.flows[place.group]);
        (places.first_stage[stage] + copy) as u32
    }

    /// Marks ports on the reverse route whose only input is the port before.
    fn fold(&self, group: &Group, back: &mut [Hop], ports: &[Port]) {
        // A packet sent by a stage could enter the last reverse link alone.
        let sends = |hop: &PathHop| match hop.component {
            Component::Link(_) => false,
            Component::Stage(i) => self.scenario.stages[i].spec.mechanism.traits.sends,
        };
        if group.path.iter().any(sends) || !self.last_is_private(group) {
            return;
        }
        // A stage between the two ports, or behind them, has its events.
        if let [.., Hop::Port { index: before, folded }, Hop::Port { index: last, .. }] = back {
            let (from, to) = (&ports[*before as usize], &ports[*last as usize]);
            // Packets of one instant would be taken in the order of their flows if each waited for its time.
            let spaced = takes_time(from) && !from.link.varies();
            let no_ties = spaced || to.link.wire.byte_time == Fine::default();
            let open = matches!(to.link.queue, Queue::Open);
            *folded = from.link.keeps_order() && open && no_ties && self.may_fold(from) && self.may_fold(to);
        }
    }

    /// Whether the last link on a user's reverse path has only one input, a copy of one link.
    pub(super) fn last_is_private(&self, group: &Group) -> bool {
        let mut links = group.path.iter().filter_map(|hop| match hop.component {
            Component::Link(i) => Some(i),
            Component::Stage(_) => None,
        });
        let (Some(last), Some(before)) = (links.next(), links.next()) else { return false };
        let per = |link: usize| self.scenario.links[link].per;
        per(last) == Per::User && per(before) != Per::Flow && before != last && links.all(|link| link != last)
    }

    /// Whether a port may process packets before their time: no probe reads it during the run, and packets
    /// take time to the far end. Events at the far end at the same instant then do not depend on it.
    fn may_fold(&self, port: &Port) -> bool {
        let record = &self.scenario.record;
        let watched = !(record.series.is_empty()
            && record.histograms.is_empty()
            && record.events.is_empty()
            && record.trace.is_empty());
        !watched
            && !self.options.unfolded
            && (takes_time(port) || (port.link.wire.delay > Duration::ZERO && !port.link.varies()))
    }

    /// Whether a group's first link may process packets at launch: it is FIFO, has no other input, and no
    /// probe reads it before that time.
    pub(super) fn folds(&self, group: &Group, first: Hop, ports: &[Port]) -> bool {
        let Hop::Port { index, .. } = first else { return false };
        let port = &ports[index as usize];
        let private = match group.path.first().map(|hop| hop.component) {
            Some(Component::Link(i)) => self.scenario.links[i].per == Per::User,
            _ => false,
        };
        private && port.link.decides_on_arrival() && self.may_fold(port)
    }
}
