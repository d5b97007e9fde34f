//! Routes: which ports and stages a flow's packets meet, there and back, and where work may be done early.

use evenflow_base::{Duration, Fine, Time};
use evenflow_scenario::model::{Component, Group, Per};

use super::Builder;
use super::copies::{Place, Places};
use crate::network::{DISCARD, FOLD, PORT, RECEIVER, SENDER, STAGE};
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
    let jitters = matches!(&port.queue, Queue::Fifo(q) if q.impairments.jitter.is_some());
    takes_time(port) && !jitters
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
    /// there. Then marks a port that hears from one other alone.
    pub(super) fn complete(&self, group: &Group, routes: &mut Vec<u32>, first: usize, ports: &[Port]) {
        let there = routes.len();
        routes.push(RECEIVER);
        for i in (first..there).rev() {
            if routes[i] & STAGE == 0 {
                routes.push(routes[i] ^ 1);
            }
        }
        if let [.., before, last] = &mut routes[there + 1..]
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

    /// Whether the work of a port may be done before its time: nobody looks while the run goes on, and a packet is at the far end
    /// later than it comes, so that what happens there at the same instant does not depend on it.
    fn may_fold(&self, port: &Port) -> bool {
        let record = &self.scenario.record;
        let watched = !(record.series.is_empty() && record.histograms.is_empty() && record.events.is_empty());
        let jitters = match &port.queue {
            Queue::Fifo(q) => q.impairments.jitter.is_some(),
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
