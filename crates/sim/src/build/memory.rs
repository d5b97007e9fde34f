//! What a run will need.

use evenflow_scenario::model::{Component, Group, Per, Queue as QueueSpec, Scenario, SchedulerPer};
use evenflow_transport::Profile;
use evenflow_transport::exposure::Exposure;

use super::flows::{flows_per_user, saves_metrics};
use crate::conex::Conex;
use crate::network::{Connection, Flow};
use crate::port::{Fifo, Port};

/// An estimate of what a run needs, in bytes: state of flows, users and copies, without packets in flight.
pub fn memory_bytes(scenario: &Scenario) -> u64 {
    let mut total = 4 << 20;
    for group in &scenario.groups {
        let users = u64::from(group.users);
        let flows = users * flows_per_user(group) as u64;
        total += flows * (size_of::<Connection>() + size_of::<Flow>() + 160) as u64 + users * 200;
        if saves_metrics(group) {
            total += users * (group.traffic.len() * size_of::<Profile>()) as u64;
        }
        if group.traffic.iter().filter_map(|t| t.tcp.as_ref()).any(|tcp| tcp.profile.conex.is_some()) {
            total += flows * size_of::<Exposure>() as u64 + users * Conex::BYTES_OF_A_USER;
        }
        for hop in &group.path {
            let per = match hop.component {
                Component::Link(i) => scenario.links[i].per,
                Component::Stage(i) => scenario.stages[i].per,
            };
            let copies = match per {
                Per::Flow => flows,
                Per::User => users,
                Per::Users(n) => users / u64::from(n),
                Per::Shared | Per::Group => 1,
            };
            total += copies * (2 * size_of::<Port>() + size_of::<Fifo>() + 200) as u64;
        }
    }
    total + (0..scenario.links.len()).map(|link| schedulers_bytes(scenario, link)).sum::<u64>()
}

/// Of that, what the schedulers of a link's copies take that have a place for everybody, or for every slot of a hash.
fn schedulers_bytes(scenario: &Scenario, index: usize) -> u64 {
    let link = &scenario.links[index];
    let crossing = |g: &&Group| g.path.iter().any(|hop| hop.component == Component::Link(index));
    let (mut users, mut flows, mut copies) = (0, 0, 0);
    for group in scenario.groups.iter().filter(crossing) {
        let of_group = u64::from(group.users) * flows_per_user(group) as u64;
        users += group.users as usize;
        flows += of_group as usize;
        copies += match link.per {
            Per::Shared => u64::from(copies == 0),
            Per::Group => 1,
            Per::User => u64::from(group.users),
            Per::Users(n) => u64::from(group.users.div_ceil(n)),
            Per::Flow => of_group,
        };
    }
    let ways = [Some(&link.forward), link.reverse.as_ref()];
    let queues = ways.into_iter().flatten().filter_map(|direction| direction.queue.as_ref());
    let of = |queue: &QueueSpec| {
        let owners = match queue.scheduler_per {
            SchedulerPer::Class => 0,
            SchedulerPer::User => users,
            SchedulerPer::Flow => flows,
        };
        let schedulers = [Some(&queue.rule), queue.scheduler.as_ref()].into_iter().flatten();
        schedulers.map(|s| evenflow_queue::memory(s.mechanism.kind, &s.values, owners)).sum::<u64>()
    };
    copies * queues.map(of).sum::<u64>()
}
