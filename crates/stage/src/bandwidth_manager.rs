//! Bandwidth manager: gives each session its share of a line by changing its HTB class (Ben Ameur et al.
//! 2016, section 2: HTBM).
//!
//! It sees both directions and controls a link whose scheduler has a queue per user or flow. A finished
//! session's queue keeps its rate. [`crate::sessions`] finds sessions and shares. [`crate::window_tuner`]
//! enforces shares by receive windows instead.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values, Ways, sound};
use evenflow_base::{Packet, Rate, Share};

use crate::sessions::{self, Sessions};
use crate::station::{Cx, Kind, Owner, Pass, Setting, Station};

/// Its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Sessions and policy.
    pub sessions: sessions::Params,
    /// Maximum rate of a session with borrowed tokens; absent: its share.
    pub ceil: Option<Rate>,
    /// Depth of the buckets, bytes; absent: as `tc` has it.
    pub burst: Option<u64>,
    /// Classes are deleted and recreated instead of changed.
    pub replace: bool,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values) -> Result<Params, Vec<Problem>> {
        sound(BandwidthManager::problems(values))?;
        let given = Given::read(values);
        Ok(Params {
            sessions: sessions::Params::new(values)?,
            ceil: given.ceil.map(Rate),
            burst: given.burst,
            replace: given.change == Change::Replace,
        })
    }
}

/// The manager and its state.
#[derive(Clone, Debug)]
pub struct BandwidthManager {
    params: Params,
    sessions: Sessions,
    changes: u64,
}

impl BandwidthManager {
    /// With no session.
    pub fn new(params: Params) -> BandwidthManager {
        BandwidthManager { sessions: Sessions::new(params.sessions.clone()), params, changes: 0 }
    }

    /// Sets the classes of all sessions.
    fn hand_out(&mut self, cx: &mut Cx) {
        self.changes += 1;
        let Params { ceil, burst, replace, .. } = self.params;
        for session in self.sessions.open() {
            let rate = Rate(session.share.0.max(1.0));
            let ceil = Rate(ceil.map_or(rate.0, |ceil| ceil.0.max(rate.0)));
            let share = Share { rate, ceil, burst, cburst: burst, quantum: None, replace };
            cx.set(Setting::Share(session.slot, session.class, share));
        }
    }

    fn meet(&mut self, packet: &Packet, cx: &mut Cx) -> Pass {
        let before = self.sessions.open().len();
        if self.sessions.meet(packet, cx) && self.sessions.open().len() != before {
            self.hand_out(cx);
        }
        Pass::On
    }
}

impl Station for BandwidthManager {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx)
    }

    fn backward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx)
    }

    fn wake(&mut self, cx: &mut Cx) {
        if self.sessions.wake(cx) {
            self.hand_out(cx);
        }
    }

    fn heap_bytes(&self) -> u64 {
        self.sessions.heap_bytes()
    }
}

impl Kind for BandwidthManager {
    fn build(values: &Values, _owner: Owner) -> Result<BandwidthManager, Vec<Problem>> {
        Params::new(values).map(BandwidthManager::new)
    }

    fn problems(values: &Values) -> Vec<Problem> {
        let mut problems = sessions::problems(values);
        if let (Some(ceil), Some(least)) = (values.at(Given::ceil), sessions::least(values))
            && ceil < least
        {
            let why = format!(
                "must be at least a session's share: {ceil} bit/s is less than the {least} bit/s of the \
                 lowest level"
            );
            problems.push((Given::ceil.name, why));
        }
        problems
    }
}

words! {
    pub(crate) enum Change { Keep = "keep", Replace = "replace" }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub(crate) struct Given {
        ..sessions: sessions::Given;
        /// Maximum rate of a session with borrowed tokens, at least its share.
        ceil: Option<f64> = Rate, Absent("its share: no borrowing"), Range::at_least(1.0)
            => source: "tc-htb(8)";
        /// Bucket sizes of a session's rate and ceiling.
        burst: Option<u64> = Bytes, Absent("tc's default: a tick at the rate, plus a packet"), Range::FROM_ONE
            => source: "tc-htb(8)";
        /// Change of classes: in place, or by deleting and recreating those of all open sessions, which drops
        /// their backlog.
        change: Change = Change::TYPE, Text("keep") => source: "tc-htb(8): tc class change, or del and add";
    }
}

observables! {
    BandwidthManager: manager, _now;
    sessions: "sessions", "Open sessions." => manager.sessions.open().len();
    opened: "sessions", "Sessions opened." => manager.sessions.opened();
    assigned: "bit/s", "Total rate of the open sessions." => manager.sessions.assigned();
    changes: "1", "Number of times the classes were changed." => manager.changes;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "bandwidth-manager",
    traits: Traits { ways: Ways::Both, controls: true, shares: true, sessions: true, ..Mechanism::PLAIN },
    title: "Bandwidth manager",
    example: r#"groups.users.path = ["manager", "bottleneck"]
links.bottleneck.queue.scheduler = { kind = "htb", per = "user", each = { rate = "1 Mbit/s" } }

[stages.manager]
kind = "bandwidth-manager"
controls = "bottleneck"
rate = "8 Mbit/s""#,
    doc: "Tracks the start and end of sessions, and gives each its share of a line. It changes the HTB class \
          that holds the session's packets.",
    source: "Ben Ameur et al. 2016, section 2 (HTBM); tc-htb(8)",
    params: Given::PARAMS,
    observables: BandwidthManager::OBSERVABLES,
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use evenflow_base::{Duration, flags};

    use super::*;
    use crate::{Act, Stepper};
    use evenflow_base::Time;

    #[test]
    fn a_second_session_changes_both_classes_and_a_segment_none() {
        let policy = sessions::Policy::Equal;
        let idle = Duration::from_seconds(60.0);
        let sessions = sessions::Params { policy, rate: Rate(8e6), by_flow: false, idle };
        let mut manager =
            BandwidthManager::new(Params { sessions, ceil: Some(Rate(6e6)), burst: None, replace: false });
        let mut hand = Stepper::new(1);
        let set = |manager: &mut BandwidthManager, hand: &mut Stepper, user: u32, flags: u8| {
            let mut packet = Packet { flags, ..Packet::new(user, 66, 0) };
            let mut cx = hand.cx(Time(1));
            (cx.whose.user, cx.whose.flow, cx.whose.slot) = (user, u64::from(user), user);
            assert_eq!(manager.backward(&mut packet, &mut cx), Pass::On);
            let found: Vec<(u32, f64, f64)> = hand
                .acts
                .drain(..)
                .filter_map(|act| match act {
                    Act::Set(Setting::Share(slot, _, share)) => Some((slot, share.rate.0, share.ceil.0)),
                    _ => None,
                })
                .collect();
            found
        };
        assert_eq!(set(&mut manager, &mut hand, 5, flags::SYN), [(5, 8e6, 8e6)]);
        assert_eq!(set(&mut manager, &mut hand, 5, flags::ACK), []);
        assert_eq!(set(&mut manager, &mut hand, 2, flags::SYN), [(5, 4e6, 6e6), (2, 4e6, 6e6)]);
        assert_eq!(set(&mut manager, &mut hand, 5, flags::ACK | flags::FIN), [(2, 8e6, 8e6)]);
        assert_eq!(manager.observe("changes", Time(1)), Some(3.0));
    }
}
