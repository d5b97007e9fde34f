//! The receive window that an end tells: what of its buffer is free, silly windows avoided (RFC 1122 section 4.2.3.3), scaled
//! (RFC 7323 section 2).

use crate::Profile;
use crate::profile::WindowUpdate;

/// The largest shift (RFC 7323 section 2.3).
pub(super) const MOST: u8 = 14;

/// The largest window field.
const FIELD: u64 = 65_535;

/// The receive buffer of an end and what the other end knows of it.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    capacity: u64,
    /// One beyond the last byte that the other end may send, as announced; it never moves back.
    edge: u64,
    /// By how many bits announced windows are shifted.
    shift: u8,
    /// The other end knows the window scale option.
    pub(super) scales: bool,
    /// By how many bits the other end shifts what it tells.
    pub(super) other: u8,
    /// The announcement that counts for a sender: number, acknowledgement, window.
    pub(super) latest: Option<(u64, u64, u64)>,
}

impl Buffer {
    pub(super) fn new(profile: &Profile) -> Buffer {
        let most = if profile.window_scaling { FIELD << MOST } else { FIELD };
        let capacity = profile.max_window.min(most);
        let shift = (0..=MOST).find(|shift| capacity >> shift <= FIELD).unwrap_or(MOST);
        Buffer { capacity, edge: capacity.min(FIELD), shift, scales: false, other: 0, latest: None }
    }

    /// Window field and scale of a SYN: the window is unscaled (RFC 7323 section 2.2).
    pub(super) fn offer(&self) -> (u16, u8) {
        (self.capacity.min(FIELD) as u16, self.shift)
    }

    /// The other end does not know the option: neither end shifts (RFC 7323 section 2.2).
    pub(super) fn unscaled(&mut self) {
        self.shift = 0;
        self.capacity = self.capacity.min(FIELD);
    }

    /// One beyond the last byte that the other end may send.
    #[inline]
    pub(super) fn edge(&self) -> u64 {
        self.edge
    }

    /// By how much the edge may move when `read` bytes were read, as long as it is worth telling: a segment or half the buffer.
    fn worth(&self, read: u64, profile: &Profile) -> u64 {
        let room = (read + self.capacity).saturating_sub(self.edge);
        if room >= profile.mss.min(self.capacity / 2).max(1) { room } else { 0 }
    }

    /// The window that a segment tells, `next` being the next byte expected and `read` what the application has read. It is
    /// rounded up, so that scaling does not move the edge back (RFC 7323 section 2.4).
    pub(super) fn tell(&mut self, next: u64, read: u64, profile: &Profile) -> u16 {
        let edge = self.edge + self.worth(read, profile);
        let field = edge.saturating_sub(next).div_ceil(1 << self.shift).min(FIELD);
        self.edge = self.edge.max(next + (field << self.shift));
        field as u16
    }

    /// Whether the application has read so much that the window is announced at once.
    pub(super) fn wants_update(&self, next: u64, read: u64, profile: &Profile) -> bool {
        let room = self.worth(read, profile);
        let open = self.edge.saturating_sub(next);
        match profile.window_update {
            WindowUpdate::TwoSegments => room >= (2 * profile.mss).min(self.capacity / 2).max(1),
            WindowUpdate::Doubled => room > 0 && 2 * open <= self.capacity && open + room >= 2 * open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(max_window: u64) -> Profile {
        Profile { mss: 1000, max_window, ..Profile::rfc() }
    }

    /// RFC 1122 section 4.2.3.3: the edge stays until it can move by min(half the buffer, a segment).
    #[test]
    fn the_edge_moves_by_a_segment_at_least() {
        let p = profile(4000);
        let mut b = Buffer::new(&p);
        assert_eq!((b.offer(), b.edge()), ((4000, 0), 4000));
        assert_eq!(b.tell(3000, 0, &p), 1000);
        assert_eq!(b.tell(4000, 0, &p), 0);
        assert_eq!(b.tell(4000, 999, &p), 0);
        assert_eq!(b.tell(4000, 1000, &p), 1000);
        assert_eq!(b.edge(), 5000);
        // A buffer of a segment and a half: half of it is enough.
        let p = profile(1500);
        let mut b = Buffer::new(&p);
        assert_eq!((b.tell(1500, 749, &p), b.tell(1500, 750, &p)), (0, 750));
    }

    #[test]
    fn the_shift_is_the_least_that_will_do() {
        for (window, shift, field) in
            [(65_535, 0, 65_535), (65_536, 1, 65_535), (131_072, 2, 65_535), (1 << 30, 14, 65_535)]
        {
            assert_eq!(Buffer::new(&profile(window)).offer(), (field, shift), "{window}");
        }
        // Beyond what can be announced at all.
        let p = Profile::rfc();
        let mut b = Buffer::new(&p);
        assert_eq!(b.tell(0, 0, &p), 65_535);
        assert_eq!(b.edge(), 65_535 << 14);
        b.unscaled();
        assert_eq!((b.offer(), b.capacity), ((65_535, 0), 65_535));
    }

    #[test]
    fn what_is_announced_is_rounded_up() {
        let p = profile(200_000);
        let mut b = Buffer::new(&p); // shift 2
        assert_eq!(b.tell(1, 1, &p), 50_000);
        assert_eq!(b.edge(), 200_001);
        // 200 001 - 2 is no multiple of four: the edge goes up by one.
        assert_eq!(b.tell(2, 1, &p), 50_000);
        assert_eq!(b.edge(), 200_002);
    }

    /// 4.4BSD: two segments or half the buffer; Linux: twice what is open, where that is half the buffer at most.
    #[test]
    fn when_a_reader_tells_the_window_at_once() {
        let p = profile(8000);
        let mut b = Buffer::new(&p);
        b.tell(8000, 0, &p);
        assert!(!b.wants_update(8000, 1999, &p));
        assert!(b.wants_update(8000, 2000, &p));
        let p = Profile { window_update: WindowUpdate::Doubled, ..p };
        assert!(!b.wants_update(8000, 999, &p));
        assert!(b.wants_update(8000, 1000, &p));
        b.tell(8000, 3000, &p);
        assert!(!b.wants_update(8000, 5999, &p));
        assert!(b.wants_update(8000, 6000, &p));
        b.tell(8000, 5000, &p);
        assert!(!b.wants_update(8000, 8000, &p), "more than half is open");
    }
}
