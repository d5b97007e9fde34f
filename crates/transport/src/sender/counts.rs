//! Counters of a sender: causes of window reductions and of delays (RFC 4898 sections 3.2 and 3.4: the groups
//! `tcpEStatsStack` and `tcpEStatsPerf`).

use evenflow_base::{Duration, Time};

use crate::congestion_control::Signal;

/// Window reductions by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reductions {
    /// Losses told by duplicate ACKs, reports or probes.
    pub loss: u32,
    /// Congestion marks. A control that deals with marks one by one counts the ACKs whose marks made its
    /// window smaller.
    pub mark: u32,
    /// Timeouts; those that repeat one before any progress reduce nothing more.
    pub timeout: u32,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Congestion events by what told them.
    pub reductions: Reductions,
    /// How often the slow-start threshold fell.
    pub threshold_falls: u32,
    /// How often the window was reduced because nothing had been sent for a timeout.
    pub restarts: u32,
    /// How often it went on after nothing had been in flight for longer than a timeout, whether or not that
    /// reduced the window.
    pub idle_periods: u32,
    /// Retransmission timeouts, each repetition included; those of a SYN are not.
    pub timeouts: u32,
}

impl Counts {
    /// The window was reduced after `cause`.
    #[inline]
    pub(super) fn reduced(&mut self, cause: Signal) {
        let r = &mut self.reductions;
        *match cause {
            Signal::Loss => &mut r.loss,
            Signal::Mark => &mut r.mark,
            Signal::Timeout => &mut r.timeout,
        } += 1;
    }
}

/// The current limit of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window.
    Congestion,
    /// The receive window.
    Receive,
    /// The application has nothing more to send, or the send buffer takes no more from it.
    #[default]
    Application,
}

/// How long each [`Limit`] held, from the opening of the connection until it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limited {
    spent: [Duration; 3],
    /// Since when the present one holds; `NEVER`: the clock stands.
    since: Time,
    pub(super) by: Limit,
}

impl Default for Limited {
    fn default() -> Limited {
        Limited { spent: [Duration::ZERO; 3], since: Time::NEVER, by: Limit::default() }
    }
}

impl Limited {
    /// Another limit holds from now on. Apart: it happens rarely.
    #[cold]
    #[inline(never)]
    pub(super) fn switch(&mut self, by: Limit, now: Time) {
        self.spent = self.until(now);
        (self.since, self.by) = (now, by);
    }

    /// Nothing is limited any more.
    pub(super) fn end(&mut self, now: Time) {
        self.spent = self.until(now);
        self.since = Time::NEVER;
    }

    /// Up to `now`: congestion window, receive window, application.
    pub(super) fn until(&self, now: Time) -> [Duration; 3] {
        let mut spent = self.spent;
        let present = &mut spent[self.by as usize];
        *present = *present + now.since(self.since);
        spent
    }
}
