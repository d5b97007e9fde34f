//! The links of a path, each in the direction in which data crosses it, and what they serve.

use evenflow_base::schema::Value;
use evenflow_scenario::model::{
    Component, Direction, Group, Link, Loss, Lost, Queue, RateSpec, Scenario, Spec,
};

use super::{copies, mean};

/// A link on a path.
#[derive(Clone, Copy)]
pub(super) struct Leg<'a> {
    /// Its index.
    pub place: usize,
    /// The link.
    pub link: &'a Link,
    /// Data crosses it against its direction.
    pub against: bool,
}

/// The links of a group's path.
pub(super) fn legs<'a>(scenario: &'a Scenario, group: &'a Group) -> impl Iterator<Item = Leg<'a>> {
    group.path.iter().filter_map(|hop| match hop.component {
        Component::Link(place) => Some(Leg { place, link: &scenario.links[place], against: hop.against }),
        Component::Stage(_) => None,
    })
}

impl<'a> Leg<'a> {
    /// The same link on the way back.
    pub fn back(self) -> Leg<'a> {
        Leg { against: !self.against, ..self }
    }

    /// Its direction; a reverse one that is not described is as the forward one, but for the queue.
    fn direction(self) -> &'a Direction {
        match (&self.link.reverse, self.against) {
            (Some(reverse), true) => reverse,
            _ => &self.link.forward,
        }
    }

    /// Its queue; without one nothing is dropped.
    pub fn queue(self) -> Option<&'a Queue> {
        if self.against && self.link.reverse.is_none() { None } else { self.direction().queue.as_ref() }
    }

    /// Its propagation delay, the longest that may well be drawn.
    pub fn delay(self) -> f64 {
        high(&self.direction().delay)
    }

    /// The highest rate at which a copy lets packets go, and the lowest at any time, bit/s; `None`: pure delay. What is drawn may be
    /// the one or the other.
    pub fn rates(self) -> Option<(f64, f64)> {
        let (most, least) = match self.direction().rate.as_ref()? {
            RateSpec::Constant(value) => (high(value), low(value)),
            RateSpec::Steps(steps) => {
                let rates = || steps.iter().map(|step| step.1.0);
                (rates().fold(0.0, f64::max), rates().fold(f64::INFINITY, f64::min))
            }
        };
        let shaped = self.queue().map_or((f64::INFINITY, f64::INFINITY), shaped);
        Some((most.min(shaped.0), least.min(shaped.1)))
    }

    /// What it loses of packets in its direction: the share at the most; what is sent again on the link is not lost.
    pub fn loses(self) -> f64 {
        let lost = self.link.loss.as_ref().filter(|loss| loss.ways.contains(&usize::from(self.against)));
        lost.filter(|loss| loss.again.is_none()).map_or(0.0, share)
    }
}

fn share(loss: &Loss) -> f64 {
    match &loss.which {
        Lost::Random(share) | Lost::Bursts(share, _) => high(share),
        Lost::Every(nth) => 1.0 / (*nth).max(1) as f64,
    }
}

/// The most and the least that a shaping scheduler lets a queue send, bit/s.
fn shaped(queue: &Queue) -> (f64, f64) {
    let versions = std::iter::once(queue).chain(queue.changes.iter().map(|(_, queue)| queue));
    let rates = versions
        .map(|queue| queue.scheduler.as_ref().and_then(bucket).unwrap_or((f64::INFINITY, f64::INFINITY)));
    rates
        .fold((0.0, f64::INFINITY), |(most, least), (high, low)| (f64::max(most, high), f64::min(least, low)))
}

/// The rate of a token-bucket filter.
fn bucket(scheduler: &Spec) -> Option<(f64, f64)> {
    let rate = scheduler.values.get("rate").filter(|_| scheduler.mechanism.kind == "tbf")?;
    Some((high(rate), low(rate)))
}

/// The largest that a quantity may well be: the bound of what is drawn, where it has one.
pub(super) fn high(value: &Value) -> f64 {
    let most = value.bounds().1;
    if most.is_finite() { most } else { mean(value) }
}

/// The least that it may well be.
pub(super) fn low(value: &Value) -> f64 {
    match value {
        Value::Random(law) if law.bounds().1.is_finite() => law.bounds().0,
        other => mean(other),
    }
}

/// The narrowest link of a group's way: the most that all its copies that the group meets let go, and the link.
pub(super) fn narrowest<'a>(scenario: &'a Scenario, group: &'a Group) -> Option<(f64, Leg<'a>)> {
    legs(scenario, group)
        .filter_map(|leg| Some((leg.rates()?.0 * copies(leg.link.per, group), leg)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}
