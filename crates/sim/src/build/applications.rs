//! Applications: one for each user and kind of traffic that opens flows on the way.

use evenflow_scenario::model::{Group, Link, SchedulerPer, Traffic};
use evenflow_traffic::{App, Setting};

use super::Builder;
use super::copies::{Place, stream};
use crate::hosting::{Control, Hosted, Sums};
use crate::network::{Flow, HOSTED, Network, RECEIVER, SENDER};
use crate::slots::Opener;

/// Whether traffic opens its flows on the way.
pub(super) fn opens(traffic: &Traffic) -> bool {
    evenflow_traffic::opens(traffic.spec.mechanism.kind)
}

/// How many flows of a user of `group` there are from the start.
pub(super) fn lasting_flows(group: &Group) -> usize {
    let lasting = group.traffic.iter().filter(|traffic| !opens(traffic));
    lasting.map(|t| t.flows() as usize).sum()
}

/// Whether some queue of a link tells flows apart by a hash, and not users.
pub(super) fn hashes_flows(link: &Link) -> bool {
    let queues = [Some(&link.forward), link.reverse.as_ref()].map(|d| d.and_then(|d| d.queue.as_ref()));
    queues.into_iter().flatten().any(|queue| {
        let by_flow = queue.is_hashed() && queue.scheduler_per == SchedulerPer::Flow;
        by_flow || queue.scheduler.as_ref().is_some_and(|s| s.mechanism.traits.tree)
    })
}

impl Builder<'_> {
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
        let setting = Setting {
            stream: &of,
            ending: evenflow_traffic::ending(&values, &mut of("until"), user),
            arrivals: values.get("arrivals").is_some(),
        };
        let app = App::build(traffic.spec.mechanism.kind, &values, &setting).expect("the scenario was checked");
        let control = traffic.tcp.as_ref().map(|tcp| {
            let spec = &tcp.congestion_control;
            let (kind, values, weight) =
                (spec.mechanism.kind, spec.values.clone(), self.weights[g][user]);
            let fresh = (!values.is_random()).then(|| {
                let profile = &net.profiles[profile as usize];
                evenflow_transport::CongestionControl::build(kind, &values, profile, weight)
                    .expect("the scenario was checked")
            });
            Control { kind, values, weight, fresh }
        });
        net.starts.push(evenflow_base::Time::ZERO + start);
        net.flows.push(Flow {
            hosted: true,
            endpoint: net.applications.len() as u32,
            ..self.flow(net, group, traffic, route, host)
        });
        for entry in &mut net.routes[route as usize..] {
            if matches!(*entry, RECEIVER | SENDER) {
                *entry = HOSTED;
            }
        }
        net.applications.push(Hosted {
            client_at_end: app.client_at_end(),
            app,
            root,
            group: g as u32,
            user: user as u32,
            profile,
            control,
            conns: Vec::new(),
            sums: Sums::default(),
        });
        Opener { root, host, owner }
    }
}
