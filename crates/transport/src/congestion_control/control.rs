//! What every congestion control can do.

use evenflow_base::schema::{Mechanism, Problem, Value, Values};
use evenflow_base::{Duration, Time};

use crate::Profile;

use super::{Acked, Congestion, Reach, Window};

/// A congestion control: how the window grows and shrinks. It must say how it grows and what a congestion event leaves; the
/// rest has defaults, those of a control that answers losses and the first mark of a round trip.
pub trait Control: Clone + std::fmt::Debug + Sized {
    /// Its table.
    const TABLE: &'static Mechanism;

    /// From its parameters on a stack. `weight` is its user's; a weight among the values goes before it.
    fn build(values: &Values, profile: &Profile, weight: f64) -> Result<Self, Vec<Problem>>;

    /// Lines of the stack that have other defaults with it.
    fn adopt(_profile: &mut Profile) {}

    /// What is wrong with it on a stack, its parameters being sound by themselves: a feedback that it needs and does not get.
    fn contradictions(_values: &Values, _profile: &Profile) -> Vec<String> {
        Vec::new()
    }

    /// How far its parameters let a window go. `weight` is its user's.
    fn reach(_values: &Values, _weight: &Value) -> Reach {
        Reach::default()
    }

    /// Sets the window with which a connection begins; `window` holds the stack's own.
    fn start(&mut self, _window: &mut Window, _mss: f64) {}

    /// Whether it wants [`Control::on_ack`].
    #[inline]
    fn wants_every_ack(&self) -> bool {
        false
    }

    /// Whether it needs the one-way delay, for which the other end must put its clock into its ACKs.
    fn needs_one_way_delay(&self) -> bool {
        false
    }

    /// An ACK of new data, in whatever state recovery is and whether the window was used or not; `open`: nothing is lost or out
    /// of order. [`Control::grow`] follows, where growth is allowed.
    fn on_ack(&mut self, _window: &mut Window, _acked: &Acked, _open: bool) {}

    /// New data was acknowledged outside loss recovery.
    fn grow(&mut self, window: &mut Window, acked: &Acked);

    /// The slow-start threshold after a congestion event. The window itself follows it as recovery decides.
    fn reduce(&mut self, window: &Window, event: &Congestion) -> f64;

    /// The window that answers a congestion mark, `before` and `ssthresh` being the window at the event and what
    /// [`Control::reduce`] made of it: the threshold, or less where a document lets a mark take a window of few packets below
    /// the least threshold (RFC 9438 section 4.6; ns-2).
    fn after_mark(&self, _before: &Window, _event: &Congestion, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// Whether [`Control::grow`] deals with congestion marks one by one. Where it does not, an ACK that carries marks grows
    /// nothing (RFC 3168 section 6.1.2), and the first of a round trip is a congestion event.
    #[inline]
    fn takes_every_mark(&self) -> bool {
        false
    }

    /// The floor of the window, bytes: where a timeout or a reduction may take it.
    #[inline]
    fn floor(&self, mss: f64) -> f64 {
        mss
    }

    /// The application sends again with nothing in flight, `idle` after the last segment went out.
    fn resumed(&mut self, _idle: Duration) {}

    /// An ACK of new data, after which [`Control::grow`] was not called because the window was not used to the full.
    #[inline]
    fn held(&mut self, _now: Time) {}

    /// Everything sent up to `next` is believed lost after a timeout, where that is known later than the timeout itself
    /// (F-RTO).
    fn lost_all(&mut self, _next: u64) {}

    /// Below what rate halving does not take the window: half of the threshold in whole segments (Linux's `min_cwnd`).
    fn halving_floor(&self, ssthresh: f64, mss: f64) -> f64 {
        (ssthresh / mss / 2.0) as u64 as f64 * mss
    }

    /// The window that a needless reduction is taken back to, bytes, where the control remembers one (Linux 3.2's CUBIC).
    fn remembered(&self, _mss: f64) -> Option<f64> {
        None
    }

    /// A congestion event was none after all: what [`Control::reduce`] forgot is restored. `window` is the window before the
    /// sender restores it.
    fn undo(&mut self, _window: &Window, _mss: f64) {}

    /// An observable of its table, `window` excepted.
    fn observe(&self, _name: &str) -> Option<f64> {
        None
    }
}
