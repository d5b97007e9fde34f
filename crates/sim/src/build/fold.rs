//! Folding: which hops serve a packet before its time.
//!
//! When a port accepts a packet, its arrival at the next hop is known. If nothing else can reach that hop
//! before, the packet is served there immediately, with the instant of its arrival. This saves an event and
//! changes no record.

use evenflow_base::{Duration, Fine, Time};
use evenflow_link::Queue;
use evenflow_scenario::model::{Component, Group, Per};

use super::Builder;
use crate::network::{Hop, Network};
use crate::port::Port;

/// What a port receives packets from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    None,
    /// One port.
    Port(u32),
    /// Copies of one link in one direction, by the index of its side.
    Copies(u32),
    /// Hosts, stages, or ports of several links.
    Any,
}

impl Input {
    fn join(&mut self, other: Option<u32>, ports: &[Port]) {
        let side = |port: u32| ports[port as usize].side;
        *self = match (*self, other) {
            (Input::None, Some(port)) => Input::Port(port),
            (Input::Port(known), Some(port)) if known == port => Input::Port(port),
            (Input::Port(known), Some(port)) if side(known) == side(port) => Input::Copies(side(port)),
            (Input::Copies(known), Some(port)) if known == side(port) => Input::Copies(known),
            _ => Input::Any,
        }
    }
}

/// Whether the transmission of any packet takes a nanosecond or more.
fn takes_time(port: &Port) -> bool {
    port.link.wire.byte_time >= Fine::at(Time(1))
}

impl Builder<'_, '_> {
    /// Marks the hops that are folded.
    pub(super) fn fold(&self, net: &mut Network) {
        if self.options.unfolded || self.is_watched() {
            return;
        }
        let mut inputs = vec![Input::None; net.ports.len()];
        let mut before = None;
        for hop in &net.routes {
            let port = match hop {
                Hop::Port { index, .. } => Some(*index),
                _ => None,
            };
            if let Some(port) = port {
                inputs[port as usize].join(before, &net.ports);
            }
            before = port;
        }
        let ports = &net.ports;
        for at in 1..net.routes.len() {
            if let [Hop::Port { index: from, folded }, Hop::Port { index: to, .. }] =
                &mut net.routes[at - 1..=at]
            {
                *folded = feeds(&ports[*from as usize], *from, &ports[*to as usize], inputs[*to as usize]);
            }
        }
    }

    /// Whether a probe sees packets or queues during the run.
    fn is_watched(&self) -> bool {
        let record = &self.scenario.record;
        !(record.series.is_empty()
            && record.histograms.is_empty()
            && record.events.is_empty()
            && record.trace.is_empty())
    }

    /// Whether a host serves its first link at launch, with the instant at which the packet will leave the
    /// host: the link is FIFO and has no other input.
    pub(super) fn folds(&self, group: &Group, first: Hop, ports: &[Port]) -> bool {
        let Hop::Port { index, .. } = first else { return false };
        let port = &ports[index as usize];
        let private = match group.path.first().map(|hop| hop.component) {
            Some(Component::Link(i)) => self.scenario.links[i].per == Per::User,
            _ => false,
        };
        private
            && port.link.decides_on_arrival()
            && is_later(port)
            && !self.options.unfolded
            && !self.is_watched()
    }
}

/// Whether packets reach the far end later than they are accepted. Other events of that instant then do not
/// depend on them.
fn is_later(port: &Port) -> bool {
    takes_time(port) || (port.link.wire.delay > Duration::ZERO && !port.link.varies())
}

/// Whether port `to` serves packets of port `from` before their time. A transmitter needs them in order, and
/// no two at one instant: those would be served in the order of their flows.
fn feeds(from: &Port, index: u32, to: &Port, input: Input) -> bool {
    let ordered = match (&to.link.queue, input) {
        (Queue::Delay, Input::Port(_) | Input::Copies(_)) => true,
        (Queue::Open | Queue::Fifo(_), Input::Port(only)) => {
            only == index && takes_time(from) && !from.link.varies()
        }
        _ => false,
    };
    ordered && from.link.keeps_order() && is_later(from) && is_later(to)
}
