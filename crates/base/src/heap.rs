//! Heap memory of containers, for the memory limit of a run. It excludes memory that items own.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// A container of at least this size counts its next growth when at most 1/8 of it is free.
const LARGE: u64 = 64 << 20;

/// A container.
pub trait Heap {
    /// Its bytes on the heap.
    fn heap_bytes(&self) -> u64;
}

/// Bytes of a container that doubles: of `capacity` places of `size` bytes `len` are in use.
pub fn doubling(len: usize, capacity: usize, size: usize) -> u64 {
    let bytes = (capacity * size) as u64;
    let grows = bytes >= LARGE && capacity - len <= capacity / 8;
    if grows { 2 * bytes } else { bytes }
}

/// A map's nodes have eleven places, of which about two thirds are in use.
fn tree(len: usize, size: usize) -> u64 {
    (len * (size + size / 2 + 4)) as u64
}

impl<T> Heap for Vec<T> {
    fn heap_bytes(&self) -> u64 {
        doubling(self.len(), self.capacity(), size_of::<T>())
    }
}

impl<T> Heap for VecDeque<T> {
    fn heap_bytes(&self) -> u64 {
        doubling(self.len(), self.capacity(), size_of::<T>())
    }
}

impl<T> Heap for BinaryHeap<T> {
    fn heap_bytes(&self) -> u64 {
        doubling(self.len(), self.capacity(), size_of::<T>())
    }
}

impl<K, V> Heap for BTreeMap<K, V> {
    fn heap_bytes(&self) -> u64 {
        tree(self.len(), size_of::<K>() + size_of::<V>())
    }
}

impl<K> Heap for BTreeSet<K> {
    fn heap_bytes(&self) -> u64 {
        tree(self.len(), size_of::<K>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_container_is_reported_with_its_next_growth() {
        assert_eq!(doubling(1000, 1024, 16), 16_384);
        let places = 4 << 20; // of 16 B: 64 MiB
        assert_eq!(doubling(places / 2, places, 16), LARGE);
        assert_eq!(doubling(places - places / 8, places, 16), 2 * LARGE);
    }

    #[test]
    fn containers_report_their_places() {
        assert_eq!(Vec::<u64>::with_capacity(10).heap_bytes(), 80);
        assert_eq!(VecDeque::<u8>::with_capacity(16).heap_bytes(), 16);
        assert_eq!(BinaryHeap::<u32>::new().heap_bytes(), 0);
        assert_eq!(BTreeMap::from([(1u32, 2u32)]).heap_bytes(), 16);
        assert_eq!(BTreeSet::from([1u64]).heap_bytes(), 16);
    }
}
