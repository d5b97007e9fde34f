//! Routes: which ports and stages a flow's packets meet, there and back.

use std::ops::Range;

use evenflow_base::End;
use evenflow_base::schema::Way;
use evenflow_scenario::model::{Component, Group, Hop as PathHop};
use evenflow_stage::To;

use super::Builder;
use super::copies::{Place, Places};
use crate::network::Hop;

impl Builder<'_, '_> {
    /// The route of the flow at `place`: there, back, and the ways of packets that stages on it make.
    pub(super) fn route(&self, group: &Group, place: Place, places: &Places) -> Vec<Hop> {
        let hops = group.path.len();
        let traced = self.is_traced(place.group);
        let tap = |tap: Hop| traced.then_some(tap);
        let mut route: Vec<Hop> = tap(Hop::TapSend).into_iter().collect();
        route.extend(self.way(group, place, places, 0..hops, Way::Forward));
        route.extend(tap(Hop::TapReceive));
        route.push(Hop::End(End::Server));
        route.extend(tap(Hop::TapSend));
        route.extend(self.way(group, place, places, 0..hops, Way::Backward));
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
            To::Forward if hop.against => (0..from, Way::Backward, Hop::Sink),
            To::Forward => (after, Way::Forward, Hop::Sink),
            To::Backward if hop.against => (after, Way::Forward, Hop::Sink),
            To::Backward => (0..from, Way::Backward, Hop::Sink),
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
}
