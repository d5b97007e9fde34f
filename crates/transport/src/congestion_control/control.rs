//! The interface of a congestion control.

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Duration, Stream, Time};

use crate::Profile;

use super::{Acked, Congestion, Path, Proposal, RateSample, Recovery, Sent, Spurious, Window};

/// Information that a control needs from the sender. The sender keeps only what is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Control::on_ack`].
    pub every_ack: bool,
    /// Each congestion mark: marks are no congestion events, and an ACK with marks calls [`Control::grow`].
    pub every_mark: bool,
    /// One-way delays: the receiver puts its clock into its ACKs.
    pub one_way_delay: bool,
    /// Transmit records: [`Control::on_packet_sent`], [`Control::on_rate_sample`] and
    /// [`Control::on_packet_lost`].
    pub rate_samples: bool,
    /// The window follows from rate samples: [`Control::on_ack`], [`Control::grow`] and
    /// [`Control::on_application_limited`] may be left out.
    pub no_growth: bool,
    /// [`Control::on_state`].
    pub states: bool,
    /// Pacing by [`Control::pacing_rate`] and [`Control::send_quantum`].
    pub pacing: bool,
    /// A random stream: [`Control::seed`].
    pub random: bool,
}

/// A congestion control. It owns congestion window and threshold (`w`): loss recovery reports events and
/// proposes windows, and the control decides. Only [`Control::grow`] and [`Control::ssthresh`] are required;
/// the defaults are those of a control that answers losses, and the first mark of a round trip.
pub trait Control: std::fmt::Debug {
    /// Information that it needs from the sender.
    #[inline]
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Its random stream, one for each flow.
    fn seed(&mut self, _stream: Stream) {}

    /// A connection begins; `w` is the profile's initial window.
    fn on_start(&mut self, _w: &mut Window, _mss: f64) {}

    /// A segment was sent.
    fn on_packet_sent(&mut self, _w: &mut Window, _sent: &Sent) {}

    /// An ACK of new data, in any state of recovery. `open`: nothing is lost or out of order.
    /// [`Control::grow`] follows where growth is allowed.
    fn on_ack(&mut self, _w: &mut Window, _acked: &Acked, _open: bool) {}

    /// The delivery rate that an ACK shows, duplicate ACKs included. It follows losses that the same ACK
    /// shows.
    fn on_rate_sample(&mut self, _w: &mut Window, _sample: &RateSample) {}

    /// An ACK of new data outside loss recovery, with the window in full use.
    fn grow(&mut self, w: &mut Window, acked: &Acked);

    /// An ACK of new data while the flow is application-limited: the window was not in full use, and
    /// [`Control::grow`] was not called.
    #[inline]
    fn on_application_limited(&mut self, _now: Time) {}

    /// The slow-start threshold after a congestion event (RFC 5681 equation 4).
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64;

    /// A congestion event: a loss, a round trip with marks, or a timeout, at most one a round trip. By
    /// default the threshold falls here; after a mark the window follows at once, unless recovery proposes it
    /// step by step.
    fn on_congestion_event(&mut self, w: &mut Window, event: &Congestion) {
        let before = *w;
        let cwnd = event.cwnd.unwrap_or(w.cwnd);
        let ssthresh = self.ssthresh(&Window { cwnd, ..before }, event);
        w.ssthresh = if event.whole {
            ((ssthresh / event.mss) as u64 as f64 * event.mss).max(self.min_window(event.mss))
        } else {
            ssthresh
        };
        if event.settles {
            w.cwnd = self.after_mark(&before, event, w.ssthresh);
        }
    }

    /// The window after a mark. By default it is the new threshold `ssthresh`. Some documents allow a smaller
    /// window (RFC 9438 section 4.6; ns-2).
    fn after_mark(&self, _before: &Window, _event: &Congestion, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// A segment is declared lost.
    fn on_packet_lost(&mut self, _w: &mut Window, _lost: &Sent) {}

    /// Loss recovery changed its state: recovery began or ended, or a timeout fired.
    fn on_state(&mut self, _w: &mut Window, _state: Recovery) {}

    /// Everything sent up to `next` is lost after a timeout, where F-RTO shows it later than the timeout
    /// (Linux 3.2).
    fn on_timeout_confirmed(&mut self, _next: u64) {}

    /// The last congestion event was spurious.
    fn on_spurious_loss(&mut self, w: &mut Window, spurious: &Spurious) {
        spurious.restore(w);
    }

    /// The application sends again with nothing in flight, `idle` after the last segment.
    fn on_idle_restart(&mut self, _idle: Duration) {}

    /// The sender proposes a window: the steps of a recovery, the restart after an idle time. By default it
    /// is taken.
    #[inline]
    fn on_proposal(&mut self, w: &mut Window, proposal: &Proposal) {
        proposal.accept(w, proposal.half_threshold(w));
    }

    /// The least window, bytes: the loss window of a timeout.
    #[inline]
    fn min_window(&self, mss: f64) -> f64 {
        mss
    }

    /// Pacing rate, bytes/s; `None` does not pace.
    fn pacing_rate(&self, _w: &Window, _path: &Path) -> Option<f64> {
        None
    }

    /// Bytes that leave in one burst where the sender paces.
    fn send_quantum(&self, mss: f64) -> f64 {
        mss
    }

    /// An observable of its table, `window` excepted.
    fn observe(&self, _name: &str) -> Option<f64> {
        None
    }
}

/// A congestion control that scenarios name.
pub trait Registered: Control + Clone + Sized {
    /// Its table.
    const TABLE: &'static Mechanism;

    /// From its parameters on a profile. `weight` is the user's; a weight among the values goes before it.
    fn build(values: &Values, profile: &Profile, weight: f64) -> Result<Self, Vec<Problem>>;

    /// Options of the profile that have other defaults with it.
    fn adopt(_profile: &mut Profile) {}

    /// Contradictions to a profile: a feedback that it needs and does not get.
    fn contradictions(_values: &Values, _profile: &Profile) -> Vec<String> {
        Vec::new()
    }
}

/// A congestion control that no scenario names: of a test, or of a plug-in.
pub trait External: Control + Send + Sync {
    /// A copy of it.
    fn copy(&self) -> Box<dyn External>;
}

impl<C: Control + Clone + Send + Sync + 'static> External for C {
    fn copy(&self) -> Box<dyn External> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn External> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}
