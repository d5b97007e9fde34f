//! ConEx senders of a run: congestion and reports by user, and reports shared between a user's flows.

use std::collections::BTreeMap;

use evenflow_base::{End, Heap};
use evenflow_transport::Sender;
use evenflow_transport::exposure::{Cheat, Exposure, Leftover, Owed, Tally, Unbalanced, Volume};
use evenflow_transport::sender::Life;

/// The owner of debts whose flow is over.
const NOBODY: u32 = u32::MAX;

/// A party that makes reports for a flow: a user's machine, and an end of its paths.
type Party = (u32, usize);

/// Owed reports as whole millionths, so that the order in which they are added does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    loss: i64,
    ecn: i64,
}

impl Sum {
    const ONE: f64 = 1e6;

    /// Adds congestion to report.
    pub fn add(&mut self, owed: Owed) {
        self.loss += (owed.loss * Sum::ONE).round() as i64;
        self.ecn += (owed.ecn * Sum::ONE).round() as i64;
    }

    fn join(&mut self, other: Sum) {
        self.loss += other.loss;
        self.ecn += other.ecn;
    }

    /// In the unit of the gauges.
    pub fn owed(self) -> Owed {
        Owed { loss: self.loss as f64 / Sum::ONE, ecn: self.ecn as f64 / Sum::ONE }
    }
}

/// Totals of a user's ConEx senders, and their unreported congestion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Totals received and declared.
    pub tally: Tally,
    /// Still owed by flows that are not over, or waiting for the next one.
    pub owed: Sum,
    /// Left behind by flows that are over: less than zero where they had reported ahead.
    pub dropped: Sum,
}

impl Sums {
    /// Adds a sender whose flow has a place still. An upload that is over owes nothing any more but to the user's next flow.
    pub fn add(&mut self, sender: &Sender) {
        let Some(exposure) = sender.exposure() else { return };
        self.tally = combined(self.tally, exposure.tally(), |a, b| a + b);
        let owed = exposure.owed();
        if !is_over(sender) {
            return self.owed.add(owed);
        }
        let left = Owed { loss: owed.loss.max(0.0), ecn: owed.ecn.max(0.0) };
        match exposure.settings().leftover {
            Leftover::Carry => self.owed.add(left),
            Leftover::Drop => self.dropped.add(left),
        }
        self.dropped.add(owed.less(left));
    }

    /// Adds the totals of others.
    pub fn join(&mut self, other: &Sums) {
        self.tally = combined(self.tally, other.tally, |a, b| a + b);
        self.owed.join(other.owed);
        self.dropped.join(other.dropped);
    }

    /// The totals minus those `before`.
    pub fn since(mut self, before: &Tally) -> Sums {
        self.tally = combined(self.tally, *before, |a, b| a - b);
        self
    }

    /// Lost or marked bytes as the senders know them: their congestion volume (RFC 6789 section 2.2). A
    /// withdrawn loss may be from before the window.
    pub fn congestion(&self) -> Volume {
        let t = &self.tally;
        Volume {
            packets: (t.lost.packets + t.marked.packets).saturating_sub(t.needless.packets),
            bytes: (t.lost.bytes + t.marked.bytes).saturating_sub(t.needless.bytes),
        }
    }

    /// Reports of losses and marks.
    pub fn reports(&self) -> Volume {
        let t = &self.tally;
        Volume { packets: t.loss.packets + t.ecn.packets, bytes: t.loss.bytes + t.ecn.bytes }
    }
}

fn combined(a: Tally, b: Tally, with: fn(u64, u64) -> u64) -> Tally {
    let each =
        |a: Volume, b: Volume| Volume { packets: with(a.packets, b.packets), bytes: with(a.bytes, b.bytes) };
    Tally {
        lost: each(a.lost, b.lost),
        needless: each(a.needless, b.needless),
        marked: each(a.marked, b.marked),
        loss: each(a.loss, b.loss),
        ecn: each(a.ecn, b.ecn),
        credit: each(a.credit, b.credit),
        loss_lost: each(a.loss_lost, b.loss_lost),
        ecn_lost: each(a.ecn_lost, b.ecn_lost),
        credit_lost: each(a.credit_lost, b.credit_lost),
    }
}

/// The books of a run that has ConEx senders.
#[derive(Debug, Default)]
pub struct Conex {
    /// By user's machine: flows that are over.
    over: Vec<Sums>,
    /// By user's machine: what all its senders had been told and had said when the window opened.
    pub before: Vec<Tally>,
    /// Debts that the next flow takes over.
    next: BTreeMap<Party, Owed>,
    /// Debts that other flows take over as they send, and whose they are.
    elsewhere: BTreeMap<Party, Vec<(u32, Owed)>>,
    /// Connections of a machine's uploads that may leave something to a later flow.
    pub uploads: BTreeMap<u32, Vec<u32>>,
    /// Some sender leaves its debts to others: [`Conex::share`] must be called.
    pub shares: bool,
    /// The first sender whose books did not balance.
    fault: Option<Unbalanced>,
}

impl Conex {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let debts = self.elsewhere.values().map(Heap::heap_bytes).sum::<u64>();
        let uploads = self.uploads.values().map(Heap::heap_bytes).sum::<u64>();
        let maps = self.next.heap_bytes() + self.elsewhere.heap_bytes() + self.uploads.heap_bytes();
        self.over.heap_bytes() + self.before.heap_bytes() + maps + debts + uploads
    }

    /// Books for so many machines. `shares`: some sender leaves its debts to others.
    pub fn new(hosts: usize, shares: bool) -> Conex {
        Conex {
            shares,
            over: vec![Sums::default(); hosts],
            before: vec![Tally::default(); hosts],
            ..Conex::default()
        }
    }

    /// Totals of finished senders by user's machine, including reports that wait for the next flow.
    pub fn sums(&self) -> Vec<Sums> {
        let mut sums = self.over.clone();
        for ((host, _), owed) in &self.next {
            sums[*host as usize].owed.add(*owed);
        }
        for ((host, _), debts) in &self.elsewhere {
            debts.iter().for_each(|(_, owed)| sums[*host as usize].owed.add(*owed));
        }
        sums
    }

    /// A flow of a machine begins: it takes over what earlier ones left.
    pub fn begin(&mut self, host: u32, end: End, sender: &mut Sender) {
        let Some(exposure) = sender.exposure_mut() else { return };
        if exposure.settings().leftover == Leftover::Carry
            && let Some(owed) = self.next.remove(&(host, end.index()))
        {
            exposure.inherit(owed);
        }
    }

    /// A flow of a machine ends. Its unreported congestion goes to the next flow or is dropped, and its
    /// totals are added.
    pub fn end(&mut self, host: u32, end: End, flow: u32, sender: &mut Sender) {
        let party = (host, end.index());
        let Some(exposure) = sender.exposure_mut() else { return };
        let left = exposure.leave();
        let sums = &mut self.over[host as usize];
        if exposure.settings().leftover == Leftover::Drop {
            sums.dropped.add(left);
        } else if !left.is_nothing() {
            let next = self.next.entry(party).or_default();
            *next = next.plus(left);
        }
        // Reported ahead.
        sums.dropped.add(exposure.owed());
        sums.tally = combined(sums.tally, exposure.tally(), |a, b| a + b);
        if let Some(debts) = self.elsewhere.get_mut(&party) {
            debts.iter_mut().filter(|(owner, _)| *owner == flow).for_each(|(owner, _)| *owner = NOBODY);
        }
        self.check(sender);
    }

    /// An upload is over, as is seen when another flow of its machine begins. Its own books are kept until the end of the run.
    pub fn leave_upload(&mut self, host: u32, sender: &mut Sender) {
        if is_over(sender)
            && let Some(exposure) = sender.exposure_mut()
            && exposure.settings().leftover == Leftover::Carry
        {
            let left = exposure.leave();
            if !left.is_nothing() {
                let next = self.next.entry((host, End::Client.index())).or_default();
                *next = next.plus(left);
            }
        }
    }

    /// A flow of a machine has sent: what it leaves to others is put where they find it, and it takes over what they left.
    pub fn share(&mut self, host: u32, end: End, flow: u32, sender: &mut Sender) {
        let party = (host, end.index());
        let Some(exposure) = sender.exposure_mut() else { return };
        let leaves = exposure.settings().cheat == Cheat::Elsewhere;
        if !leaves && self.elsewhere.is_empty() {
            return;
        }
        if leaves {
            let owed = exposure.hand_over();
            if !owed.is_nothing() {
                let debts = self.elsewhere.entry(party).or_default();
                match debts.iter_mut().find(|(owner, _)| *owner == flow) {
                    Some((_, debt)) => *debt = debt.plus(owed),
                    None => debts.push((flow, owed)),
                }
            }
        }
        let Some(debts) = self.elsewhere.get_mut(&party) else { return };
        debts.retain(|(owner, owed)| {
            let own = *owner == flow;
            if !own {
                exposure.inherit(*owed);
            }
            own
        });
        if debts.is_empty() {
            self.elsewhere.remove(&party);
        }
    }

    /// Remembers the first sender whose books do not balance.
    fn check(&mut self, sender: &Sender) {
        if let Some(Err(fault)) = sender.exposure().map(Exposure::check) {
            self.fault.get_or_insert(fault);
        }
    }

    /// The first fault found, if any.
    pub fn fault(&self) -> Option<Unbalanced> {
        self.fault
    }
}

/// Whether a sender will send no more.
fn is_over(sender: &Sender) -> bool {
    matches!(sender.life(), Life::Done | Life::Dead)
}
