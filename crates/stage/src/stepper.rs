//! A stage called directly, for tests and the mechanism stepper: its stream, and its requests.

use evenflow_base::schema::Way;
use evenflow_base::{Options, Stream, Time};

use crate::station::{Act, Cx, Whose};

/// The engine's state for one stage.
#[derive(Debug)]
pub struct Stepper {
    /// The stage's own random numbers.
    pub stream: Stream,
    /// Options of packets.
    pub options: Options,
    /// Requests since they were last taken.
    pub acts: Vec<Act>,
    /// Owner of the next packets.
    pub whose: Whose,
    /// In which direction they cross.
    pub way: Way,
}

impl Stepper {
    /// Packets of the first flow, forward.
    pub fn new(seed: u64) -> Stepper {
        Stepper {
            stream: Stream::new(seed, "mechanism"),
            options: Options::default(),
            acts: Vec::new(),
            whose: Whose::default(),
            way: Way::Forward,
        }
    }

    /// The context of a call at `now`.
    pub fn cx(&mut self, now: Time) -> Cx<'_> {
        Cx::new(now, self.whose, self.way, &mut self.stream, &mut self.options, &mut self.acts)
    }
}
