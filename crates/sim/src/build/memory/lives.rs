//! How many flows there may be at once of traffic that opens them on the way.

use evenflow_base::schema::{Law, Value};
use evenflow_scenario::model::{Component, Group, Scenario, Traffic};

use super::legs::{high, legs, narrowest};
use super::{begins_for, copies, mean, packet_of, rate_of};

/// How many flows traffic that opens them may have open at once: the connections of each user, or, where flows come whether or not
/// those before them are over, what the way does not serve, and what is on the way for as long as a flow lives.
pub(super) fn live_flows(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    let users = f64::from(group.users);
    let Some(tcp) = &traffic.tcp else { return users }; // datagrams, as long as it runs
    let values = &traffic.spec.values;
    let at_once = users * connections(scenario, group, traffic);
    let come = come(scenario, group, traffic);
    if come == 0.0 {
        return at_once;
    }
    let seconds = begins_for(scenario, traffic).max(1e-9);
    let size = values.get("size").map_or(packet_of(traffic), mean).max(packet_of(traffic));
    let served = served(scenario, group) * seconds / 8.0 / size;
    // A SYN's answer, an ACK of data, and a FIN come back at the least.
    let back =
        legs(scenario, group).filter_map(|leg| Some(leg.back().rates()?.0 * copies(leg.link.per, group)));
    let answered = back.fold(f64::INFINITY, f64::min) * seconds / (8.0 * 3.0 * tcp.profile.header as f64);
    let waiting = come - served.min(answered);
    let lives = (come * (lives_s(scenario, group, traffic, size) / seconds)).min(come);
    waiting.max(lives).max(at_once)
}

/// Connections that each user may have at once, those that are being closed among them.
pub(super) fn connections(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    let values = &traffic.spec.values;
    let given = |name: &str| values.get(name).map(high);
    let open = match traffic.spec.mechanism.kind {
        "web" => given("connections").unwrap_or(1.0).min(given("objects").unwrap_or(0.0).max(1.0)),
        _ => given("connections").or(given("flows")).unwrap_or(1.0),
    };
    let new_each_time = matches!(values.get("keep_alive"), Some(Value::Flag(false)));
    // Who loses patience opens another one while the one before is being given up.
    let given_up = values.get("patience").map_or(0.0, |patience| {
        let round = (1.5 * round_trip(scenario, group)).min(begins_for(scenario, traffic));
        round / mean(patience).max(1e-6)
    });
    open * (1.0 + f64::from(u8::from(new_each_time)) + given_up)
}

/// A round trip where nothing waits, s.
pub(super) fn round_trip(scenario: &Scenario, group: &Group) -> f64 {
    let there: f64 = legs(scenario, group).map(|leg| leg.delay() + leg.back().delay()).sum();
    there + group.processing.as_ref().map_or(0.0, mean)
}

/// How many flows come by a process of their own.
pub(super) fn come(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    let seconds = begins_for(scenario, traffic);
    match (traffic.arrivals, traffic.spec.values.get("interval")) {
        // one process for all of them, of other groups too
        (Some(process), _) => renewals(&scenario.arrivals[process].interval, seconds),
        (None, Some(gap)) => f64::from(group.users) * renewals(gap, seconds),
        (None, None) => 0.0,
    }
}

/// About how many gaps there are in so many seconds: as many as what they have of this time, on average, fits into it. Where gaps
/// have a heavy tail that is far more than the time over their mean (Erickson 1973).
pub(super) fn renewals(gap: &Value, seconds: f64) -> f64 {
    if seconds <= 0.0 {
        return 0.0;
    }
    let normal = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let within = match gap {
        Value::Random(law) => match law {
            Law::Lognormal(of, sigma) if *sigma > 0.0 => {
                let mean = of.number().unwrap_or(0.0);
                let mu = libm::log(mean) - sigma * sigma / 2.0;
                let z = (libm::log(seconds) - mu) / sigma;
                mean * normal(z - sigma) + seconds * normal(-z)
            }
            Law::Pareto(of, shape) => {
                let least = of.number().unwrap_or(0.0) * (shape - 1.0) / shape;
                if seconds <= least {
                    seconds
                } else {
                    least + least / (shape - 1.0) * (1.0 - libm::pow(least / seconds, shape - 1.0))
                }
            }
            _ => mean(gap).min(seconds),
        },
        fixed => mean(fixed).min(seconds),
    };
    // No clock is finer than a nanosecond.
    seconds / within.max(1e-9)
}

/// What the narrowest link or policer of a group's way lets through, bit/s.
fn served(scenario: &Scenario, group: &Group) -> f64 {
    let policers = group.path.iter().filter_map(|hop| match hop.component {
        Component::Stage(i) => Some(&scenario.stages[i]),
        Component::Link(_) => None,
    });
    let policers = policers.filter(|stage| matches!(stage.spec.values.get("rate"), Some(Value::Rate(_))));
    let policers = policers.map(|stage| rate_of(&stage.spec) * copies(stage.per, group));
    let link = narrowest(scenario, group).map_or(f64::INFINITY, |(rate, _)| rate);
    policers.fold(link, f64::min)
}

/// How long a flow of so many bytes lives where nothing waits: its handshake, slow start, its FIN, and what losses add.
fn lives_s(scenario: &Scenario, group: &Group, traffic: &Traffic, size: f64) -> f64 {
    let Some(tcp) = &traffic.tcp else { return 0.0 };
    let round = round_trip(scenario, group);
    let packets = size / tcp.profile.mss as f64;
    let rounds = 3.0 + libm::log2(1.0 + packets / tcp.profile.initial_window.max(1.0)).floor();
    let kept = |kept: f64, lost: f64| kept * (1.0 - lost.min(1.0));
    let kept = legs(scenario, group).fold(1.0, |all, leg| kept(kept(all, leg.loses()), leg.back().loses()));
    let lost = 1.0 - kept;
    // Each timeout is twice the one before: from a half on their mean has no bound.
    let again = if lost == 0.0 {
        0.0
    } else if lost < 0.45 {
        (packets + 3.0).min(10.0) * tcp.profile.syn_rto.seconds().max(1.0) * lost / (1.0 - 2.0 * lost)
    } else {
        f64::INFINITY
    };
    rounds * round + again
}
