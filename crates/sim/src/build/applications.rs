//! Applications: one for each user and kind of traffic that opens flows during a run.

use evenflow_base::{Stream, Time, ip};
use evenflow_scenario::model::{Arrivals as ArrivalsSpec, Group, Link, SchedulerPer, Share};
use evenflow_traffic::{App, Ending, Setting};

use super::Builder;
use super::copies::{Place, stream};
use crate::hosting::{Arrivals, Control, Hosted, Sums};
use crate::measure::FlowCounters;
use crate::network::{Endpoint, Flow, Hop, Network};
use crate::slots::Opener;

/// Whether some queue of a link tells flows apart by a hash, and not users.
pub(super) fn hashes_flows(link: &Link) -> bool {
    let queues = [Some(&link.forward), link.reverse.as_ref()].map(|d| d.and_then(|d| d.queue.as_ref()));
    queues.into_iter().flatten().any(|queue| {
        let by_flow = queue.is_hashed() && queue.scheduler_per == SchedulerPer::Flow;
        by_flow || queue.scheduler.as_ref().is_some_and(|s| s.mechanism.traits.tree)
    })
}

impl Builder<'_, '_> {
    /// Arrival processes that groups share, each about to begin.
    pub(super) fn arrivals(&self, applications: &[Hosted]) -> Vec<Arrivals> {
        let scenario = self.scenario;
        let of = |share: &Share| {
            let group = &scenario.groups[share.group];
            let mut users = applications.iter().enumerate().filter(|(_, a)| a.group as usize == share.group);
            // A user's applications are adjacent, in the order of its traffic.
            let kinds = group.traffic.iter().filter(|traffic| traffic.opens()).count() as u32;
            let before =
                group.traffic[..share.traffic].iter().filter(|traffic| traffic.opens()).count() as u32;
            let first = users.next().map_or(0, |(place, _)| place as u32);
            (first + before, kinds)
        };
        let process = |spec: &ArrivalsSpec| {
            let stream = |purpose: &str| Stream::new(self.seed, &format!("arrivals.{}/{purpose}", spec.name));
            let shares: Vec<(f64, u32)> =
                spec.shares.iter().map(|share| (share.share, scenario.groups[share.group].users)).collect();
            let mut process =
                evenflow_traffic::Arrivals::new(&spec.interval, stream("interval"), stream("who"), &shares);
            if let Some((at, _)) = spec.ending {
                process.until(Time::ZERO + at);
            }
            process.start(Time::ZERO + spec.start);
            Arrivals { process, shares: spec.shares.iter().map(of).collect() }
        };
        scenario.arrivals.iter().map(process).collect()
    }

    /// Adds an application of the user at `place`, whose number among flows is that of the flow that its flows are modelled after.
    pub(super) fn add_application(
        &self,
        net: &mut Network,
        group: &Group,
        number: usize,
        place: Place,
        (route, host, profile): (u32, u32, u32),
    ) -> Opener {
        let Place { group: g, user, .. } = place;
        let traffic = &group.traffic[number];
        let owner = format!("{}/{user}/", group.name);
        let root = net.flows.len() as u32;
        let of = |purpose: &str| stream(self.seed, "groups", &format!("{owner}traffic{number}"), purpose);
        let values = traffic.spec.values.clone();
        let start = evenflow_traffic::start(&values, &mut of("start"), user);
        let process = traffic.arrivals.map(|process| &self.scenario.arrivals[process]);
        let (start, ending) = match process {
            Some(process) => {
                let ending = |(at, abort)| Ending { at: Time::ZERO + at, abort };
                (process.start, process.ending.map(ending))
            }
            None => (start, evenflow_traffic::ending(&values, &mut of("until"), user)),
        };
        let setting = Setting { stream: &of, ending, arrivals: process.is_some(), user };
        let app =
            App::build(traffic.spec.mechanism.kind, &values, &setting).expect("the scenario was checked");
        let control = traffic.tcp.as_ref().map(|tcp| {
            let spec = &tcp.congestion_control;
            let (kind, values, weight) = (spec.mechanism.kind, spec.values.clone(), self.weights[g][user]);
            let fresh = (!values.is_random()).then(|| {
                let profile = &net.profiles[profile as usize];
                evenflow_transport::CongestionControl::build(kind, &values, profile, weight)
                    .expect("the scenario was checked")
            });
            Control { kind, values, weight, fresh }
        });
        net.starts.push(if app.own_starts() { Time::ZERO } else { Time::ZERO + start });
        net.counters.push(FlowCounters::default());
        let model = Endpoint::Model(net.applications.len() as u32);
        let flow = self.flow(net, group, traffic, route, host, model);
        let turn = if app.client_at_end() { ip::BACKWARD } else { 0 };
        net.flows.push(Flow { turn, ..flow });
        if app.client_at_end() {
            for hop in &mut net.routes[route as usize..] {
                if let Hop::End(end) = hop {
                    *end = end.other();
                }
            }
        }
        net.applications.push(Hosted {
            adapts: app.adapts(),
            tells_windows: self.scenario.needs_windows(group),
            app,
            root,
            group: g as u32,
            user: user as u32,
            profile,
            control,
            conns: Vec::new(),
            paced: Vec::new(),
            sums: Sums::default(),
        });
        Opener { root, host, owner }
    }
}
