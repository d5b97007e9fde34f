//! Both ends of a connection: data both ways, ACKs that ride on it, closing and breaking off (RFC 9293
//! sections 3.5, 3.6, 3.10).
//!
//! A one-way connection is a [`Sender`] and a [`Receiver`]: one direction, all of its data known from the
//! start, no FIN. Where an application talks, each end also knows the state of the other ([`Tail`]). The
//! half on which the server sends is made when it is needed. Loss recovery and acknowledgements are those
//! two's; here their segments are put together and taken apart. A FIN takes a sequence number: inside, it is
//! one byte more of the stream.
//!
//! Not here: urgent data, simultaneous open, security and precedence.

mod arrival;
mod buffer;
mod calls;
mod state;

use evenflow_base::{Carried, Duration, End, Options, Packet, Time, flags, ip};

use crate::ecn::option::Test;
use crate::exposure::Cheat;
use crate::profile::{Ecn, Handshake};
use crate::{CongestionControl, Profile, Receiver, Segment, Sender};

use buffer::Buffer;
pub use state::{Notice, State};

/// A connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The client's sender.
    pub sender: Sender,
    /// The server's receiver of that data.
    pub receiver: Receiver,
    talk: Option<Box<Talk>>,
    carries: Carries,
}

/// Options in a connection's packets, by its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Nothing.
    Nothing,
    /// ACKs carry SACK blocks.
    Sack,
    /// Any packet may carry any option.
    Options,
}

impl Carries {
    /// Whether [`Connection::attach`] has to be called for a segment.
    #[inline(always)]
    pub fn is_asked_for(self, segment: &Segment) -> bool {
        self != Carries::Nothing && (self == Carries::Options || segment.flags & flags::ACK != 0)
    }
}

/// State of a connection with applications.
#[derive(Clone, Debug)]
struct Talk {
    tails: [Tail; 2],
    /// The other direction.
    back: Option<Box<Back>>,
    /// The room of the last connection's.
    spare: Option<Box<Back>>,
}

/// The half on which the server sends and the client receives.
#[derive(Clone, Debug)]
struct Back {
    sender: Sender,
    receiver: Receiver,
}

/// State of an end apart from its sender and receiver.
#[derive(Clone, Debug)]
struct Tail {
    state: State,
    /// Timer of a SYN-ACK, of a FIN without a sender, or of TIME-WAIT.
    timer: Time,
    /// How often that SYN-ACK or FIN was sent, and the wait for the next.
    tries: u32,
    wait: Duration,
    handshake: RoundTrip,
    /// The flags of the answer to a SYN.
    answer: u8,
    opening: Opening,
    /// The application closed before the connection was open.
    closing: bool,
    /// A write was not taken whole.
    blocked: bool,
    /// The application reads by itself.
    paced: bool,
    /// The number of the other end's FIN; [`NO_FIN`]: none has come.
    fin: u64,
    /// The other end's close was passed on to the application.
    peer_closed: bool,
    /// Bytes in order that were announced to the application, and those of them that were read.
    delivered: u64,
    read: u64,
    /// The receive window, where it is announced.
    buffer: Option<Box<Buffer>>,
    /// When data last came, and its timestamp.
    came: Time,
    echo: u32,
    /// The end answers before its ACKs are due: ACKs wait for data to carry them.
    interactive: bool,
}

/// Beyond every number.
const NO_FIN: u64 = u64::MAX;

/// The ECN field of the SYN-ACK, as the client saw it and the server learned (accurate ECN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Unmarked,
    Marked,
    /// The client's ACK had 000: the server does not use its feedback.
    Zeroed,
}

/// The measurement of a handshake's round-trip time.
#[derive(Clone, Copy, Debug)]
enum RoundTrip {
    Unknown,
    /// The SYN was answered then.
    Since(Time),
    Took(Duration),
}

impl Tail {
    fn new() -> Tail {
        Tail {
            state: State::Closed,
            timer: Time::NEVER,
            tries: 0,
            wait: Duration::ZERO,
            handshake: RoundTrip::Unknown,
            answer: 0,
            opening: Opening::Unmarked,
            closing: false,
            blocked: false,
            paced: false,
            fin: NO_FIN,
            peer_closed: false,
            delivered: 0,
            read: 0,
            buffer: None,
            came: Time::ZERO,
            echo: 0,
            interactive: false,
        }
    }

    /// The round-trip time of the handshake, where it is known.
    fn rtt(&self) -> Option<Duration> {
        match self.handshake {
            RoundTrip::Took(time) => Some(time),
            RoundTrip::Unknown | RoundTrip::Since(_) => None,
        }
    }
}

/// Whether a segment takes sequence numbers: it holds data or a FIN.
#[inline]
fn holds(segment: &Segment) -> bool {
    segment.payload > 0 || segment.flags & flags::FIN != 0
}

/// A call of a connection: its instant and profile, and where its effects go.
#[derive(Debug)]
pub struct Outlet<'a> {
    /// When.
    pub now: Time,
    /// The connection's profile.
    pub profile: &'a Profile,
    /// Segments to send.
    pub out: &'a mut Vec<Segment>,
    /// Notices for the application.
    pub notices: &'a mut Vec<Notice>,
}

impl Connection {
    /// Bytes that it holds beside itself.
    pub fn heap_bytes(&self) -> u64 {
        let both = |sender: &Sender, receiver: &Receiver| sender.heap_bytes() + receiver.heap_bytes();
        let half = |half: &Back| size_of::<Back>() as u64 + both(&half.sender, &half.receiver);
        let talk = |talk: &Talk| {
            let buffers =
                talk.tails.iter().filter(|tail| tail.buffer.is_some()).count() * size_of::<Buffer>();
            let halves = [&talk.back, &talk.spare].into_iter().flatten().map(|back| half(back)).sum::<u64>();
            (size_of::<Talk>() + buffers) as u64 + halves
        };
        both(&self.sender, &self.receiver) + self.talk.as_deref().map_or(0, talk)
    }

    /// A one-way connection: `size` bytes (`None`: endless) from client to server. The client is notified of
    /// the end.
    pub fn one_way(profile: &Profile, control: CongestionControl, size: Option<u64>) -> Connection {
        let renumbers = profile.conex.is_some_and(|conex| conex.cheat == Cheat::Renumber);
        let more = renumbers || profile.ecn == Ecn::ReEcnUnlimited || profile.accurate_ecn_option;
        let carries = match more || control.needs().one_way_delay {
            true => Carries::Options,
            false if profile.sack => Carries::Sack,
            false => Carries::Nothing,
        };
        Connection {
            sender: Sender::new(profile, control, size),
            receiver: Receiver::new(profile),
            talk: None,
            carries,
        }
    }

    /// A connection over which applications talk. Nothing has been written yet.
    pub fn talking(profile: &Profile, control: CongestionControl) -> Connection {
        let mut connection = Connection::one_way(profile, control, Some(0));
        connection.sender.talk(profile);
        connection.carries = Carries::Options;
        connection.talk = Some(Box::new(Talk { tails: [Tail::new(), Tail::new()], back: None, spare: None }));
        connection
    }

    /// As [`Connection::talking`], in the room of a connection that is over.
    pub fn renew(&mut self, profile: &Profile, control: CongestionControl) {
        self.sender.renew(profile, control);
        self.receiver.renew(profile);
        if let Some(talk) = &mut self.talk {
            talk.tails = [Tail::new(), Tail::new()];
            talk.spare = talk.back.take().or(talk.spare.take());
        }
    }

    /// The options in its packets.
    pub fn carries(&self) -> Carries {
        self.carries
    }

    /// Whether applications talk over it.
    #[inline]
    pub fn talks(&self) -> bool {
        self.talk.is_some()
    }

    /// Makes the half on which the server sends. Before that it cannot write; it can close.
    pub fn equip(&mut self, control: CongestionControl, now: Time, profile: &Profile) {
        let Some(talk) = self.talk.as_mut().filter(|talk| talk.back.is_none()) else { return };
        let mut back = match talk.spare.take() {
            Some(mut back) => {
                back.sender.renew(profile, control);
                back.receiver.renew(profile);
                back
            }
            None => {
                let mut sender = Sender::new(profile, control, Some(0));
                sender.talk(profile);
                Box::new(Back { sender, receiver: Receiver::new(profile) })
            }
        };
        back.receiver.settle(self.sender.ecn());
        if talk.tails[End::Client.index()].opening == Opening::Marked {
            back.receiver.count_mark();
        }
        talk.back = Some(back);
        if self.state(End::Server).is_synchronized() {
            self.accept(now, profile, &mut Vec::new());
        }
    }

    /// The server's half is there.
    pub fn is_equipped(&self) -> bool {
        self.talk.as_ref().is_some_and(|talk| talk.back.is_some())
    }

    /// The handshake of the server's half is over.
    fn accept(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let (mut mode, barred) = (self.receiver.ecn(), self.receiver.is_barred());
        let client = self.sender.ecn();
        let Some(talk) = &mut self.talk else { return };
        let tail = &talk.tails[End::Server.index()];
        let marked = tail.opening == Opening::Marked;
        if tail.opening == Opening::Zeroed {
            mode = Ecn::Off;
        }
        let (rtt, lost, latest) =
            (tail.rtt(), tail.tries > 1, tail.buffer.as_ref().and_then(|buffer| buffer.latest));
        let Some(back) = &mut talk.back else { return };
        if let Some((seq, ack, window)) = latest {
            back.sender.window_told(seq, ack, window);
        }
        back.receiver.settle(client);
        if mode == Ecn::Accurate {
            back.sender.note_handshake(marked, barred);
        }
        back.sender.accept(mode, rtt, lost, now, profile, out);
        back.sender.persist(now, profile);
    }

    /// Lets every segment advertise its end's receive window, because a component on the path may rewrite it.
    /// Call it before the connection opens.
    pub fn tell_windows(&mut self, profile: &Profile) {
        let Some(talk) = &mut self.talk else { return };
        for tail in &mut talk.tails {
            tail.buffer.get_or_insert_with(|| Box::new(Buffer::new(profile)));
        }
    }

    /// The application at `end` empties its receive buffer by [`Connection::read`]; otherwise it reads at once. To be called
    /// before it opens.
    pub fn pace(&mut self, end: End, profile: &Profile) {
        self.tell_windows(profile);
        if let Some(talk) = &mut self.talk {
            talk.tails[end.index()].paced = true;
        }
    }

    /// The state of `end`. A one-way connection knows none: CLOSED.
    pub fn state(&self, end: End) -> State {
        self.talk.as_ref().map_or(State::Closed, |talk| talk.tails[end.index()].state)
    }

    /// The sender of `end`; `None`: a server that never wrote.
    #[inline]
    pub fn half(&self, end: End) -> Option<&Sender> {
        match end {
            End::Client => Some(&self.sender),
            End::Server => Some(&self.talk.as_ref()?.back.as_ref()?.sender),
        }
    }

    /// The senders of both ends, if they exist.
    pub fn senders(&self) -> impl Iterator<Item = &Sender> {
        End::BOTH.into_iter().filter_map(|end| self.half(end))
    }

    /// Bytes of the application that came to `end` in order.
    pub fn received(&self, end: End) -> u64 {
        match &self.talk {
            Some(talk) => talk.tails[end.index()].delivered,
            None if end == End::Server => self.receiver.delivered(),
            None => 0,
        }
    }

    /// Bytes in order at `end` that its application has not read.
    pub fn unread(&self, end: End) -> u64 {
        self.talk.as_ref().map_or(0, |talk| {
            let tail = &talk.tails[end.index()];
            tail.delivered - tail.read
        })
    }

    /// Bytes that the application at `end` wrote and that were not handed to the one at the other end.
    pub fn buffered(&self, end: End) -> u64 {
        let Some(talk) = &self.talk else { return 0 };
        self.half(end).map_or(0, Sender::written).saturating_sub(talk.tails[end.other().index()].read)
    }

    /// Whether the connection is finished: each end is closed, or in TIME-WAIT for a closed end, and all data
    /// was read.
    pub fn is_over(&self) -> bool {
        let Some(talk) = &self.talk else { return false };
        let [client, server] = &talk.tails;
        let gone = client.state.is_over() && (server.state.is_over() || server.state == State::Listen);
        gone && talk.tails.iter().all(|tail| tail.delivered == tail.read)
    }

    /// When [`Connection::wake`] wants to be called for `end`.
    #[inline]
    pub fn deadline(&self, end: End) -> Time {
        let own = match end {
            End::Client => self.sender.deadline(),
            End::Server => self.receiver.deadline(),
        };
        let Some(talk) = &self.talk else { return own };
        let back = talk.back.as_ref().map_or(Time::NEVER, |back| match end {
            End::Client => back.receiver.deadline(),
            End::Server => back.sender.deadline(),
        });
        own.min(back).min(talk.tails[end.index()].timer)
    }

    /// Attaches a segment's options to `packet`. Call it after each call of the connection, once per segment.
    #[inline(always)]
    pub fn attach(
        &mut self,
        segment: &Segment,
        packet: &mut Packet,
        options: &mut Options,
        now: Time,
        profile: &Profile,
    ) {
        let end = if segment.is_backward() { End::Server } else { End::Client };
        if segment.flags & (flags::ACK | flags::SYN | flags::RST) == flags::ACK
            && profile.sack
            && let Some(receiver) = self.incoming(end)
            && receiver.reports()
        {
            receiver.report(&mut options.attach(packet).report);
        }
        if self.carries == Carries::Options {
            self.attach_options(end, segment, packet, options, now, profile);
        }
    }

    /// Counts of marks, the other number, the clock, the receive window; not SACK blocks.
    #[inline(never)]
    fn attach_options(
        &mut self,
        end: End,
        segment: &Segment,
        packet: &mut Packet,
        options: &mut Options,
        now: Time,
        profile: &Profile,
    ) {
        let resets = segment.flags & flags::RST != 0;
        let acknowledges = segment.flags & flags::ACK != 0 && !resets;
        if acknowledges
            && profile.ecn == Ecn::ReEcnUnlimited
            && let Some(receiver) = self.incoming(end)
        {
            options.attach(packet).marked = receiver.marked();
        }
        if acknowledges && holds(segment) {
            let expected = self.expected(end);
            let carried = options.attach(packet);
            (carried.ack, carried.ts_val) = (expected, profile.clock_at(now));
        } else if acknowledges
            && self.half(end.other()).is_some_and(|half| half.control().needs().one_way_delay)
        {
            options.attach(packet).ts_val = profile.clock_at(now);
        }
        if segment.payload > 0
            && let Some(exposure) = self.outgoing(end).and_then(Sender::exposure_mut)
            && exposure.settings().cheat == Cheat::Renumber
        {
            options.attach(packet).shown = Some(exposure.number(segment.payload));
        }
        if acknowledges && profile.accurate_ecn_option {
            self.attach_counts(end, segment, packet, options);
        }
        if self.talks() && self.tail(end).buffer.is_some() && !resets {
            self.attach_window(end, segment, options.attach(packet), now, profile);
        }
    }

    /// The AccECN option of a segment that acknowledges. It may replace the third SACK block.
    #[inline(never)]
    fn attach_counts(&mut self, end: End, segment: &Segment, packet: &mut Packet, options: &mut Options) {
        let Some(counts) = self.incoming(end).and_then(Receiver::counts_mut) else { return };
        let test = match (segment.flags & flags::SYN != 0, end) {
            (true, _) => Test::SynAck,
            (false, End::Client) if !holds(segment) => Test::Ack,
            (false, End::Client) if !segment.again => Test::Data,
            _ => Test::None,
        };
        let blocks = options.of(packet).report.blocks().len();
        if let Some((option, stay)) = counts.write(test, blocks) {
            let carried = options.attach(packet);
            carried.accurate = Some(option);
            carried.report.truncate(stay);
        }
    }

    /// The receive window that a segment tells.
    #[inline(never)]
    fn attach_window(
        &mut self,
        end: End,
        segment: &Segment,
        carried: &mut Carried,
        now: Time,
        profile: &Profile,
    ) {
        if segment.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK {
            // A packet that echoes a timestamp; components on the path that measure round trips need its own
            // too.
            carried.ts_val = profile.clock_at(now);
        }
        let (expected, sent) = (self.expected(end), self.sent(end));
        let tail = self.tail(end);
        let read = tail.read;
        let Some(buffer) = &mut tail.buffer else { return };
        if segment.flags & flags::SYN != 0 {
            let (window, shift) = buffer.offer();
            let scales = profile.window_scaling && (segment.flags & flags::ACK == 0 || buffer.scales);
            (carried.window, carried.scale) = (Some(window), scales.then_some(shift));
        } else {
            carried.window = Some(buffer.tell(expected, read, profile));
            if !holds(segment) {
                // A probe is numbered before what is unacknowledged.
                carried.own = if segment.again { sent.0.wrapping_sub(1) } else { sent.1 };
            }
        }
    }

    fn tail(&mut self, end: End) -> &mut Tail {
        &mut self.talk.as_mut().expect("applications use it").tails[end.index()]
    }

    /// The sender of `end`.
    #[inline]
    pub fn outgoing(&mut self, end: End) -> Option<&mut Sender> {
        match end {
            End::Client => Some(&mut self.sender),
            End::Server => Some(&mut self.talk.as_mut()?.back.as_mut()?.sender),
        }
    }

    /// The receiver of `end`.
    #[inline]
    fn incoming(&mut self, end: End) -> Option<&mut Receiver> {
        match end {
            End::Client => Some(&mut self.talk.as_mut()?.back.as_mut()?.receiver),
            End::Server => Some(&mut self.receiver),
        }
    }

    /// RCV.NXT of `end`.
    fn expected(&mut self, end: End) -> u64 {
        match self.incoming(end) {
            Some(receiver) => receiver.delivered(),
            None => u64::from(self.tail(end).fin == 0),
        }
    }

    /// SND.UNA and SND.NXT of `end`.
    fn sent(&mut self, end: End) -> (u64, u64) {
        if let Some(sender) = self.outgoing(end) {
            return sender.numbers();
        }
        use State::*;
        // A server without a sender sends nothing but its FIN.
        match self.tail(end).state {
            FinWait1 | Closing | LastAck => (0, 1),
            FinWait2 | TimeWait => (1, 1),
            _ => (0, 0),
        }
    }

    /// Completes the new segments of `end` from index `from`: the FIN flag, an ACK on data, the server's
    /// direction.
    #[inline]
    fn dress(&mut self, end: End, from: usize, to: &mut Outlet) {
        if to.out.len() > from {
            self.dress_segments(end, from, to);
        }
    }

    #[inline(never)]
    fn dress_segments(&mut self, end: End, from: usize, to: &mut Outlet) {
        if to.out[from..].iter().any(holds) {
            self.ride(end, from, to);
        }
        let control = match end {
            End::Client => {
                let capable = self.sender.ecn() != Ecn::Off && !self.sender.is_barred();
                to.profile.ect_where(to.profile.ecn_on_control && capable)
            }
            End::Server => self.receiver.field(),
        };
        let way = if end == End::Client { 0 } else { ip::BACKWARD };
        for segment in &mut to.out[from..] {
            if segment.flags == 0 && segment.payload == 0 {
                // A window probe of Linux's kind is an ACK.
                let expected = self.expected(end);
                (segment.seq, segment.flags, segment.stamp) = (expected, flags::ACK, self.tail(end).echo);
            }
            if segment.payload == 0 && segment.flags & flags::SYN == 0 {
                segment.ip = segment.ip & !ip::ECN | control as u8;
            }
            segment.ip = segment.ip & !ip::BACKWARD | way;
        }
    }

    /// Data leaves: what is to be acknowledged rides on it.
    fn ride(&mut self, end: End, from: usize, to: &mut Outlet) {
        let (now, profile) = (to.now, to.profile);
        let expected = self.expected(end);
        let announced = self.tail(end).buffer.is_some();
        if let Some(sender) = self.outgoing(end) {
            for s in to.out[from..].iter_mut().filter(|s| s.payload > 0) {
                if sender.carries_fin(s.seq + u64::from(s.payload)) {
                    s.payload -= 1;
                    s.flags |= flags::FIN;
                }
            }
        }
        if expected == 0 && !announced {
            return; // nothing came yet
        }
        let (mut bits, mut echo) = (0, self.tail(end).echo);
        let mut spare = true;
        if let Some(receiver) = self.incoming(end) {
            // Without SACK duplicate ACKs count only where they carry nothing (RFC 5681 section 2).
            spare = profile.sack || receiver.islands() == 0;
            (bits, echo) = receiver.ride();
        }
        // An ACK that was made behind the data says nothing more; that of a handshake goes before it.
        let mut carried = false;
        let mut i = from;
        while i < to.out.len() {
            let s = &mut to.out[i];
            let plain = s.flags & (flags::SYN | flags::RST) == 0;
            if plain && holds(s) {
                s.flags |= flags::ACK | bits;
                s.stamp = echo;
                carried = true;
            } else if plain && spare && carried && s.flags & flags::ACK != 0 {
                to.out.remove(i);
                continue;
            }
            i += 1;
        }
        let tail = self.tail(end);
        if profile.ack_interactive && tail.delivered > 0 && now.since(tail.came) < profile.ack_delay {
            self.interact(end, true);
        }
    }
}

#[cfg(test)]
mod tests;
