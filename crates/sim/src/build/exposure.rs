//! Books of ConEx senders, where a scenario has some.

use evenflow_scenario::model::{Group, Scenario};
use evenflow_transport::exposure::{Cheat, Settings};
use evenflow_transport::profile::Ecn;

use crate::conex::Conex;

fn settings(group: &Group) -> impl Iterator<Item = &Settings> {
    group.traffic.iter().filter_map(|traffic| traffic.tcp.as_ref()?.profile.conex.as_ref())
}

/// The books; none where nobody is a ConEx sender.
pub(super) fn books(scenario: &Scenario) -> Option<Box<Conex>> {
    let any = scenario.groups.iter().any(|group| settings(group).next().is_some());
    let hosts = scenario.groups.iter().map(|group| group.users as usize).sum();
    any.then(|| Box::new(Conex::new(hosts)))
}

/// Whether flows of a group do more as they send: show other numbers, take over what one of them leaves to the others, or have ACKs that
/// carry a counter beside their header.
pub(super) fn is_special(group: &Group) -> bool {
    let mut profiles = group.traffic.iter().filter_map(|traffic| Some(&traffic.tcp.as_ref()?.profile));
    profiles.any(|profile| profile.ecn == Ecn::ReEcnUnlimited)
        || settings(group).any(|settings| matches!(settings.cheat, Cheat::Elsewhere | Cheat::Renumber))
}
