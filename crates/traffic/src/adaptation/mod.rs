//! Adaptation rules: the level of the next chunk of an adaptive video.
//!
//! A rule is a function of the player's state at a request: ladder, chunk sizes, buffer, past throughputs,
//! last level. It does no I/O and draws no numbers. The player decides when to request a chunk.

mod aggressive_rate;
pub mod bba;
mod bola;
mod dynamic;
mod mpc;
mod rate;

use evenflow_base::Heap;
use evenflow_base::schema::{Mechanism, Problem, Values};

pub use aggressive_rate::AggressiveRate;
pub use bba::Bba0;
pub use bola::Bola;
pub use dynamic::Dynamic;
pub use mpc::{Mpc, RobustMpc};
pub use rate::Rate;

/// Levels and chunks of a video.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// Bit/s by level, rising.
    levels: Vec<f64>,
    /// Seconds of video in a chunk.
    chunk: f64,
    /// Bytes by chunk and level; absent: those that the bitrate gives.
    sizes: Option<Vec<Vec<f64>>>,
}

impl Ladder {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let sizes = |rows: &Vec<Vec<f64>>| rows.heap_bytes() + rows.iter().map(Heap::heap_bytes).sum::<u64>();
        self.levels.heap_bytes() + self.sizes.as_ref().map_or(0, sizes)
    }

    /// A ladder of `levels` bit/s in chunks of `chunk` seconds; `sizes` are bytes by chunk and level.
    ///
    /// # Errors
    /// No level, levels that do not rise, a chunk without duration, or sizes that are not positive or not one
    /// per level.
    pub fn new(levels: Vec<f64>, chunk: f64, sizes: Option<Vec<Vec<f64>>>) -> Result<Ladder, Vec<Problem>> {
        let problems = Ladder::problems(Some(&levels), Some(chunk), sizes.as_deref());
        if problems.is_empty() { Ok(Ladder { levels, chunk, sizes }) } else { Err(problems) }
    }

    /// Errors in the parts of a ladder, any of which may be unknown.
    pub fn problems(levels: Option<&[f64]>, chunk: Option<f64>, sizes: Option<&[Vec<f64>]>) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        let sound = |x: &f64| x.is_finite() && *x > 0.0;
        if levels.is_some_and(<[f64]>::is_empty) {
            problems.push(("ladder", "needs at least one level".into()));
        }
        if let Some(bad) = levels.unwrap_or_default().iter().find(|x| !sound(x)) {
            problems.push(("ladder", format!("a level must be more than 0 bit/s, one is {bad}")));
        } else if let Some(pair) = levels.unwrap_or_default().windows(2).find(|pair| pair[1] <= pair[0]) {
            problems.push(("ladder", format!("must rise, but {} bit/s follows {} bit/s", pair[1], pair[0])));
        }
        if let Some(chunk) = chunk.filter(|chunk| !sound(chunk)) {
            problems.push(("chunk", format!("must be more than 0 s, it is {chunk} s")));
        }
        for (number, row) in sizes.into_iter().flatten().enumerate() {
            if let Some(want) = levels.map(<[f64]>::len).filter(|want| row.len() != *want) {
                let have = row.len();
                problems
                    .push(("sizes", format!("chunk {number} has {have} sizes, the ladder {want} levels")));
            } else if let Some(bad) = row.iter().find(|x| !sound(x)) {
                problems.push(("sizes", format!("chunk {number} has a size of {bad} B")));
            }
        }
        if sizes.is_some_and(<[Vec<f64>]>::is_empty) {
            problems.push(("sizes", "must have at least one chunk".into()));
        }
        problems
    }

    /// Bit/s by level.
    pub fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// The highest level.
    pub fn top(&self) -> usize {
        self.levels.len() - 1
    }

    /// Seconds of video in a chunk.
    pub fn chunk(&self) -> f64 {
        self.chunk
    }

    /// Chunks of the video, where their sizes are listed.
    pub fn chunks(&self) -> Option<usize> {
        self.sizes.as_ref().map(Vec::len)
    }

    /// Bytes of chunk `number` at `level`. A list of sizes begins again behind its end.
    pub fn size(&self, number: usize, level: usize) -> f64 {
        match &self.sizes {
            Some(sizes) => sizes[number % sizes.len()][level],
            None => self.levels[level] * self.chunk / 8.0,
        }
    }

    /// The highest level that is at most `rate` bit/s; the lowest where none is.
    pub fn highest_within(&self, rate: f64) -> usize {
        self.levels.iter().rposition(|&level| level <= rate).unwrap_or(0)
    }
}

/// The player's state at the request of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Levels and sizes.
    pub ladder: &'a Ladder,
    /// Number of the chunk that it asks for.
    pub next: usize,
    /// Seconds of video in the playback buffer.
    pub buffer: f64,
    /// Seconds of video that the playback buffer holds.
    pub capacity: f64,
    /// Throughput of each chunk so far in bit/s, the latest last.
    pub throughputs: &'a [f64],
    /// The level of the last chunk; absent before the first.
    pub last: Option<usize>,
}

/// An adaptation rule.
pub trait Rule: Clone + std::fmt::Debug + Sized {
    /// Its table.
    const TABLE: &'static Mechanism;

    /// From decoded values.
    fn build(values: &Values) -> Result<Self, Vec<Problem>>;

    /// The level of the next chunk.
    fn choose(&mut self, known: &Known) -> usize;
}

/// The places of the rules: variant and type.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident($rule:ty),)*) => {
        /// An adaptation rule, dispatched statically.
        #[derive(Clone, Debug)]
        pub enum Adaptation {
            $($(#[$doc])* $name($rule),)*
        }

        /// The tables of all rules.
        pub static MECHANISMS: &[&Mechanism] = &[$(<$rule as Rule>::TABLE,)*];

        impl Adaptation {
            /// The rule called `kind`.
            pub fn build(kind: &str, values: &Values) -> Result<Adaptation, Vec<Problem>> {
                $(if kind == <$rule as Rule>::TABLE.kind {
                    return <$rule as Rule>::build(values).map(Adaptation::$name);
                })*
                panic!("there is no adaptation rule {kind}")
            }

            /// The level of the next chunk.
            pub fn choose(&mut self, known: &Known) -> usize {
                match self { $(Adaptation::$name(rule) => rule.choose(known),)* }
            }
        }
    };
}

// A new rule is a line here, in the order in which documents list them.
rules! {
    /// See [`aggressive_rate`].
    AggressiveRate(AggressiveRate),
    /// See [`bba`].
    Bba0(Bba0),
    /// See [`bola`].
    Bola(Bola),
    /// See [`dynamic`].
    Dynamic(Dynamic),
    /// See [`mpc`].
    Mpc(Mpc),
    /// See [`rate`].
    Rate(Rate),
    /// See [`mpc`].
    RobustMpc(RobustMpc),
}

/// Errors in the combination of several parameters.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    Adaptation::build(kind, values).err().unwrap_or_default()
}

/// The harmonic mean of the latest `count` throughputs, bit/s: the rate at which chunks of one size would have been fetched.
/// `None` where there are none.
pub fn harmonic_mean(throughputs: &[f64], count: usize) -> Option<f64> {
    let latest = &throughputs[throughputs.len().saturating_sub(count)..];
    let sum: f64 = latest.iter().map(|x| 1.0 / x).sum();
    (!latest.is_empty()).then(|| latest.len() as f64 / sum)
}

/// A table of values where a rule is built in a test.
#[cfg(test)]
pub(crate) fn built<R: Rule>(given: &[(&'static str, f64)]) -> R {
    use evenflow_base::schema::{Fallback, Value};
    let mut values = Values::default();
    for param in R::TABLE.params {
        let number = match (given.iter().find(|(name, _)| *name == param.name), param.default) {
            (Some((_, number)), _) => *number,
            (None, Fallback::Text(text)) => {
                text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number first")
            }
            (None, _) => continue,
        };
        values.0.insert(param.name, Value::Number(number));
    }
    R::build(&values).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ladder of Ben Ameur et al. 2016, bit/s, in chunks of two seconds.
    pub(crate) fn paper() -> Ladder {
        Ladder::new(vec![248e3, 456e3, 928e3, 1_632e3, 4_256e3], 2.0, None).expect("a ladder")
    }

    #[test]
    fn sizes_follow_the_bitrate() {
        let ladder = paper();
        let sizes: Vec<f64> = (0..5).map(|level| ladder.size(7, level)).collect();
        assert_eq!(sizes, [62_000.0, 114_000.0, 232_000.0, 408_000.0, 1_064_000.0]);
    }

    #[test]
    fn a_list_of_sizes_begins_again() {
        let sizes = vec![vec![1.0, 2.0], vec![3.0, 4.0]];
        let ladder = Ladder::new(vec![1.0, 2.0], 1.0, Some(sizes)).expect("a ladder");
        assert_eq!((ladder.size(1, 1), ladder.size(2, 0)), (4.0, 1.0));
    }

    #[test]
    fn every_error_of_a_ladder_at_once() {
        let bad = Ladder::new(vec![5.0, 5.0], 0.0, Some(vec![vec![1.0], vec![1.0, 0.0]])).expect_err("bad");
        let said: Vec<String> = bad.iter().map(|(name, what)| format!("{name}: {what}")).collect();
        assert_eq!(
            said,
            [
                "ladder: must rise, but 5 bit/s follows 5 bit/s",
                "chunk: must be more than 0 s, it is 0 s",
                "sizes: chunk 0 has 1 sizes, the ladder 2 levels",
                "sizes: chunk 1 has a size of 0 B",
            ]
        );
        assert!(Ladder::new(vec![], 1.0, None).is_err());
        assert!(Ladder::new(vec![f64::NAN], 1.0, None).is_err());
    }

    #[test]
    fn the_harmonic_mean_of_the_latest() {
        assert_eq!(harmonic_mean(&[], 5), None);
        assert_eq!(harmonic_mean(&[9e9, 1e6, 3e6], 2), Some(1.5e6));
    }

    fn adaptations() -> Vec<Adaptation> {
        vec![
            Adaptation::AggressiveRate(built(&[])),
            Adaptation::Bba0(built(&[])),
            Adaptation::Bola(built(&[])),
            Adaptation::Dynamic(built(&[])),
            Adaptation::Mpc(built(&[])),
            Adaptation::Rate(built(&[])),
            Adaptation::RobustMpc(built(&[])),
        ]
    }

    proptest! {
        /// Every rule asks for a level that exists, and twice for the same one where it knows the same.
        #[test]
        fn levels_exist(levels in prop::collection::btree_set(1u32..50_000, 1..8), buffer in 0.0f64..60.0,
                        throughputs in prop::collection::vec(1e3f64..1e8, 0..12), last: Option<u8>) {
            let levels: Vec<f64> = levels.into_iter().map(|kbit| f64::from(kbit) * 1e3).collect();
            let ladder = Ladder::new(levels, 2.0, None).unwrap();
            let last = last.map(|l| usize::from(l) % (ladder.top() + 1));
            let known = Known { ladder: &ladder, next: 3, buffer, capacity: 60.0, throughputs: &throughputs, last };
            for mut rule in adaptations() {
                let level = rule.choose(&known);
                prop_assert!(level <= ladder.top(), "{rule:?} asks for {level}");
                prop_assert_eq!(rule.clone().choose(&known), rule.choose(&known));
            }
        }

        /// More throughput, or more in the buffer, never lowers the level of the rules that promise it.
        #[test]
        fn more_is_never_less(buffer in 0.0f64..40.0, more in 0.0f64..20.0, rate in 1e5f64..1e7, factor in 1.0f64..4.0,
                              last in 0usize..5) {
            let ladder = paper();
            let choose = |rule: &mut Adaptation, buffer: f64, rate: f64| {
                let throughputs = [rate; 5];
                let known = Known {
                    ladder: &ladder, next: 9, buffer, capacity: 60.0, throughputs: &throughputs, last: Some(last),
                };
                rule.choose(&known)
            };
            for mut rule in [Adaptation::AggressiveRate(built(&[])), Adaptation::Rate(built(&[]))] {
                let (few, many) = (choose(&mut rule, buffer, rate), choose(&mut rule, buffer, rate * factor));
                prop_assert!(many >= few, "{rule:?}: {few}, with more throughput {many}");
            }
            for mut rule in [
                Adaptation::AggressiveRate(built(&[])), Adaptation::Bba0(built(&[])), Adaptation::Bola(built(&[])),
            ] {
                let (few, many) = (choose(&mut rule, buffer, rate), choose(&mut rule, buffer + more, rate));
                prop_assert!(many >= few, "{rule:?}: {few}, with more in the buffer {many}");
            }
        }
    }
}
