//! Shares of a link: what a manager of bandwidth hands out, and a tree of classes takes.

use crate::units::Rate;

/// What a class of a tree gets (`tc class change`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What it may always send.
    pub rate: Rate,
    /// What it may send with others' help; at least `rate`.
    pub ceil: Rate,
    /// Depth of the rate's bucket, bytes; absent: that of a class which names none.
    pub burst: Option<u64>,
    /// The same of the ceiling's.
    pub cburst: Option<u64>,
    /// Bytes a turn; absent: by its rate.
    pub quantum: Option<i64>,
    /// The class is deleted and made anew: what waits in it is dropped, its buckets are full.
    pub replace: bool,
}
