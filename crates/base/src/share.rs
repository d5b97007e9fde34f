//! Shares of a link: what a manager of bandwidth hands out, and a tree of classes takes.

use crate::units::Rate;

/// The share of a class of a tree (`tc class change`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Guaranteed rate.
    pub rate: Rate,
    /// Maximum rate with borrowed tokens, at least `rate`.
    pub ceil: Rate,
    /// Depth of the rate's bucket, bytes; absent: that of a class which names none.
    pub burst: Option<u64>,
    /// The same of the ceiling's.
    pub cburst: Option<u64>,
    /// Bytes a turn; absent: by its rate.
    pub quantum: Option<i64>,
    /// The class is deleted and recreated: its backlog is dropped, its buckets are full.
    pub replace: bool,
}
