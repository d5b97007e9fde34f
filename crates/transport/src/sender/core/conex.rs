//! The sender as a ConEx sender: passes congestion to the gauges ([`crate::exposure`]) and their declarations
//! onto data packets.
//!
//! Over IPv4 the ECN field of a data packet is that of its code, usually ECT(1). A packet that is not
//! ECN-capable is not a ConEx packet. Over IPv6 the two are independent. Pure ACKs, SYNs, a FIN alone and
//! window probes declare nothing (RFC 7786 section 4; draft-briscoe-conex-re-ecn-tcp-04 section 6.1.7).

use evenflow_base::{Duration, Report, Time, packet};

use crate::Profile;
use crate::exposure::{Encoding, Exposure, Leaving, Unit};
use crate::profile::Ecn;

use super::{Context, Core};

/// A ConEx sender.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Exposed {
    pub(in crate::sender) exposure: Exposure,
    /// Its connection is one of ConEx: over IPv4 not where ECN was asked for and refused.
    speaks: bool,
    /// The last ACK carried ECE.
    pub(in crate::sender) echoing: bool,
    /// Re-ECN's unlimited counter in the last ACK.
    pub(in crate::sender) shown: u16,
}

impl Exposed {
    /// Its own bytes and those that it has on the heap.
    pub(in crate::sender) fn heap_bytes(&self) -> u64 {
        size_of::<Exposed>() as u64 + self.exposure.heap_bytes()
    }

    pub(in crate::sender) fn new(profile: &Profile) -> Option<Box<Exposed>> {
        let exposure = Exposure::new(profile.conex?);
        Some(Box::new(Exposed { exposure, speaks: false, echoing: false, shown: 0 }))
    }
}

impl Core {
    /// The handshake has settled on `mode`. A loss-only sender over IPv4, which never asked for ECN, says
    /// ECT(1) all the same: the codes have no other (Sanhaji et al. 2015 table I).
    pub(in crate::sender) fn expose(&mut self, mode: Ecn, profile: &Profile) {
        if let Some(exposed) = &mut self.exposed {
            let refused = mode == Ecn::Off && profile.ecn != Ecn::Off;
            exposed.speaks = exposed.exposure.settings().encoding == Encoding::Ipv6 || !refused;
        }
    }

    fn rtt(&self) -> Duration {
        self.rtt.smoothed().unwrap_or(Duration::ZERO)
    }

    /// The ConEx signals of a data packet that begins at `seq`, as bits of the IP header with or in place of
    /// `field`.
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn say(
        &mut self,
        seq: u64,
        payload: u64,
        again: bool,
        field: u8,
        flight: f64,
        x: &Context,
    ) -> u8 {
        let (now, profile) = (x.now, x.profile);
        let data = payload - u64::from(self.carries_fin(seq + payload));
        if data == 0 {
            return field;
        }
        let rtt = self.rtt();
        let una = self.una;
        let (acked, slow_start) =
            (una as f64 / profile.segment(), self.window().cwnd < self.window().ssthresh);
        let Some(Exposed { exposure, speaks: true, .. }) = self.exposed.as_deref_mut() else { return field };
        let bytes = (data + profile.header) as u16;
        if again {
            exposure.retransmitted((seq, seq + data), bytes, now, rtt);
        }
        let ipv4 = exposure.settings().encoding == Encoding::Ipv4;
        if ipv4 && again && !profile.ecn_on_retransmissions {
            return field;
        }
        let segments = flight / profile.segment();
        let flight = match exposure.settings().unit {
            Unit::Packets => segments,
            Unit::Bytes => flight + segments * profile.header as f64,
        };
        let says = exposure.report(&Leaving { seq, una, bytes, flight, acked, slow_start, now });
        match ipv4 {
            _ if !says.capable => field,
            true => packet::bits_of(says).unwrap_or(field),
            false => field | packet::option_bits_of(says),
        }
    }

    /// An ACK that newly delivers `bytes` bytes of data reports `marks`; `reduced`: it reduced the window.
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn hear_marks(
        &mut self,
        marks: u32,
        reduced: bool,
        bytes: u64,
        now: Time,
        profile: &Profile,
    ) {
        let (rtt, mode) = (self.rtt(), self.marks.mode);
        // Classic feedback repeats itself: one mark for each answer to it (RFC 3168 section 6.1.3; Sanhaji et
        // al. 2015, section III-E).
        let episodes = mode == Ecn::Classic && !self.needs.every_mark;
        let rises =
            !self.exposed.as_mut().is_some_and(|exposed| std::mem::replace(&mut exposed.echoing, true));
        let packets = match episodes {
            // Re-ECN's compatibility mode: one for each rise of ECE (draft-briscoe-conex-re-ecn-tcp-04
            // section 6.1.4).
            true if profile.ecn.is_re_ecn() => u32::from(rises),
            true => u32::from(reduced),
            false => marks,
        };
        if packets == 0 {
            return;
        }
        // min(SMSS D, DeliveredData), with the headers (RFC 7786 section 3.2).
        let data = match mode {
            Ecn::Classic => profile.mss,
            _ => (profile.mss * u64::from(packets)).min(bytes),
        };
        let all = data + profile.header * u64::from(packets);
        if let Some(exposure) = self.exposed.as_mut().map(|exposed| &mut exposed.exposure) {
            exposure.marked(packets, all, now, rtt);
        }
    }

    /// The SYN arrived marked: it is declared like any other packet.
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn hear_marked_syn(&mut self, now: Time, profile: &Profile) {
        let rtt = self.rtt();
        if let Some(exposure) = self.exposed.as_mut().map(|exposed| &mut exposed.exposure) {
            exposure.marked(1, profile.header, now, rtt);
        }
    }

    /// Reads the SACK option of an ACK up to `ack`. A first block below `ack` or inside the second reports a
    /// duplicate (RFC 2883 section 4), hence a spurious retransmission (RFC 7786 section 3.1).
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn hear_report(&mut self, ack: u64, report: &Report, profile: &Profile) {
        let Some(((from, to), others)) = report.blocks().split_first() else { return };
        let inside = others.first().is_some_and(|second| second.0 <= *from && *to <= second.1);
        if from < to
            && (*to <= ack || inside)
            && let Some(exposure) = self.exposed.as_mut().map(|exposed| &mut exposed.exposure)
        {
            exposure.needless(u16::try_from(to - from + profile.header).unwrap_or(u16::MAX));
        }
    }
}
