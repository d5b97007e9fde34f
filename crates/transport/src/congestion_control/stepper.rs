//! A congestion control stepped directly, without loss recovery. After an event the window is the threshold,
//! and it is always fully used. A rate sample is that of a segment that left a round-trip time ago.

use evenflow_base::{Duration, Time};

use super::{Acked, Cause, Congestion, CongestionControl, Path, RateSample, Sent, Signal, Window};

/// A control and its window.
#[derive(Clone, Debug)]
pub struct Stepper {
    control: CongestionControl,
    /// Bytes of a full segment.
    mss: f64,
    /// SND.UNA.
    una: u64,
    /// When how many bytes were delivered, for rate samples.
    delivered: Vec<(Time, u64)>,
    path: Path,
}

/// An acknowledgement; what is absent follows from the last one.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Newly acknowledged segments; a part of one counts as bytes.
    pub segments: f64,
    /// Bytes of a full segment, where they are others than the stack's.
    pub mss: Option<f64>,
    /// SND.UNA, this ACK included; else what it acknowledges follows the last.
    pub una: Option<u64>,
    /// SND.NXT; else a window beyond `una`.
    pub next: Option<u64>,
    /// The round-trip time that it shows.
    pub rtt: Option<Duration>,
    /// The one-way delay that it shows.
    pub one_way: Option<Duration>,
    /// Congestion marks that it reports.
    pub marks: u32,
}

impl Stepper {
    /// With the window of a stack's start, the threshold being infinite.
    pub fn new(mut control: CongestionControl, initial_window: f64, mss: f64) -> Stepper {
        control.start(Window { cwnd: initial_window * mss, ssthresh: f64::INFINITY }, mss);
        Stepper { control, mss, una: 0, delivered: vec![(Time::ZERO, 0)], path: Path::default() }
    }

    /// The window.
    pub fn window(&self) -> Window {
        self.control.window
    }

    /// The control, for what it lets be seen.
    pub fn control(&self) -> &CongestionControl {
        &self.control
    }

    /// Sets the window or the threshold, bytes.
    pub fn set(&mut self, cwnd: Option<f64>, ssthresh: Option<f64>) {
        self.control.window.cwnd = cwnd.unwrap_or(self.control.window.cwnd);
        self.control.window.ssthresh = ssthresh.unwrap_or(self.control.window.ssthresh);
    }

    /// An ACK of new data, in order.
    pub fn ack(&mut self, step: Step, now: Time) {
        let mss = step.mss.unwrap_or(self.mss);
        let bytes = (step.segments * mss) as u64;
        let una = step.una.unwrap_or((self.una + bytes) as f64 as u64);
        let next = step.next.unwrap_or((una as f64 + self.control.window.cwnd) as u64);
        self.una = una;
        let acked = Acked {
            now,
            una,
            next,
            bytes,
            segments: step.segments as u64,
            mss,
            flight: f64::INFINITY,
            rtt: step.rtt,
            one_way: step.one_way,
            marks: step.marks,
        };
        let needs = self.control.needs();
        if needs.rate_samples {
            self.sample(bytes, next.saturating_sub(una), step, now);
        }
        if needs.every_ack {
            self.control.on_ack(&acked, true);
        }
        if step.marks == 0 || needs.every_mark {
            self.control.grow(&acked);
        }
    }

    /// The rate sample of an ACK of `bytes` that leaves `in_flight`.
    fn sample(&mut self, bytes: u64, in_flight: u64, step: Step, now: Time) {
        let rtt = step.rtt.or(self.path.smoothed).unwrap_or(Duration::ZERO);
        let least = self.path.least.map_or(rtt, |least| least.min(rtt));
        self.path = Path { smoothed: Some(rtt), least: Some(least) };
        let at = Time(now.0.saturating_sub(rtt.0));
        let until = self.delivered.partition_point(|(then, _)| *then <= at).max(1);
        let (delivered_at, delivered) = self.delivered[until - 1];
        self.delivered.drain(..until - 1);
        let total = self.delivered.last().map_or(0, |last| last.1) + bytes;
        self.delivered.push((now, total));
        let packet = Sent {
            seq: self.una.saturating_sub(bytes),
            len: bytes,
            at,
            delivered,
            delivered_at,
            first_sent: delivered_at,
            application_limited: false,
            in_flight: in_flight + bytes,
            lost: 0,
            marked: 0,
            again: false,
        };
        let interval = now.since(delivered_at);
        self.control.on_rate_sample(&RateSample {
            now,
            total: (total, 0),
            packet: Some(packet),
            delivered: total - delivered,
            lost: 0,
            newly_acked: bytes,
            newly_lost: 0,
            interval: Some(interval).filter(|interval| *interval >= least && *interval > Duration::ZERO),
            in_flight,
            rtt: step.rtt,
            path: self.path,
            marks: step.marks,
            marked: u64::from(step.marks),
        });
    }

    /// Whether [`Stepper::ack`] reports marks, instead of events.
    pub fn takes_every_mark(&self) -> bool {
        self.control.needs().every_mark
    }

    /// A congestion event with `flight` bytes in flight; else with a whole window.
    pub fn event(&mut self, signal: Signal, flight: Option<f64>, mss: Option<f64>, now: Time) {
        let mss = mss.unwrap_or(self.mss);
        let flight = flight.unwrap_or(self.control.window.cwnd);
        self.control.on_congestion_event(&Congestion::new(signal, now, flight, mss));
        match signal {
            Signal::Loss => self.control.propose_cwnd(self.control.window.ssthresh, Cause::Reduction),
            Signal::Mark => {}
            Signal::Timeout => self.control.propose_cwnd(self.control.min_window(mss), Cause::Timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Values;

    use super::*;
    use crate::Profile;

    /// NewReno in RFC 5681's numbers: 10 + 1 in slow start, half at a loss, then one segment for a window; a timeout leaves one.
    #[test]
    fn newreno_by_hand() {
        let profile = Profile { mss: 1000, ..Profile::rfc() };
        let control =
            CongestionControl::build("newreno", &Values::default(), &profile, 1.0).expect("no parameters");
        let mut stepper = Stepper::new(control, 10.0, 1000.0);
        let ack =
            Step { segments: 1.0, mss: None, una: None, next: None, rtt: None, one_way: None, marks: 0 };
        stepper.ack(ack, Time::ZERO);
        assert_eq!(stepper.window(), Window { cwnd: 11_000.0, ssthresh: f64::INFINITY });
        stepper.event(Signal::Loss, Some(9000.0), None, Time::ZERO);
        assert_eq!(stepper.window(), Window { cwnd: 4500.0, ssthresh: 4500.0 });
        stepper.ack(Step { segments: 4.5, ..ack }, Time::ZERO);
        assert_eq!(stepper.window().cwnd, 5500.0);
        stepper.ack(Step { marks: 1, segments: 9.0, ..ack }, Time::ZERO); // a marked ACK grows nothing (RFC 3168)
        assert_eq!(stepper.window().cwnd, 5500.0);
        stepper.event(Signal::Timeout, None, None, Time::ZERO);
        assert_eq!(stepper.window(), Window { cwnd: 1000.0, ssthresh: 2750.0 });
    }
}
