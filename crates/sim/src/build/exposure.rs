//! Books of ConEx senders, where a scenario has some.

use evenflow_scenario::model::{Group, Scenario};
use evenflow_transport::exposure::{Cheat, Settings};

use crate::conex::Conex;

fn settings(group: &Group) -> impl Iterator<Item = &Settings> {
    group.traffic.iter().filter_map(|traffic| traffic.tcp.as_ref()?.profile.conex.as_ref())
}

/// The accounts of ConEx senders; `None` without any.
pub(super) fn books(scenario: &Scenario) -> Option<Box<Conex>> {
    let any = |is: fn(&Settings) -> bool| scenario.groups.iter().flat_map(settings).any(is);
    let hosts = scenario.groups.iter().map(|group| group.users as usize).sum();
    any(|_| true).then(|| Box::new(Conex::new(hosts, any(|s| s.cheat == Cheat::Elsewhere))))
}
