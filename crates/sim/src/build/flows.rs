//! Users, their hosts, and the flows between their endpoints.

use evenflow_base::schema::{Law, Sampler, Value};
use evenflow_base::{End, Stream, Time};
use evenflow_scenario::model::{Component, Group, Per, Subject, Traffic};
use evenflow_traffic::data::UploadGiven;
use evenflow_traffic::{Application, Poisson};
use evenflow_transport::connection::Carries;
use evenflow_transport::{CongestionControl, Connection, Profile};

use super::Builder;
use super::applications::hashes_flows;
use super::copies::{Place, Places, stream};
use crate::measure::{FlowCounters, WindowMeter};
use crate::network::{Datagrams, Endpoint, Flow, Hop, Host, Network};
use crate::slots::Slots;
use crate::tcp::{Tcp, TcpEnd};

/// Whether connections of a user of `group` share metrics; each user then has its own profiles.
pub(super) fn saves_metrics(group: &Group) -> bool {
    group.traffic.iter().filter_map(|t| t.tcp.as_ref()).any(|tcp| tcp.profile.save_metrics)
}

/// Adds the profiles of a group's traffic to `list`; gives the place of each. `rate_samples`: a series needs them.
fn add_profiles(group: &Group, rate_samples: bool, list: &mut Vec<Profile>) -> Vec<u32> {
    let place = |t: &Traffic| {
        list.extend(t.tcp.as_ref().map(|tcp| Profile { rate_samples, ..tcp.profile.clone() }));
        list.len().saturating_sub(1) as u32
    };
    group.traffic.iter().map(place).collect()
}

impl Builder<'_, '_> {
    /// Adds all users with their hosts, routes and flows; `None` where that was stopped.
    pub(super) fn add_users(&self, net: &mut Network, places: &Places) -> Option<()> {
        let scenario = self.scenario;
        let (mut openers, mut numbers) = (Vec::new(), Vec::new());
        for (g, group) in scenario.groups.iter().enumerate() {
            let per_flow = group.path.iter().any(|hop| match hop.component {
                Component::Link(i) => scenario.links[i].per == Per::Flow,
                Component::Stage(i) => scenario.stages[i].per == Per::Flow,
            });
            let mut profiles = Vec::new();
            let shares = saves_metrics(group);
            let rate_samples = scenario.record.series.iter().any(|series| {
                series.target.of == Subject::Flow(g) && series.target.observable == "delivery_rate"
            });
            for user in 0..group.users as usize {
                if self.is_stopped() {
                    return None;
                }
                let host = net.hosts.len() as u32;
                let owner = format!("{}/{user}", group.name);
                let mut own = self.host(group, user, &owner);
                if shares || user == 0 {
                    let first = net.profiles.len();
                    profiles = add_profiles(group, rate_samples, &mut net.profiles);
                    own.profiles = first..net.profiles.len();
                }
                own.group = g as u32;
                net.hosts.push(own);
                let mut number = 0;
                let mut route = net.routes.len() as u32;
                for (t, traffic) in group.traffic.iter().enumerate().filter(|(_, traffic)| !traffic.opens()) {
                    for _ in 0..traffic.flows() {
                        if self.is_stopped() {
                            return None;
                        }
                        if per_flow || number == 0 {
                            route = net.routes.len() as u32;
                            let owner = Place { group: g, user, flow: number };
                            net.routes.extend(self.route(group, owner, places));
                            self.settle_stages(net, group, owner, places);
                        }
                        let place = Place { group: g, user, flow: number };
                        let profile = profiles.get(t).copied().unwrap_or_default();
                        self.add_flow(net, group, traffic, place, route, host, profile);
                        number += 1;
                    }
                }
                numbers.push(number as u32);
                for (t, _) in group.traffic.iter().enumerate().filter(|(_, traffic)| traffic.opens()) {
                    let place = Place { group: g, user, flow: number };
                    let route = net.routes.len() as u32;
                    net.routes.extend(self.route(group, place, places));
                    self.settle_stages(net, group, place, places);
                    let profile = profiles.get(t).copied().unwrap_or_default();
                    openers.push(self.add_application(net, group, t, place, (route, host, profile)));
                    number += 1;
                }
            }
        }
        let hashes = !openers.is_empty() && scenario.links.iter().any(hashes_flows);
        net.slots = Slots::new(openers, net.flows.len(), numbers, hashes);
        net.arrivals = self.arrivals(&net.applications);
        self.fold(net);
        Some(())
    }

    /// The flow that is added next is the first on its route: says so to stages on it, and which ports they control.
    fn settle_stages(&self, net: &mut Network, group: &Group, place: Place, places: &Places) {
        let flows = self.flows[place.group];
        for hop in &group.path {
            let Component::Stage(i) = hop.component else { continue };
            let spec = &self.scenario.stages[i];
            let copy = places.stages[i].of(spec.per, place, flows);
            let slot = &mut net.stages[places.first_stage[i] + copy];
            slot.home = slot.home.min(net.flows.len() as u32);
            if let Some((link, way)) = spec.controls
                && group.path.iter().any(|hop| hop.component == Component::Link(link))
            {
                let copy = places.links[link].of(self.scenario.links[link].per, place, flows);
                let port = (places.first_port[link] + 2 * copy + way) as u32;
                if !slot.controls.contains(&port) {
                    slot.controls.push(port);
                }
            }
        }
    }

    /// Adds the flow at `place`, whose packets take `route` and whose stack is `profile_index`.
    #[expect(clippy::too_many_arguments, reason = "a flow is built from many parts in one place")]
    pub(super) fn add_flow(
        &self,
        net: &mut Network,
        group: &Group,
        traffic: &Traffic,
        place: Place,
        route: u32,
        host: u32,
        profile_index: u32,
    ) {
        let Place { group: g, user, flow: number } = place;
        let kind = traffic.spec.mechanism.kind;
        let owner = format!("{}/{user}", group.name);
        let of = |purpose: &str| stream(self.seed, "groups", &format!("{owner}/{number}"), purpose);
        let mut values = traffic.spec.values.clone();
        for name in [Poisson::rate.name, UploadGiven::size.name] {
            if let Some(Value::Random(law)) = values.get(name) {
                let drawn = law.draw(&mut of(name), user);
                values.0.insert(name, drawn);
            }
        }
        let start = evenflow_traffic::start(&values, &mut of("start"), user * self.flows[g] + number);
        net.starts.push(Time::ZERO + start);
        let endpoint = match evenflow_traffic::application(kind, &values) {
            Application::Bytes(size) => {
                let profile = &net.profiles[profile_index as usize];
                let control = self.control(profile, traffic, self.weights[g][user], &of, user);
                let index = net.connections.len() as u32;
                let mut ends = [TcpEnd::NEW; 2];
                ends[End::Client.index()].meter = WindowMeter::default();
                net.connections.push(Tcp {
                    connection: Connection::one_way(profile, control, size),
                    ends,
                    profile: profile_index,
                    flow: net.flows.len() as u32,
                });
                if let (Some(conex), Some(_)) = (&mut net.conex, size) {
                    conex.uploads.entry(host).or_default().push(index);
                }
                Endpoint::Tcp(index)
            }
            Application::Datagrams(mut source) => {
                let index = user * self.flows[g] + number;
                if let Some(ending) = evenflow_traffic::ending(&values, &mut of("until"), index) {
                    source.until(ending.at);
                }
                net.datagrams.push(Datagrams {
                    source,
                    gaps: of("gap"),
                    sizes: of("packet"),
                    started: false,
                    sent: 0,
                    received: 0,
                });
                Endpoint::Source(net.datagrams.len() as u32 - 1)
            }
        };
        net.counters.push(FlowCounters::default());
        let carries = match endpoint {
            Endpoint::Tcp(index) => net.connections[index as usize].connection.carries(),
            _ => Carries::Nothing,
        };
        let flow = self.flow(net, group, traffic, route, host, endpoint);
        net.flows.push(Flow { carries, ..flow });
    }

    /// The common part of all flows; the next flow added has this `route`.
    pub(super) fn flow(
        &self,
        net: &Network,
        group: &Group,
        traffic: &Traffic,
        route: u32,
        host: u32,
        endpoint: Endpoint,
    ) -> Flow {
        let way = &net.routes[route as usize..];
        let before = |end: fn(&Hop) -> bool| way.iter().take_while(|hop| !end(hop)).count() as u8;
        Flow {
            folded: self.folds(group, way[0], &net.ports),
            route,
            back: 1 + before(|hop| matches!(hop, Hop::End(_))),
            discard: before(|hop| matches!(hop, Hop::Discard)),
            class: traffic.class,
            dscp: traffic.dscp,
            carries: Carries::Options,
            turn: 0,
            endpoint,
            tie: net.flows.len() as u32,
            host,
            group: net.hosts[host as usize].group,
        }
    }

    /// The congestion control of a flow of user number `user`; `of` makes the flow's streams.
    pub(super) fn control(
        &self,
        profile: &Profile,
        traffic: &Traffic,
        weight: f64,
        of: &dyn Fn(&str) -> Stream,
        user: usize,
    ) -> CongestionControl {
        let spec = &traffic.tcp.as_ref().expect("it goes over TCP").congestion_control;
        let drawn = spec.values.is_random().then(|| spec.values.drawn(of, user));
        CongestionControl::build(spec.mechanism.kind, drawn.as_ref().unwrap_or(&spec.values), profile, weight)
            .expect("the scenario was checked")
            .seeded(of)
    }

    pub(super) fn host(&self, group: &Group, user: usize, owner: &str) -> Host {
        let law = match &group.processing {
            // Dealt values go to the users in turn; everything else is drawn for each packet.
            Some(Value::Random(Law::Dealt(values))) => {
                values[user % values.len()].number().map(Sampler::Fixed)
            }
            Some(Value::Random(law)) => Some(law.sampler()),
            Some(fixed) => fixed.number().filter(|x| *x > 0.0).map(Sampler::Fixed),
            None => None,
        };
        let processing = law.map(|law| (law, stream(self.seed, "groups", owner, "processing")));
        Host {
            processing,
            group: 0,
            left: Time::ZERO,
            profiles: 0..0,
            connections: 0..0,
            soonest: Time::NEVER,
        }
    }
}
