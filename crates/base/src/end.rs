//! The two ends of a connection.

/// One of the two. The client opens, the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The end that opens.
    Client,
    /// The end that answers.
    Server,
}

impl End {
    /// Both.
    pub const BOTH: [End; 2] = [End::Client, End::Server];

    /// The other one.
    #[inline]
    pub fn other(self) -> End {
        match self {
            End::Client => End::Server,
            End::Server => End::Client,
        }
    }

    /// 0 or 1, to index arrays by end.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }
}
