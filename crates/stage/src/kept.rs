//! State for each user or flow inside one copy of a stage. It is forgotten after a silent time, which bounds
//! the memory.

use std::collections::BTreeMap;

use evenflow_base::{Duration, Heap, Time};

/// The end of the list of owners.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry<T> {
    key: u64,
    last: Time,
    /// Owners silent for longer, and for less long.
    before: u32,
    after: u32,
    state: T,
}

/// State by owner, the number of a user or flow.
///
/// State ends exactly `idle` after the owner's last packet, whether or not other owners sent packets
/// meanwhile. Each call costs the logarithm of the number of owners.
#[derive(Clone, Debug)]
pub struct Kept<T> {
    /// Absent: nothing is ever forgotten.
    idle: Option<Duration>,
    places: BTreeMap<u64, u32>,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    /// Silent for longest, and for least long.
    first: u32,
    last: u32,
}

impl<T> Kept<T> {
    /// An empty table.
    pub fn new(idle: Option<Duration>) -> Kept<T> {
        Kept { idle, places: BTreeMap::new(), entries: Vec::new(), free: Vec::new(), first: NONE, last: NONE }
    }

    /// The state of `key`, of whom a packet comes at `now`; `fresh` makes it where there is none, or none any more.
    pub fn of(&mut self, key: u64, now: Time, fresh: impl FnOnce() -> T) -> &mut T {
        match self.find(key, now) {
            Some(place) => self.at(place, now),
            None => {
                let place = self.add(Entry { key, last: now, before: NONE, after: NONE, state: fresh() });
                self.link(place);
                &mut self.entries[place as usize].state
            }
        }
    }

    /// Where the state of `key` is at `now`, until the next change.
    pub fn find(&mut self, key: u64, now: Time) -> Option<u32> {
        self.forget(now);
        self.places.get(&key).copied()
    }

    /// The state at a place that was found, of whose owner a packet comes at `now`.
    pub fn at(&mut self, place: u32, now: Time) -> &mut T {
        self.unlink(place);
        self.link(place);
        let entry = &mut self.entries[place as usize];
        entry.last = now;
        &mut entry.state
    }

    /// The state of `key` as it is, without a packet.
    pub fn get(&self, key: u64) -> Option<&T> {
        self.places.get(&key).map(|&place| &self.entries[place as usize].state)
    }

    /// Forgets owners that have been silent for longer than `idle` at `now`.
    pub fn forget(&mut self, now: Time) {
        let Some(idle) = self.idle else { return };
        while self.first != NONE && now.since(self.entries[self.first as usize].last) > idle {
            self.drop_entry(self.first);
        }
    }

    /// Forgets `key`.
    pub fn remove(&mut self, key: u64) {
        if let Some(&place) = self.places.get(&key) {
            self.drop_entry(place);
        }
    }

    /// Owners and their states, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.places.iter().map(|(key, place)| (*key, &self.entries[*place as usize].state))
    }

    /// Bytes on the heap; what states own there is not in it.
    pub fn heap_bytes(&self) -> u64 {
        self.places.heap_bytes() + self.entries.heap_bytes() + self.free.heap_bytes()
    }

    /// The states, and those of places that are free.
    pub fn states(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &entry.state)
    }

    /// How many owners have a state.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn add(&mut self, entry: Entry<T>) -> u32 {
        let key = entry.key;
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.places.insert(key, place);
        place
    }

    fn drop_entry(&mut self, place: u32) {
        self.unlink(place);
        self.places.remove(&self.entries[place as usize].key);
        self.free.push(place);
        if self.places.is_empty() {
            (self.entries, self.free) = (Vec::new(), Vec::new()); // no active owner: free the memory
        }
    }

    fn unlink(&mut self, place: u32) {
        let Entry { before, after, .. } = self.entries[place as usize];
        match before {
            NONE => self.first = after,
            other => self.entries[other as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            other => self.entries[other as usize].before = before,
        }
    }

    fn link(&mut self, place: u32) {
        let before = self.last;
        self.entries[place as usize].before = before;
        self.entries[place as usize].after = NONE;
        match before {
            NONE => self.first = place,
            other => self.entries[other as usize].after = place,
        }
        self.last = place;
    }
}

/// The mean of some values; absent without any.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn who_is_silent_for_longer_than_idle_begins_anew() {
        let mut kept = Kept::new(Some(Duration(100)));
        *kept.of(7, Time(0), || 0) += 1;
        *kept.of(8, Time(50), || 0) += 1;
        assert_eq!(*kept.of(7, Time(100), || 0), 1, "100 is not longer than 100");
        assert_eq!(kept.len(), 2);
        assert_eq!(*kept.of(8, Time(151), || 10), 10, "101 is");
        assert_eq!(*kept.of(7, Time(201), || 20), 20);
        kept.forget(Time(1000));
        assert!(kept.is_empty() && kept.entries.is_empty());
    }

    proptest! {
        /// As a map of which each entry is looked at each time, whatever comes; and no more places than there ever were owners
        /// at one time.
        #[test]
        fn it_is_a_map_that_forgets(calls in prop::collection::vec((0u64..6, 0u64..60, 0u8..9), 1..200)) {
            let idle = Duration(100);
            let mut kept = Kept::new(Some(idle));
            let mut model: BTreeMap<u64, (Time, u32)> = BTreeMap::new();
            let (mut now, mut most) = (Time(0), 0);
            for (key, gap, what) in calls {
                now += Duration(gap);
                model.retain(|_, (last, _)| now.since(*last) <= idle);
                if what == 0 {
                    kept.forget(now);
                    kept.remove(key);
                    model.remove(&key);
                } else {
                    *kept.of(key, now, || 0) += u32::from(what);
                    let entry = model.entry(key).or_insert((now, 0));
                    *entry = (now, entry.1 + u32::from(what));
                }
                most = most.max(model.len());
                let expected: Vec<(u64, u32)> = model.iter().map(|(key, (_, n))| (*key, *n)).collect();
                let found: Vec<(u64, u32)> = kept.iter().map(|(key, n)| (key, *n)).collect();
                prop_assert_eq!(found, expected);
                prop_assert!(kept.entries.len() <= most);
            }
        }
    }
}
