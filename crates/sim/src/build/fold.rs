//! Folding: which hops serve a packet before its time.
//!
//! When a port accepts a packet, its arrival at the next hop is known. If nothing else can reach that hop
//! before, the packet is served there immediately, with the instant of its arrival. This saves an event and
//! changes no record. [`crate::engine::Engine`] folds no hop beyond the next look of a probe.

use std::collections::BTreeSet;
use std::ops::Range;

use evenflow_base::{Duration, End, Fine, Time};
use evenflow_link::Queue;
use evenflow_scenario::model::{Component, Every, Group, Per, Series, Subject};

use super::Builder;
use crate::network::{Endpoint, Flow, Hop, Network};
use crate::port::Port;

/// Flows of a host whose senders are folded: their wake-ups are searched one by one.
const MOST_FLOWS: usize = 64;

/// A source of a port's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Host(u32),
    Port(u32),
    /// Receivers behind this port.
    Receivers(u32),
    Other,
}

/// All sources of a port's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    None,
    One(Source),
    /// Copies of a link in one direction, by the index of its side, or the receivers behind them.
    Copies(u32),
    Receivers(u32),
    Any,
}

impl Input {
    fn join(&mut self, source: Source, ports: &[Port]) {
        use Source::{Port, Receivers};
        let side = |port: u32| ports[port as usize].side;
        *self = match (*self, source) {
            (Input::None, _) => Input::One(source),
            (Input::One(known), _) if known == source => return,
            (Input::One(Port(a)), Port(b)) if side(a) == side(b) => Input::Copies(side(a)),
            (Input::One(Receivers(a)), Receivers(b)) if side(a) == side(b) => Input::Receivers(side(a)),
            (Input::Copies(known), Port(port)) if known == side(port) => return,
            (Input::Receivers(known), Receivers(port)) if known == side(port) => return,
            _ => Input::Any,
        }
    }
}

/// How the server of a flow answers packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Server {
    /// It counts datagrams.
    Counts,
    /// It receives data and acknowledges it.
    Acknowledges,
    /// It has an application.
    Talks,
}

/// The marking of hops.
struct Folder<'a> {
    ports: &'a [Port],
    inputs: Vec<Input>,
    /// By hop: the servers of its flows; of several, the one that does most.
    servers: Vec<Server>,
    /// Receivers acknowledge every packet immediately.
    prompt: bool,
    /// Ports that stages control.
    controlled: BTreeSet<u32>,
}

impl Builder<'_, '_> {
    /// Marks the hops that are folded.
    pub(super) fn fold(&self, net: &mut Network) {
        if self.options.unfolded {
            net.profiles.iter_mut().for_each(|profile| profile.general = true);
        }
        if self.options.unfolded || self.is_watched() {
            return;
        }
        let prompt =
            net.profiles.iter().all(|tcp| tcp.ack_every == 1 && tcp.ack_compression == Duration::ZERO);
        let ports = std::mem::take(&mut net.ports);
        let folder = Folder::new(net, &ports, prompt);
        for at in 0..net.routes.len().saturating_sub(1) {
            let folds = folder.folds(&net.routes, at);
            if let Hop::Port { folded, .. } = &mut net.routes[at] {
                *folded = folds;
            }
        }
        // Stages that ask for round trips read senders, and so do senders that share reports.
        let shares = net.conex.as_ref().is_some_and(|conex| conex.shares);
        if !shares && !net.stages.iter().any(|slot| slot.round_trips) {
            folder.fold_senders(net);
        }
        net.ports = ports;
    }

    /// Whether a probe reads every packet, or counts at a private first link. Hosts hand packets to that one
    /// after processing, which may end beyond the fence.
    fn is_watched(&self) -> bool {
        let record = &self.scenario.record;
        let first = |link| {
            let at = Component::Link(link);
            let begins = |group: &Group| group.path.first().is_some_and(|hop| hop.component == at);
            self.scenario.links[link].per == Per::User && self.scenario.groups.iter().any(begins)
        };
        let watches = |series: &Series| match series.target.of {
            _ if series.every == Every::Packet => true,
            Subject::Queue(link, _)
            | Subject::Class(link, _)
            | Subject::Leaves(link)
            | Subject::Link(link) => first(link),
            _ => false,
        };
        let lists = record.events.is_empty() && record.trace.is_empty();
        !lists
            || record.histograms.iter().any(|histogram| histogram.queue_read().is_some_and(first))
            || record.series.iter().any(watches)
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

/// Whether the transmission of any packet takes a nanosecond or more.
fn takes_time(port: &Port) -> bool {
    port.link.wire.byte_time >= Fine::at(Time(1))
}

/// Whether packets reach the far end later than they are accepted. Other events of that instant then do not
/// depend on them.
fn is_later(port: &Port) -> bool {
    takes_time(port) || (port.link.wire.delay > Duration::ZERO && !port.link.varies())
}

/// Whether no two packets reach the far end at one instant. If they did, they would be served there in the
/// order of their flows.
fn is_spaced(port: &Port) -> bool {
    takes_time(port) && !port.link.varies()
}

impl<'a> Folder<'a> {
    fn new(net: &Network, ports: &'a [Port], prompt: bool) -> Folder<'a> {
        let mut folder = Folder {
            ports,
            inputs: vec![Input::None; ports.len()],
            servers: vec![Server::Talks; net.routes.len()],
            prompt,
            controlled: net.stages.iter().flat_map(|slot| &slot.controls).copied().collect(),
        };
        let mut flows = net.flows.iter().peekable();
        let (mut source, mut server) = (None, Server::Talks);
        let shares = net.conex.as_ref().is_some_and(|conex| conex.shares);
        for (at, hop) in net.routes.iter().enumerate() {
            let mut all = None;
            while let Some(flow) = flows.next_if(|flow| flow.route as usize == at) {
                source = Some(Source::Host(flow.host));
                all = all.max(Some(match flow.endpoint {
                    Endpoint::Source(_) if !shares => Server::Counts,
                    Endpoint::Tcp(_) if !shares => Server::Acknowledges,
                    _ => Server::Talks,
                }));
            }
            server = all.unwrap_or(server);
            folder.servers[at] = server;
            source = match (hop, source) {
                (Hop::End(End::Server), _) if server == Server::Counts => None,
                (Hop::Discard, _) => Some(Source::Other), // next are the packets of stages
                (_, None) => None,
                (Hop::Port { index, .. }, Some(source)) => {
                    folder.inputs[*index as usize].join(source, ports);
                    Some(Source::Port(*index))
                }
                (Hop::End(End::Server), Some(Source::Port(port))) if server == Server::Acknowledges => {
                    Some(Source::Receivers(port))
                }
                _ => Some(Source::Other),
            };
        }
        folder
    }

    /// Whether the hop behind the port at `at` serves packets before their time.
    fn folds(&self, routes: &[Hop], at: usize) -> bool {
        let Hop::Port { index, .. } = routes[at] else { return false };
        if !self.hands_over(index) {
            return false;
        }
        match routes[at + 1] {
            Hop::Port { index: to, .. } => self.feeds(index, to, false),
            Hop::End(End::Server) => match (self.servers[at], routes.get(at + 2)) {
                (Server::Counts, _) => true,
                // ACKs must find their first link ready.
                (Server::Acknowledges, Some(&Hop::Port { index: to, .. })) => self.feeds(index, to, true),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the far end of a port may get its packets before their time.
    fn hands_over(&self, index: u32) -> bool {
        let port = &self.ports[index as usize];
        port.link.is_serial() && is_later(port) && !self.controlled.contains(&index)
    }

    /// Whether port `to` serves packets of port `from`, or ACKs of receivers behind it, before their time. A
    /// pure delay takes them in any order. A transmitter takes them in order, and no two at one instant.
    fn feeds(&self, from: u32, to: u32, acks: bool) -> bool {
        let only = Input::One(if acks { Source::Receivers(from) } else { Source::Port(from) });
        let port = &self.ports[to as usize];
        let ordered = match (&port.link.queue, self.inputs[to as usize]) {
            (Queue::Delay, Input::Copies(_)) => !acks,
            (Queue::Delay, Input::Receivers(_)) => acks,
            (Queue::Delay, input) => input == only,
            (Queue::Open | Queue::Fifo(_), input) => {
                input == only && is_spaced(&self.ports[from as usize]) && (self.prompt || !acks)
            }
            _ => false,
        };
        ordered && is_later(port)
    }

    /// Marks hops before senders that may receive ACKs before their time. Their hosts only send data, over a
    /// private first link.
    fn fold_senders(&self, net: &mut Network) {
        let mut begin = 0;
        while let Some(flow) = net.flows.get(begin) {
            let host = flow.host;
            let count = net.flows[begin..].iter().take_while(|flow| flow.host == host).count();
            let flows = &net.flows[begin..begin + count];
            begin += count;
            if let Some(connections) = self.sends_only(flows, &net.routes) {
                for flow in flows {
                    let last = flow.route as usize + usize::from(flow.discard) - 2;
                    if let Hop::Port { folded, .. } = &mut net.routes[last] {
                        *folded = true;
                    }
                }
                net.hosts[host as usize].connections = connections;
                net.hosts[host as usize].soonest = Time::ZERO;
            }
        }
    }

    /// The connections of a host with these flows, if its senders may receive ACKs before their time.
    fn sends_only(&self, flows: &[Flow], routes: &[Hop]) -> Option<Range<u32>> {
        let connection = |flow: &Flow| match flow.endpoint {
            Endpoint::Tcp(index) => Some(index),
            _ => None,
        };
        let first = flows[0];
        let alone = flows.len() == 1;
        let connections = connection(&first)?..connection(flows.last()?)? + 1;
        let fits = |flow: &Flow| {
            let route = &routes[flow.route as usize..][..usize::from(flow.discard)];
            let Hop::Port { index, .. } = route[0] else { return false };
            let private = self.inputs[index as usize] == Input::One(Source::Host(flow.host));
            let sends = connection(flow).is_some() && flow.folded && private;
            sends && self.is_ordered(route, usize::from(flow.back), alone)
        };
        let together = alone || flows.iter().all(|flow| flow.route == first.route);
        (flows.len() <= MOST_FLOWS && together && flows.iter().all(fits)).then_some(connections)
    }

    /// Whether a host receives ACKs over `route` in order if it receives them before their time. The reverse
    /// path begins at `back`. ACKs of a flow that is `alone` need no order among flows.
    fn is_ordered(&self, route: &[Hop], back: usize, alone: bool) -> bool {
        let port = |hop: &Hop| match *hop {
            Hop::Port { index, folded } => Some((index, folded)),
            _ => None,
        };
        // The end of the route is behind its last port. Somewhere forward, a packet must wait for its time.
        let Some((last, _)) = port(&route[route.len() - 2]) else { return false };
        let waits = route[..back - 1].iter().any(|hop| !port(hop).is_some_and(|(_, folded)| folded));
        if !self.hands_over(last) || !waits {
            return false;
        }
        let is_spaced = |index: u32| is_spaced(&self.ports[index as usize]);
        let (mut spaced, mut ordered) = (is_spaced(last), true);
        for (at, hop) in route.iter().enumerate().rev().skip(2) {
            match port(hop) {
                Some((index, true)) => {
                    spaced |= is_spaced(index);
                    // ACKs of receivers' timers may come later than those of packets before their time.
                    ordered &= self.prompt || at >= back;
                }
                None if at + 1 == back => {}
                _ => break,
            }
        }
        alone || (spaced && ordered)
    }
}
