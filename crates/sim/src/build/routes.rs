//! Routes: which ports and stages a flow's packets meet, there and back, and where work may be done early.

use evenflow_scenario::model::{Component, Group, Per};

use super::Builder;
use super::copies::{Place, Places};
use crate::network::{DISCARD, FOLD, KEEP, PORT, RECEIVER, SENDER, STAGE};
use crate::port::{Port, Queue};

/// Whether packets leave a port in the order in which it takes them, at instants that are known at once.
fn in_order(port: &Port) -> bool {
    match &port.queue {
        Queue::Open => true,
        Queue::Fifo(q) => q.impairments.jitter.as_ref().is_none_or(|jitter| jitter.last.is_some()),
        Queue::Events(_) => false,
    }
}

impl Builder<'_> {
    /// Adds the way to the receiver of the flow at `place` to the routes.
    pub(super) fn way_there(&self, group: &Group, place: Place, places: &Places, routes: &mut Vec<u32>) {
        let flows = self.flows[place.group];
        for hop in &group.path {
            routes.push(match hop.component {
                Component::Link(i) => {
                    let copy = places.links[i].of(self.scenario.links[i].per, place, flows);
                    (places.first_port[i] + 2 * copy) as u32 | u32::from(hop.against)
                }
                Component::Stage(i) => {
                    let copy = places.stages[i].of(self.scenario.stages[i].per, place, flows);
                    STAGE | (places.first_stage[i] + copy) as u32
                }
            });
        }
    }

    /// Adds the way back to the route that begins at `first`: the same links the other way; stages act only on the way
    /// there. Then marks ports that hear from one side alone.
    pub(super) fn complete(&self, group: &Group, routes: &mut Vec<u32>, first: usize, ports: &[Port]) {
        let there = routes.len();
        routes.push(RECEIVER);
        for i in (first..there).rev() {
            if routes[i] & STAGE == 0 {
                routes.push(routes[i] ^ 1);
            }
        }
        for half in [first..there, there + 1..routes.len()] {
            if let Some(entry) = routes[half].iter_mut().find(|entry| **entry & STAGE == 0) {
                *entry |= KEEP; // the first link keeps the number that was drawn when the packet was sent
            }
        }
        if let [.., before, last] = &mut routes[there + 1..]
            && self.last_is_private(group)
        {
            *last |= KEEP;
            let lazy = in_order(&ports[(*before & PORT) as usize]);
            let open = matches!(ports[(*last & PORT) as usize].queue, Queue::Open);
            if lazy && open && !self.watched() {
                *before |= FOLD;
            }
        }
        routes.push(SENDER);
        routes.push(DISCARD);
        let most = usize::from(u8::MAX);
        assert!(routes.len() - first <= most, "a path has more components than a packet can count");
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

    /// Whether a `[record]` section looks at anything while the run goes on: then nothing may be booked before its time.
    pub(super) fn watched(&self) -> bool {
        let record = &self.scenario.record;
        !(record.series.is_empty() && record.histograms.is_empty() && record.events.is_empty())
    }

    /// Whether a group's first link may be worked off at launch: nobody else enters it, it is FIFO, and nobody looks at
    /// it while time has not come so far.
    pub(super) fn folds(&self, group: &Group, port: Option<&Port>) -> bool {
        let private = match group.path.first().map(|hop| hop.component) {
            Some(Component::Link(i)) => self.scenario.links[i].per == Per::User,
            _ => false,
        };
        private && !self.watched() && port.is_some_and(|p| !matches!(p.queue, Queue::Events(_)))
    }
}
