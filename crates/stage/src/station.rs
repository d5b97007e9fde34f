//! What every stage can do.

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Packet, Stream, Time};

/// Whom a stage is built for.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// All traffic classes, by number.
    pub classes: &'a [String],
    /// The weight of the user or flow that the stage belongs to; 1 where several share it.
    pub weight: f64,
}

/// Something that packets pass on their way and that is no link.
pub trait Station: Clone + std::fmt::Debug + Sized {
    /// Its table.
    const TABLE: &'static Mechanism;

    /// From decoded values.
    fn build(values: &Values, owner: Owner) -> Result<Self, Vec<Problem>>;

    /// A packet passes forward at `now`. `stream` is the stage's own.
    fn forward(&mut self, packet: &mut Packet, now: Time, stream: &mut Stream);

    /// An observable by name, at `now`, for a series or a test.
    fn observe(&self, _name: &str, _now: Time) -> Option<f64> {
        None
    }
}
