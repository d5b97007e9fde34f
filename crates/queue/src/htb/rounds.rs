//! Rounds: sets of classes that take turns in the order of their numbers.

use evenflow_base::Heap;

use super::PRIORITIES;

/// Numbers below a bound, in a set that never allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    words: Vec<u64>,
    pub(super) count: u32,
}

impl Numbers {
    pub(super) fn below(bound: usize) -> Numbers {
        Numbers { words: vec![0; bound.div_ceil(64)], count: 0 }
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        self.words.heap_bytes()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn insert(&mut self, n: u32) {
        let (word, bit) = (&mut self.words[n as usize / 64], 1u64 << (n % 64));
        self.count += u32::from(*word & bit == 0);
        *word |= bit;
    }

    pub(super) fn remove(&mut self, n: u32) {
        let (word, bit) = (&mut self.words[n as usize / 64], 1u64 << (n % 64));
        self.count -= u32::from(*word & bit != 0);
        *word &= !bit;
    }

    /// The least that is `from` or more.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let first = from as usize / 64;
        let mut word = self.words.get(first)? & (u64::MAX << (from % 64));
        for (i, further) in self.words.iter().enumerate().skip(first + 1) {
            if word != 0 {
                return Some(((i - 1) * 64) as u32 + word.trailing_zeros());
            }
            word = *further;
        }
        (word != 0).then(|| ((self.words.len() - 1) * 64) as u32 + word.trailing_zeros())
    }
}

/// A round: the classes of one priority that may send on a level, or that borrow from one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    pub(super) members: Numbers,
    /// The class at turn. Absent: the first one, after the round above has advanced.
    pub(super) turn: Option<u32>,
    /// The class that had the turn and left; the turn goes to the next of them.
    pub(super) left: Option<u32>,
}

impl Round {
    pub(super) fn pass_on(&mut self) {
        self.turn = self.turn.and_then(|turn| self.members.next(turn + 1));
    }
}

/// The rounds of all priorities.
pub(super) type Rounds = [Round; PRIORITIES];
