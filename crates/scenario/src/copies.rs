//! The number of copies of each component, and their users or flows.

use crate::model::{Component, Group, Per, Scenario, Traffic};

impl Traffic {
    /// Whether it is an application, which opens flows during the run.
    pub fn opens(&self) -> bool {
        self.talks || evenflow_traffic::opens(self.spec.mechanism.kind, &self.spec.values)
    }

    /// How many flows of this kind each user has from the beginning.
    pub fn flows(&self) -> u32 {
        if self.talks { 0 } else { evenflow_traffic::flows(self.spec.mechanism.kind, &self.spec.values) }
    }
}

impl Group {
    /// How many flows each user has.
    pub fn flows_per_user(&self) -> u32 {
        self.traffic.iter().map(Traffic::flows).sum()
    }

    /// Whether its packets cross `component`.
    pub fn crosses(&self, component: Component) -> bool {
        self.path.iter().any(|hop| hop.component == component)
    }
}

impl Scenario {
    /// For whom `component` has copies.
    pub fn per(&self, component: Component) -> Per {
        match component {
            Component::Link(i) => self.links[i].per,
            Component::Stage(i) => self.stages[i].per,
        }
    }

    /// How many copies of `component` there are. Copies are numbered by group (in the order of their names, those that
    /// cross it), then user, then flow.
    pub fn copies(&self, component: Component) -> u64 {
        let per = self.per(component);
        if per == Per::Shared {
            return 1;
        }
        let crossing = self.groups.iter().filter(|g| g.crosses(component));
        crossing.map(|g| copies_of(per, g.users, g.flows_per_user().into())).sum()
    }
}

/// Copies for one group of `users` with `flows` each.
pub(crate) fn copies_of(per: Per, users: u32, flows: u64) -> u64 {
    match per {
        Per::Shared => 1,
        Per::User => users.into(),
        Per::Flow => u64::from(users) * flows,
        Per::Group => 1,
        Per::Users(n) => u64::from(users.div_ceil(n)),
    }
}
