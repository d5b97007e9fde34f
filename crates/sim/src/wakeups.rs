//! Wake-ups of the ends of connections: at most one for each end of a slot.
//!
//! An indexed heap, in which a wake-up can be moved and removed.

use evenflow_base::{End, Heap};

use crate::events::{Key, time_of};

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// When.
    pub key: Key,
    /// The number that the flow's user gave it, which decides between two of one user at one instant.
    pub number: u32,
    /// The application that opened the flow, or [`crate::hosting::NONE`].
    pub application: u32,
    whom: u32,
}

impl Wakeup {
    /// The flow's place, and its end.
    pub fn whom(&self) -> (usize, End) {
        ((self.whom / 2) as usize, End::BOTH[(self.whom % 2) as usize])
    }

    #[inline(always)]
    fn is_before(&self, other: &Wakeup) -> bool {
        let (time, of_other) = (time_of(self.key), time_of(other.key));
        if time != of_other { time < of_other } else { self.is_before_at_once(other) }
    }

    /// The same at one instant.
    #[cold]
    #[inline(never)]
    fn is_before_at_once(&self, other: &Wakeup) -> bool {
        (self.key, self.number, self.whom) < (other.key, other.number, other.whom)
    }
}

/// No place in the heap.
const NOWHERE: u32 = u32::MAX;

/// All of them.
#[derive(Debug, Default)]
pub struct Wakeups {
    heap: Vec<Wakeup>,
    /// By twice the place and the end: where in the heap.
    at: Vec<u32>,
}

impl Wakeups {
    /// None, with room for an end of each of so many connections.
    pub fn with_capacity(connections: usize) -> Wakeups {
        Wakeups { heap: Vec::with_capacity(connections), at: Vec::with_capacity(2 * connections) }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.heap.heap_bytes() + self.at.heap_bytes()
    }

    /// The next.
    #[inline]
    pub fn first(&self) -> Option<&Wakeup> {
        self.heap.first()
    }

    /// How many.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Sets the wake-up of the `end` of the flow at `place`, opened by `application` as `number`, to `key`.
    pub fn set(&mut self, (place, end): (usize, End), key: Key, number: u32, application: u32) {
        let whom = (2 * place + end.index()) as u32;
        if self.at.len() <= whom as usize {
            self.at.resize(2 * place + 2, NOWHERE);
        }
        let wakeup = Wakeup { key, number, application, whom };
        let at = self.at[whom as usize];
        if at == NOWHERE {
            self.heap.push(wakeup);
            self.rise(self.heap.len() - 1, wakeup);
        } else {
            self.put(at as usize, wakeup);
        }
    }

    /// The first wake-up comes at `key` instead, which is not earlier.
    #[inline(always)]
    pub fn postpone_first(&mut self, key: Key) {
        if let Some(&first) = self.heap.first() {
            self.sink(0, Wakeup { key, ..first });
        }
    }

    /// Removes the wake-ups of both ends of `place`. Returns whether the first of all was among them.
    pub fn clear(&mut self, place: usize) -> bool {
        let [one, other] = End::BOTH.map(|end| self.remove((place, end)) == Some(0));
        one || other
    }

    /// The `end` of the flow at `place` is not to be woken. Returns where in the heap its wake-up was.
    pub fn remove(&mut self, (place, end): (usize, End)) -> Option<usize> {
        let at = self.at.get_mut(2 * place + end.index()).filter(|at| **at != NOWHERE)?;
        let at = std::mem::replace(at, NOWHERE) as usize;
        if let Some(last) = self.heap.pop()
            && at < self.heap.len()
        {
            self.put(at, last);
        }
        Some(at)
    }

    /// Puts `wakeup` at `at` or where it belongs.
    fn put(&mut self, at: usize, wakeup: Wakeup) {
        if at > 0 && wakeup.is_before(&self.heap[(at - 1) / 2]) {
            self.rise(at, wakeup);
        } else {
            self.sink(at, wakeup);
        }
    }

    fn rise(&mut self, mut at: usize, wakeup: Wakeup) {
        while at > 0 {
            let above = (at - 1) / 2;
            if self.heap[above].is_before(&wakeup) {
                break;
            }
            self.place(at, self.heap[above]);
            at = above;
        }
        self.place(at, wakeup);
    }

    #[inline(always)]
    fn sink(&mut self, mut at: usize, wakeup: Wakeup) {
        while let Some(left) = self.heap.get(2 * at + 1) {
            let mut below = 2 * at + 1;
            if self.heap.get(below + 1).is_some_and(|right| right.is_before(left)) {
                below += 1;
            }
            if wakeup.is_before(&self.heap[below]) {
                break;
            }
            self.place(at, self.heap[below]);
            at = below;
        }
        self.place(at, wakeup);
    }

    #[inline]
    fn place(&mut self, at: usize, wakeup: Wakeup) {
        self.heap[at] = wakeup;
        self.at[wakeup.whom as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenflow_base::Time;
    use proptest::prelude::*;

    use super::*;
    use crate::events::{Rank, key};

    proptest! {
        /// Set, moved, cleared and taken in any order: the least comes first, and no end has two.
        #[test]
        fn the_first_is_the_least(steps in prop::collection::vec((0u8..4, 0usize..6, any::<bool>(), 0u64..20), 1..200)) {
            let (mut wakeups, mut model) = (Wakeups::default(), BTreeMap::new());
            for (step, place, server, time) in steps {
                let end = End::BOTH[usize::from(server)];
                match step {
                    0 | 1 => {
                        let key = key(Time(time), Rank::Timer, 0, 7);
                        wakeups.set((place, end), key, place as u32, 1);
                        model.insert((place, end.index()), key);
                    }
                    2 => {
                        wakeups.clear(place);
                        model.retain(|whom, _| whom.0 != place);
                    }
                    _ => {
                        let first = wakeups.first().map(Wakeup::whom);
                        prop_assert_eq!(first.and_then(|whom| wakeups.remove(whom)), first.map(|_| 0));
                        first.map(|(place, end)| model.remove(&(place, end.index())));
                    }
                }
                let least = model.iter().map(|(whom, key)| (*key, *whom)).min();
                let first = wakeups.first().map(|w| (w.key, (w.whom().0, w.whom().1.index())));
                prop_assert_eq!(first, least);
                prop_assert_eq!(wakeups.len(), model.len());
            }
        }
    }
}
