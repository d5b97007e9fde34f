//! The SACK option of an ACK (RFC 2018, RFC 2883), outside the packet: packets stay small, and few ACKs have one.

/// Blocks that fit beside a timestamp option (RFC 2018 section 3).
pub const BLOCKS: usize = 3;

/// Up to three blocks `[from, to)`. The first may be a duplicate report (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    blocks: [(u64, u64); BLOCKS],
    count: u8,
}

impl Report {
    /// The report of an ACK without the option.
    pub const NONE: &'static Report = &Report { blocks: [(0, 0); BLOCKS], count: 0 };

    /// Adds a block; a fourth does not fit and is left out.
    pub fn push(&mut self, block: (u64, u64)) {
        if usize::from(self.count) < BLOCKS {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
    }

    /// The blocks, the most recent first.
    #[inline]
    pub fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Reports on their way, by place. Places are used again, so that nothing is allocated once enough of them exist.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    places: Vec<Report>,
    free: Vec<u32>,
}

impl Reports {
    /// Keeps `report` and gives its place, which is never 0.
    pub fn keep(&mut self, report: Report) -> u64 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = report;
                u64::from(place) + 1
            }
            None => {
                self.places.push(report);
                self.places.len() as u64
            }
        }
    }

    /// Gives up `place`, which is not 0.
    #[inline]
    pub fn take(&mut self, place: u64) -> Report {
        self.free.push(place as u32 - 1);
        self.places[place as usize - 1]
    }

    /// Reports that are kept now.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut reports = Reports::default();
        let mut one = Report::default();
        one.push((5, 9));
        let first = reports.keep(one);
        let second = reports.keep(Report::default());
        assert_eq!((first, second, reports.len()), (1, 2, 2));
        assert_eq!(reports.take(first).blocks(), [(5, 9)]);
        assert_eq!(reports.keep(one), first);
        assert_eq!(reports.len(), 2);
    }

    #[test]
    fn a_fourth_block_does_not_fit() {
        let mut report = Report::default();
        for n in 0..4 {
            report.push((n, n + 1));
        }
        assert_eq!(report.blocks(), [(0, 1), (1, 2), (2, 3)]);
    }
}
