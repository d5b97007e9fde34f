//! A ring buffer like `VecDeque`, for small copyable items on the path of every packet.
//!
//! Its capacity is a power of two, so that an index needs a mask instead of a comparison. This saves 3 % of a
//! packet's instructions (benches/README.md).

use evenflow_base::heap::doubling;

/// Items first in, first out; one may also be put in between.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// A power of two of them, or none.
    places: Vec<T>,
    first: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { places: Vec::new(), first: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        doubling(self.len, self.places.capacity(), size_of::<T>())
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place of item `i`, which may be one past the last.
    #[inline(always)]
    fn place(&self, i: usize) -> usize {
        self.first.wrapping_add(i) & self.places.len().wrapping_sub(1)
    }

    /// The first.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.places.get(self.first) }
    }

    /// Item `i`, counted from the first.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&T> {
        if i < self.len { self.places.get(self.place(i)) } else { None }
    }

    /// Adds one behind the last, to be written in its place: an item that is passed by value is copied twice.
    #[inline(always)]
    pub fn add(&mut self) -> &mut T {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.len += 1;
        &mut self.places[place]
    }

    /// Adds one behind the last.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        *self.add() = item;
    }

    /// Takes the first away, if there is one.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        if self.len > 0 {
            self.first = self.place(1);
            self.len -= 1;
        }
    }

    /// Adds one before the first.
    pub fn push_front(&mut self, item: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        self.first = self.place(self.places.len() - 1);
        self.places[self.first] = item;
        self.len += 1;
    }

    /// Adds one before item `i`, or behind the last if there are `i`. The fewer follow it, the less it costs.
    ///
    /// # Panics
    /// There are fewer than `i`.
    pub fn insert(&mut self, i: usize, item: T) {
        assert!(i <= self.len, "place {i} of {}", self.len);
        self.push_back(item);
        for after in (i + 1..self.len).rev() {
            let (to, from) = (self.place(after), self.place(after - 1));
            self.places[to] = self.places[from];
        }
        let place = self.place(i);
        self.places[place] = item;
    }

    /// All, from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (wrapped, from_first) = self.places.split_at(self.first);
        from_first.iter().chain(wrapped).take(self.len)
    }

    /// Twice the places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.places.rotate_left(self.first);
        self.first = 0;
        self.places.resize((2 * self.places.len()).max(4), T::default());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is done to it, it holds what a `VecDeque` holds.
        #[test]
        fn it_is_a_deque(steps in prop::collection::vec((0u8..8, 0usize..40), 1..400)) {
            let (mut ring, mut model) = (Ring::default(), VecDeque::new());
            for (n, (what, at)) in steps.into_iter().enumerate() {
                match what {
                    0..=2 => {
                        ring.push_back(n);
                        model.push_back(n);
                    }
                    3 => {
                        ring.push_front(n);
                        model.push_front(n);
                    }
                    4 => {
                        let at = at % (model.len() + 1);
                        ring.insert(at, n);
                        model.insert(at, n);
                    }
                    _ => {
                        ring.drop_front();
                        model.pop_front();
                    }
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.get(at), model.get(at));
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(ring.iter().eq(&model));
            }
        }
    }
}
