//! The ACK filter: which waiting ACK an arriving packet of the same flow makes redundant.

use std::collections::VecDeque;

use evenflow_base::options::Report;
use evenflow_base::{Packet, flags};

use crate::held::{FlowTable, Queued};

/// The flags whose changes carry information.
const ECN: u8 = flags::ECE | flags::CWR;

/// The next byte expected that a packet acknowledges.
fn acknowledged(packet: &Packet, flows: &dyn FlowTable) -> u64 {
    let options = flows.options(packet);
    if packet.payload == 0 { options.number(packet) } else { options.ack }
}

/// Whether `new` reports more than `old`, an ACK of `ack`; `None`: `old` reports something that `new` lacks.
fn reports_more(old: &Report, ack: u64, new: &Report) -> Option<bool> {
    let covered = |&(from, to): &(u64, u64)| {
        // A duplicate report (RFC 2883) is never redundant.
        from >= ack && new.blocks().iter().any(|block| block.0 <= from && to <= block.1)
    };
    let bytes = |report: &Report| report.blocks().iter().map(|(from, to)| to - from).sum::<u64>();
    old.blocks().iter().all(covered).then(|| bytes(new) > bytes(old))
}

/// Whether `old` is a pure ACK, says nothing that `new` does not say, and `new` says more.
fn covers(new: &Packet, old: &Packet, flows: &dyn FlowTable) -> bool {
    if old.payload > 0 || old.flags & !ECN != flags::ACK {
        return false;
    }
    let (before, after) = (flows.options(old), flows.options(new));
    let later = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
    let timed = new.payload == 0 && (later(old.stamp, new.stamp) || later(before.ts_val, after.ts_val));
    if timed || before.accurate.is_some() {
        return false;
    }
    let (old_ack, new_ack) = (acknowledged(old, flows), acknowledged(new, flows));
    let more = reports_more(&before.report, old_ack, &after.report);
    old_ack <= new_ack && more.is_some_and(|more| more || old_ack < new_ack)
}

/// The place in its queue of the ACK to drop, now that `new` arrives behind the others. One covered ACK
/// stays, except in the mode `aggressive`.
pub(super) fn redundant(
    queue: &VecDeque<Queued>,
    new: &Packet,
    flows: &dyn FlowTable,
    aggressive: bool,
) -> Option<usize> {
    if new.is_datagram() || new.flags & (flags::ACK | flags::SYN) != flags::ACK {
        return None;
    }
    let mut oldest: Option<(usize, u8)> = None;
    let mut found = 0;
    for (place, Queued { packet, .. }) in queue.iter().enumerate() {
        if packet.flow != new.flow || packet.is_backward() != new.is_backward() || packet.is_datagram() {
            continue;
        }
        let ecn = packet.flags & ECN;
        if oldest.is_some_and(|(_, own)| own != ecn) {
            // The change must arrive.
            oldest = None;
            found -= 1;
        }
        if !covers(new, packet, flows) {
            continue;
        }
        let (first, _) = *oldest.get_or_insert((place, ecn));
        found += 1;
        if found > 1 {
            return Some(first);
        }
    }
    let (place, ecn) = oldest.filter(|_| aggressive)?;
    (place + 1 == queue.len() && ecn == new.flags & ECN).then_some(place)
}

#[cfg(test)]
mod tests {
    use evenflow_base::{Options, Time};

    use super::*;

    struct Table(Options);

    impl FlowTable for Table {
        fn hosts(&self, _packet: &Packet) -> (u32, u32) {
            (0, 0)
        }

        fn dscp(&self, _packet: &Packet) -> u8 {
            0
        }

        fn options(&self, packet: &Packet) -> &evenflow_base::Carried {
            self.0.of(packet)
        }
    }

    fn ack(table: &mut Table, number: u64, flags: u8, blocks: &[(u64, u64)]) -> Packet {
        let mut packet = Packet { seq: number, flags: flags | flags::ACK, ..Packet::new(3, 52, 0) };
        if !blocks.is_empty() {
            let report = &mut table.0.attach(&mut packet).report;
            blocks.iter().for_each(|block| report.push(*block));
        }
        packet
    }

    /// Number, flags and SACK blocks.
    type Ack<'a> = (u64, u8, &'a [(u64, u64)]);

    /// The ACK that a filter drops when the last of `acks` arrives.
    fn dropped(acks: &[Ack], aggressive: bool) -> Option<usize> {
        let mut table = Table(Options::default());
        let mut packets: VecDeque<Queued> = acks
            .iter()
            .map(|&(number, flags, blocks)| Queued {
                packet: ack(&mut table, number, flags, blocks),
                at: Time(0),
            })
            .collect();
        let new = packets.pop_back().unwrap().packet;
        redundant(&packets, &new, &table, aggressive)
    }

    #[test]
    fn one_covered_ack_stays_unless_aggressive() {
        assert_eq!(dropped(&[(1, 0, &[])], true), None);
        assert_eq!(dropped(&[(1, 0, &[]), (2, 0, &[])], false), None);
        assert_eq!(dropped(&[(1, 0, &[]), (2, 0, &[])], true), Some(0));
        assert_eq!(dropped(&[(1, 0, &[]), (2, 0, &[]), (3, 0, &[])], false), Some(0));
    }

    #[test]
    fn duplicate_acks_stay() {
        assert_eq!(dropped(&[(5, 0, &[]), (5, 0, &[]), (5, 0, &[])], true), None);
        assert_eq!(dropped(&[(7, 0, &[]), (6, 0, &[]), (5, 0, &[])], true), None, "none goes back");
    }

    #[test]
    fn a_change_of_ece_stays() {
        let ece = flags::ECE;
        assert_eq!(dropped(&[(1, 0, &[]), (2, ece, &[]), (3, ece, &[])], true), Some(1));
        assert_eq!(dropped(&[(1, 0, &[]), (2, ece, &[]), (3, 0, &[])], true), None);
        assert_eq!(dropped(&[(1, ece, &[]), (2, ece, &[]), (3, ece, &[])], false), Some(0));
        // Neither SYNs, FINs nor ACKs with AE are dropped.
        for flag in [flags::SYN, flags::FIN, flags::RST, flags::PUSH, flags::AE] {
            assert_eq!(dropped(&[(1, flag, &[]), (2, 0, &[])], true), None);
        }
    }

    #[test]
    fn sack_blocks_must_be_covered() {
        let drop =
            |old: &[(u64, u64)], new: &[(u64, u64)]| dropped(&[(5, 0, old), (5, 0, new)], true).is_some();
        assert!(drop(&[(10, 20)], &[(10, 30)]) && drop(&[(10, 20)], &[(40, 50), (10, 20)]));
        assert!(drop(&[], &[(10, 20)]), "the newer one reports more");
        assert!(
            !drop(&[(10, 20)], &[(10, 20)]) && !drop(&[(10, 20)], &[(15, 60)]) && !drop(&[(10, 20)], &[])
        );
        assert!(!drop(&[(10, 30)], &[(10, 20), (20, 60)]), "one block must cover it");
        assert!(!drop(&[(2, 4)], &[(2, 4), (10, 20)]), "a duplicate report");
    }
}
