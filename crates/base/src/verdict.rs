//! Verdicts on packets, and their reasons.

/// The reasons with their names in counters. Add new ones at the end: their order gives the codes in recorded
/// events.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident = $name:literal,)*) => {
        /// Why a packet was dropped or marked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$doc])* $reason,)*
        }

        impl Reason {
            /// All of them, in the order of their codes.
            pub const ALL: [Reason; [$($name),*].len()] = [$(Reason::$reason),*];

            /// Its name in counters.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Reason::$reason => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// The queue was full.
    Limit = "limit",
    /// The activity AQM: too active for the queue of that moment.
    Activity = "activity",
    /// CSFQ: above the fair rate; dropped with the computed probability.
    Csfq = "csfq",
    /// Taken out of the longest queue to make room.
    PushedOut = "pushed_out",
    /// RED: the average is between the thresholds; picked with the computed probability.
    Early = "early",
    /// RED: the average is above its top, or the queue at `mark_all_above`.
    Forced = "forced",
    /// The virtual queue has overflowed.
    Virtual = "virtual",
    /// Load-based marking: picked with the probability that the measured load gives.
    Load = "load",
    /// Constant-probability marking.
    Constant = "constant",
    /// REM: picked with the probability that the price gives.
    Price = "price",
    /// CoDel: packets had waited too long for too long.
    Codel = "codel",
    /// CoDel: this packet had waited longer than `ce_threshold`.
    CeThreshold = "ce_threshold",
    /// PIE: picked with the computed probability.
    Pie = "pie",
    /// Larger than the scheduler could ever send.
    TooLarge = "too_large",
    /// Lost on the link at random, whatever its queue.
    Loss = "loss",
    /// A probe stage drops or marks each n-th packet.
    Probe = "probe",
    /// A rewriter has made the codepoint a congestion mark.
    Rewritten = "rewritten",
    /// Policer: green, and green packets are dropped.
    PolicedGreen = "policed_green",
    /// Policer: beyond the committed rate and burst.
    PolicedYellow = "policed_yellow",
    /// Policer: beyond the excess burst, or the peak rate, too.
    PolicedRed = "policed_red",
    /// Congestion policer: the user has caused more congestion than its tokens cover.
    CongestionPoliced = "congestion_policed",
    /// Auditor: its flow has declared less congestion than it has met.
    Audited = "audited",
    /// Its class was deleted and recreated while it waited.
    Reconfigured = "reconfigured",
    /// Tunnel ingress: with its outer header the packet is larger than what fits.
    TooBig = "too_big",
    /// Tunnel egress: a mark outside, and what is inside cannot carry it.
    Unmarkable = "unmarkable",
    /// Congestion policer: the owner is blocked, because its bucket was empty once.
    Blocked = "blocked",
    /// Congestion policer: no token is left for credit.
    CreditPoliced = "credit_policed",
    /// DualPI2: the C queue, picked with p'^2.
    Pi2 = "pi2",
    /// DualPI2: the L queue, marked with the coupled probability.
    Coupled = "coupled",
    /// DualPI2: the L queue, marked for its own delay.
    Native = "native",
    /// DualPI2: the L queue, dropped in overload.
    Overload = "overload",
    /// COBALT: picked with BLUE's probability.
    Blue = "blue",
    /// CAKE: a pure ACK that a newer ACK in the same queue covers.
    AckFilter = "ack_filter",
    /// FQ: its queue was full.
    FlowLimit = "flow_limit",
}

/// A verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may wait.
    Accept,
    /// It may wait and now carries a congestion mark.
    Mark(Reason),
    /// It is gone.
    Drop(Reason),
}

impl Verdict {
    /// Whether the packet is gone.
    #[inline]
    pub fn is_drop(self) -> bool {
        matches!(self, Verdict::Drop(_))
    }
}
