//! Copies of components: whose each is, and which one a flow meets.

use std::sync::atomic::{AtomicBool, Ordering};

use evenflow_base::Stream;
use evenflow_base::schema::Value;
use evenflow_scenario::model::{Group, Per};

/// One copy of a component: whose it is, as it stands in the names of its streams.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) owner: String,
    /// The number of its owner's group; the first of those who share it.
    pub(super) group: usize,
    /// Number among the copies of its group: decides for dealt values.
    pub(super) index: usize,
    /// Weight of its owner; 1 where users share it.
    pub(super) weight: f64,
}

/// All copies of one component, and how to find a flow's.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pub(super) list: Vec<Copy>,
    /// For each group: number of its first copy.
    base: Vec<usize>,
}

impl Copies {
    pub(super) fn new(
        per: Per,
        used_by: &[usize],
        groups: &[Group],
        flows: &[usize],
        weights: &[Vec<f64>],
        stop: &AtomicBool,
    ) -> Copies {
        let mut copies = Copies { list: Vec::new(), base: vec![0; groups.len()] };
        for &g in used_by {
            let group = &groups[g];
            let shared = per == Per::Shared;
            copies.base[g] = if shared { 0 } else { copies.list.len() };
            let count = match per {
                Per::Shared => usize::from(copies.list.is_empty()),
                Per::Group => 1,
                Per::User => group.users as usize,
                Per::Users(n) => group.users.div_ceil(n) as usize,
                Per::Flow => group.users as usize * flows[g],
            };
            for index in 0..count {
                if stop.load(Ordering::Relaxed) {
                    return copies; // the run was stopped
                }
                let (owner, weight) = match per {
                    Per::Shared => (String::new(), 1.0),
                    Per::Group => (group.name.clone(), 1.0),
                    Per::User => (format!("{}/{index}", group.name), weights[g][index]),
                    Per::Users(_) => (format!("{}/{index}", group.name), 1.0),
                    Per::Flow => {
                        let user = index / flows[g];
                        (format!("{}/{user}/{}", group.name, index % flows[g]), weights[g][user])
                    }
                };
                copies.list.push(Copy { owner, group: g, index, weight });
            }
        }
        copies
    }

    /// The copy that a flow meets.
    pub(super) fn of(&self, per: Per, place: Place, flows: usize) -> usize {
        let Place { group, user, flow } = place;
        match per {
            Per::Shared => 0,
            Per::Group => self.base[group],
            Per::User => self.base[group] + user,
            Per::Users(n) => self.base[group] + user / n as usize,
            Per::Flow => self.base[group] + user * flows + flow,
        }
    }
}

/// The stream of `purpose` of the component `name`'s copy that belongs to `owner`.
pub(super) fn stream(seed: u64, name: &str, owner: &str, purpose: &str) -> Stream {
    Stream::new(seed, &format!("{name}/{owner}/{purpose}"))
}

pub(super) fn draw(value: &Value, stream: impl FnOnce() -> Stream, index: usize) -> Value {
    match value {
        Value::Random(law) => law.draw(&mut stream(), index),
        fixed => fixed.clone(),
    }
}

/// A flow by its numbers: of its group, of the user in the group, and of the flow among the user's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) group: usize,
    pub(super) user: usize,
    pub(super) flow: usize,
}

/// The copies of all components, and where those of each begin.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) links: Vec<Copies>,
    pub(super) stages: Vec<Copies>,
    /// By link, in [`crate::network::Network::ports`].
    pub(super) first_port: Vec<usize>,
    /// By stage, in [`crate::network::Network::stages`].
    pub(super) first_stage: Vec<usize>,
}
