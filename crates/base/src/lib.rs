//! The common base of all crates: units, named random streams, the packet, token buckets, and the declarative
//! tables of mechanisms.

pub mod bucket;
pub mod codepoint;
pub mod credit;
pub mod dscp;
pub mod end;
pub mod heap;
pub mod limit;
pub mod options;
pub mod packet;
pub mod params;
pub mod random;
pub mod schema;
pub mod share;
pub mod tunnel;
pub mod units;
pub mod verdict;

pub use codepoint::{Codepoint, Signals};
pub use end::End;
pub use heap::Heap;
pub use options::{Carried, Misplaced, Options, Outer, Report};
pub use packet::{Ecn, Packet, flags, ip};
pub use random::Stream;
pub use share::Share;
pub use units::{Duration, Fine, Rate, Time};
pub use verdict::{Reason, Verdict};
