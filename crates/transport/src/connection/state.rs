//! The states that the ends of a connection are in (RFC 9293 section 3.3.2), and what they tell.

use evenflow_base::End;

/// The state of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no connection, or there is none any more.
    Closed,
    /// It waits to be opened.
    Listen,
    /// It has sent a SYN.
    SynSent,
    /// It has answered one.
    SynReceived,
    /// Data flows.
    Established,
    /// It has no more to send; its FIN is not acknowledged.
    FinWait1,
    /// The same, acknowledged; the other end may go on.
    FinWait2,
    /// The other end has no more to send.
    CloseWait,
    /// Both have no more to send; its own FIN is not acknowledged.
    Closing,
    /// The other end closed first; its own FIN is not acknowledged.
    LastAck,
    /// Both are done; it stays to answer the other end's FIN should that be repeated.
    TimeWait,
}

impl State {
    /// As the RFC writes it.
    pub fn name(self) -> &'static str {
        match self {
            State::Closed => "CLOSED",
            State::Listen => "LISTEN",
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
        }
    }

    /// Whether the application may still write.
    pub(super) fn may_write(self) -> bool {
        use State::*;
        matches!(self, Listen | SynSent | SynReceived | Established | CloseWait)
    }

    /// Whether text of the other end is still awaited.
    pub(super) fn may_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Whether both ends know each other's numbers.
    pub(super) fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether nothing is sent from here any more but answers.
    pub(super) fn is_over(self) -> bool {
        matches!(self, State::Closed | State::TimeWait)
    }
}

/// Notice of an end to its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The connection is open.
    Opened(End),
    /// Total of bytes received in order.
    Received(End, u64),
    /// Free space in the send buffer, after a write that it did not take completely.
    Room(End, u64),
    /// The other end has no more to send.
    PeerClosed(End),
    /// Both have closed, and all that was sent is acknowledged; or the end was closed before it was open, or aborted.
    Closed(End),
    /// The connection is broken: the other end has reset it, or does not answer any more.
    Reset(End),
}
