//! Receive windows as middleboxes read and write them. The window scale is known only from the SYNs of both
//! ends (RFC 7323 section 2.2).

use evenflow_base::options::Options;
use evenflow_base::schema::Way;
use evenflow_base::{Packet, flags};

/// The field for a window of `bytes` that is to be shifted by `shift`: whole units, at least one, at most what the field holds.
#[inline]
pub fn field(bytes: u64, shift: u8) -> u16 {
    (bytes >> shift).clamp(1, u64::from(u16::MAX)) as u16
}

/// Whether a segment tells a window: all do that acknowledge, or open.
#[inline]
pub fn tells(packet: &Packet) -> bool {
    !packet.is_datagram() && packet.flags & (flags::ACK | flags::SYN) != 0 && !packet.is(flags::RST)
}

/// Window scales in the SYNs of both ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scales {
    /// By direction: a scale, or none. `None`: no SYN was seen.
    of: [Option<Option<u8>>; 2],
}

impl Scales {
    /// Notes the scale that a SYN announces. Of other segments gives by how much windows of their sender are shifted. `None`: the
    /// window stays as it is, for it is a SYN's, which is not shifted, or the SYNs have not been seen.
    #[inline]
    pub fn shift(&mut self, packet: &Packet, way: Way, options: &Options) -> Option<u8> {
        if packet.is(flags::SYN) {
            self.of[way as usize] = Some(options.of(packet).scale);
            return None;
        }
        match self.of {
            [Some(Some(_)), Some(Some(_))] => self.of[way as usize].flatten(),
            [Some(_), Some(_)] => Some(0),
            _ => None,
        }
    }
}

/// Writes a window's field. Says whether it changed.
pub fn write(packet: &mut Packet, options: &mut Options, field: u16) -> bool {
    let changes = options.of(packet).window != Some(field);
    if changes {
        options.attach(packet).window = Some(field);
    }
    changes
}

/// Writes a window's field where it is more; a window that is not announced is no limit. Says whether it changed.
pub fn lower(packet: &mut Packet, options: &mut Options, field: u16) -> bool {
    let announced = options.of(packet).window.unwrap_or(u16::MAX);
    write(packet, options, field.min(announced))
}
