//! Arrival of a segment (RFC 9293 section 3.10.7).

use evenflow_base::Ecn as Field;

use super::*;
use crate::ecn::{ACE, FIRST, flags_of, is_mangled, number_of, reflected, settled};

/// A segment as the end sees it that it reaches.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// SEG.SEQ; `None`: an ACK that does not show it.
    seq: Option<u64>,
    /// SEG.ACK; `None`: data that does not show it, for nothing came back yet.
    ack: Option<u64>,
    /// Bytes of data, and whether a FIN follows them.
    payload: u64,
    fin: bool,
}

impl Arrived {
    fn of(packet: &Packet, carried: &Carried) -> Arrived {
        let payload = u64::from(packet.payload);
        let fin = packet.is(flags::FIN);
        let pure = payload == 0 && !fin && !packet.is(flags::RST) && !packet.is(flags::SYN);
        let (seq, ack) = if pure {
            (carried.window.map(|_| carried.own), Some(packet.seq))
        } else {
            (Some(packet.seq), packet.is(flags::ACK).then_some(carried.ack))
        };
        Arrived { seq, ack, payload, fin }
    }
}

impl Connection {
    /// A segment has reached `at`; `carried` are the options of its packet. Returns the end's
    /// [`Connection::deadline`]. The path of a one-way connection is inlined.
    #[inline(always)]
    pub fn receive(&mut self, at: End, packet: &Packet, carried: &Carried, to: Outlet) -> Time {
        if self.talk.is_some() {
            let mut to = to; // moved: the other path keeps it in registers
            self.receive_segment(at, packet, carried, &mut to);
            return self.deadline(at);
        }
        match at {
            End::Client => {
                self.sender.receive(packet, carried, to.now, to.profile, to.out);
                self.sender.deadline()
            }
            End::Server => {
                self.receiver.receive(packet, to.now, to.profile, to.out);
                self.receiver.deadline()
            }
        }
    }

    #[inline(never)]
    fn receive_segment(&mut self, at: End, packet: &Packet, carried: &Carried, to: &mut Outlet) {
        let from = to.out.len();
        match self.state(at) {
            State::Closed => self.refuse(packet, carried, to),
            State::Listen => self.listen(packet, carried, to),
            State::SynSent => self.answered(packet, carried, to),
            _ => self.arrive(at, packet, carried, to),
        }
        self.dress(at, from, to);
    }

    /// CLOSED (section 3.10.7.1): who speaks to it gets a RST.
    fn refuse(&mut self, packet: &Packet, carried: &Carried, to: &mut Outlet) {
        if packet.is(flags::RST) {
            return;
        }
        let mut rst = Segment { seq: 0, payload: 0, stamp: 0, flags: flags::RST, ip: 0, again: false };
        if packet.is(flags::SYN) && !packet.is(flags::ACK) {
            rst.flags |= flags::ACK;
        } else {
            rst.seq = Arrived::of(packet, carried).ack.unwrap_or(0);
        }
        to.out.push(rst);
    }

    /// LISTEN (section 3.10.7.2).
    fn listen(&mut self, packet: &Packet, carried: &Carried, to: &mut Outlet) {
        if packet.is(flags::RST) {
            return;
        }
        if !packet.is(flags::SYN) || packet.is(flags::ACK) {
            if !self.lacks_ack(End::Server, packet) {
                self.refuse(packet, carried, to);
            }
            return;
        }
        self.hear_window(End::Server, packet, carried);
        let first = to.out.len();
        self.receiver.receive(packet, to.now, to.profile, to.out);
        let bits = to.out.get(first).map_or(0, |answer| answer.flags & ACE);
        let (now, profile) = (to.now, to.profile);
        let tail = self.tail(End::Server);
        tail.state = State::SynReceived;
        (tail.handshake, tail.answer) = (RoundTrip::Since(now), bits);
        (tail.tries, tail.wait) = (1, profile.syn_rto);
        tail.timer = profile.due(now, profile.syn_rto);
    }

    /// SYN-SENT (section 3.10.7.3).
    fn answered(&mut self, packet: &Packet, carried: &Carried, to: &mut Outlet) {
        // A SYN-ACK has the acknowledgement in place of its number.
        let ack = if packet.is(flags::SYN) { Some(packet.seq) } else { Arrived::of(packet, carried).ack };
        if let Some(seq) = ack.filter(|ack| packet.is(flags::ACK) && *ack > 0) {
            // Of something that was never sent: an old connection.
            if !packet.is(flags::RST) {
                let rst = Segment { seq, payload: 0, stamp: 0, flags: flags::RST, ip: 0, again: false };
                to.out.push(rst);
            }
            return;
        }
        if packet.is(flags::RST) {
            if packet.is(flags::ACK) {
                self.reset(End::Client, to);
            }
            return;
        }
        if !packet.is(flags::SYN) || !packet.is(flags::ACK) {
            return;
        }
        self.hear_window(End::Client, packet, carried);
        self.tail(End::Client).state = State::Established;
        self.sender.receive_apart(packet, carried, to.now, to.profile, to.out);
        self.sender.persist(to.now, to.profile);
        let mode = self.sender.ecn();
        if let Some(receiver) = self.incoming(End::Client) {
            receiver.settle(mode);
        }
        self.note_marked_answer(packet);
        to.notices.push(Notice::Opened(End::Client));
    }

    /// A marked SYN-ACK counts once in r.cep (RFC 9768 section 3.2.2.2).
    fn note_marked_answer(&mut self, packet: &Packet) {
        if self.sender.ecn() == Ecn::Accurate
            && packet.ecn() == Field::Congestion
            && std::mem::replace(&mut self.tail(End::Client).opening, Opening::Marked) != Opening::Marked
            && let Some(receiver) = self.incoming(End::Client)
        {
            receiver.count_mark();
        }
    }

    /// Whether a segment has no ACK flag, where all but SYNs and RSTs of a TCP have one. Without announced
    /// windows, data before the first byte of the other direction goes without flag.
    fn lacks_ack(&mut self, at: End, packet: &Packet) -> bool {
        !packet.is(flags::ACK) && self.tail(at).buffer.is_some()
    }

    /// The window of a SYN, and the shift of those that follow (RFC 7323 section 2.2).
    fn hear_window(&mut self, at: End, packet: &Packet, carried: &Carried) {
        let Some(window) = carried.window else { return };
        let Some(buffer) = &mut self.tail(at).buffer else { return };
        buffer.scales = carried.scale.is_some();
        buffer.other = carried.scale.unwrap_or(0).min(buffer::MOST);
        if !buffer.scales {
            buffer.unscaled();
        }
        buffer.latest = Some((packet.seq, 0, u64::from(window)));
        if let Some(sender) = self.outgoing(at) {
            sender.window_told(packet.seq, 0, u64::from(window));
        }
    }

    /// Any other state (section 3.10.7.4).
    fn arrive(&mut self, at: End, packet: &Packet, carried: &Carried, to: &mut Outlet) {
        let a = Arrived::of(packet, carried);
        let expected = self.expected(at);
        if packet.is(flags::RST) {
            return self.take_reset(at, a.seq.unwrap_or(0), expected, to);
        }
        if packet.is(flags::SYN) {
            return self.take_syn(at, packet, to);
        }
        if self.lacks_ack(at, packet) {
            return; // section 3.10.7.4, fifth step
        }
        let last;
        let mut packet = packet;
        let opens = self.state(at) == State::SynReceived;
        if opens {
            last = self.established(packet, carried, to);
            packet = &last;
        }
        if let Some(ack) = a.ack
            && !self.take_ack(at, packet, carried, &a, ack, expected, to)
        {
            return;
        }
        if a.payload > 0 || a.fin {
            self.take_text(at, packet, carried, a, to);
        } else if !opens && let Some(receiver) = self.incoming(at) {
            receiver.receive_pure_ack(packet, to.profile, to.out);
        }
        self.progress(at, to);
    }

    /// A SYN in any other state: a repeated one is answered again; others get a challenge ACK (RFC 5961 section
    /// 4). For a repeated SYN-ACK that is its ACK.
    fn take_syn(&mut self, at: End, packet: &Packet, to: &mut Outlet) {
        let first = to.out.len();
        if self.state(at) == State::SynReceived && !packet.is(flags::ACK) {
            self.receiver.receive(packet, to.now, to.profile, to.out);
            if self.receiver.ecn() == Ecn::Accurate
                && let Some(answer) = to.out.get(first)
            {
                self.tail(at).answer = answer.flags & ACE;
            }
            return;
        }
        self.acknowledge(at, to.out);
        let confirms = packet.is(flags::ACK) && settled(Ecn::Accurate, packet.flags) == Ecn::Accurate;
        if at == End::Client && confirms && self.sender.ecn() == Ecn::Accurate {
            self.note_marked_answer(packet);
            if let Some(ack) = to.out.get_mut(first) {
                // RFC 9768 section 3.2.2.1.
                ack.flags = ack.flags & !ACE | flags_of(reflected(packet.ecn()));
            }
        }
    }

    /// A RST is accepted only with the expected number. Elsewhere in the window an ACK answers it; an end
    /// that really has no connection then resets again (RFC 5961 section 3).
    fn take_reset(&mut self, at: End, seq: u64, expected: u64, to: &mut Outlet) {
        let window = to.profile.max_window;
        let tail = self.tail(at);
        let edge = tail.buffer.as_ref().map_or(expected.saturating_add(window), |buffer| buffer.edge());
        if seq == expected {
            match tail.state {
                State::SynReceived => {
                    tail.state = State::Listen;
                    tail.timer = Time::NEVER;
                }
                State::Closing | State::LastAck => {
                    self.tear_down(at, to.now);
                    to.notices.push(Notice::Closed(at));
                }
                State::TimeWait => self.tear_down(at, to.now),
                _ => self.reset(at, to),
            }
        } else if seq > expected && seq < edge {
            self.acknowledge(at, to.out);
        }
    }

    fn reset(&mut self, at: End, to: &mut Outlet) {
        self.tear_down(at, to.now);
        to.notices.push(Notice::Reset(at));
    }

    /// The last ACK of the handshake of accurate ECN, its encoding replaced by the counter (RFC 9768 table 4).
    /// After 000 the server uses no feedback of the client.
    fn read_last_ack(&mut self, packet: &Packet, carried: &Carried, profile: &Profile) -> Packet {
        let pure = packet.payload == 0 && !packet.is(flags::FIN) && carried.report.blocks().is_empty();
        let shown = number_of(packet.flags);
        if self.receiver.ecn() != Ecn::Accurate || !packet.is(flags::ACK) {
            return *packet;
        }
        let barred = self.receiver.is_barred();
        if profile.accurate_ecn_option && pure && is_mangled(self.receiver.field(), shown) {
            self.receiver.bar();
        }
        let tail = self.tail(End::Server);
        let marked = shown == reflected(Field::Congestion) && pure;
        tail.opening = match shown {
            0 if pure || barred => Opening::Zeroed,
            _ if marked => Opening::Marked,
            _ => Opening::Unmarked,
        };
        let counter = flags_of(FIRST + u8::from(marked));
        Packet { flags: if pure { packet.flags & !ACE | counter } else { packet.flags }, ..*packet }
    }

    /// The SYN-ACK is acknowledged.
    fn established(&mut self, packet: &Packet, carried: &Carried, to: &mut Outlet) -> Packet {
        let (now, profile) = (to.now, to.profile);
        let last = self.read_last_ack(packet, carried, profile);
        let tail = self.tail(End::Server);
        tail.state = State::Established;
        tail.timer = Time::NEVER;
        // Karn: the answer to a retransmission is ambiguous.
        tail.handshake = match tail.handshake {
            RoundTrip::Since(then) if tail.tries == 1 => RoundTrip::Took(now.since(then)),
            _ => RoundTrip::Unknown,
        };
        let closes = std::mem::take(&mut tail.closing);
        if packet.payload == 0 {
            self.receiver.receive(packet, now, profile, to.out);
        }
        self.accept(now, profile, to.out);
        to.notices.push(Notice::Opened(End::Server));
        if closes {
            self.send_fin(End::Server, State::FinWait1, to);
        }
        last
    }

    /// The acknowledgement and the window of a segment; `false`: it is not acceptable, and nothing else of it counts.
    #[expect(clippy::too_many_arguments, reason = "a segment and its context")]
    fn take_ack(
        &mut self,
        at: End,
        packet: &Packet,
        carried: &Carried,
        a: &Arrived,
        ack: u64,
        expected: u64,
        to: &mut Outlet,
    ) -> bool {
        let (now, profile) = (to.now, to.profile);
        let holds = a.payload > 0 || a.fin;
        let tail = self.tail(at);
        // An old or distant number of a segment without text (the numbers of text are looked at with it).
        if !holds
            && let (Some(seq), Some(buffer)) = (a.seq, &tail.buffer)
            && ((seq as i64) < expected as i64 || seq > buffer.edge())
        {
            self.acknowledge(at, to.out);
            return false;
        }
        let mut window = None;
        if let (Some(field), Some(seq), Some(buffer)) = (carried.window, a.seq, &mut tail.buffer) {
            window = Some((seq, u64::from(field) << buffer.other));
            if buffer.latest.is_none_or(|latest| (latest.0, latest.1) <= (seq, ack)) {
                buffer.latest = window.map(|(seq, window)| (seq, ack, window));
            }
        }
        let Some(sender) = self.outgoing(at) else {
            let (una, next) = self.sent(at);
            if ack > next {
                self.acknowledge(at, to.out);
                return false;
            }
            if ack > una {
                self.fin_acknowledged(at, to);
            }
            return true;
        };
        let flags = packet.flags & (flags::ACK | ACE);
        let alone = Packet { seq: ack, payload: 0, flags, ..*packet };
        if !sender.hear(&alone, carried, window, holds, now, profile, to.out) {
            self.acknowledge(at, to.out);
            return false;
        }
        if at == End::Server && sender.is_barred() {
            self.receiver.bar();
        }
        if self.outgoing(at).is_some_and(|sender| sender.finished()) {
            self.fin_acknowledged(at, to);
        } else if self.tail(at).blocked {
            let room = self.room(at, profile);
            if room >= profile.send_buffer / 3 {
                self.tail(at).blocked = false;
                to.notices.push(Notice::Room(at, room));
            }
        }
        true
    }

    /// The other end has the FIN.
    fn fin_acknowledged(&mut self, at: End, to: &mut Outlet) {
        let tail = self.tail(at);
        match tail.state {
            State::FinWait1 => {
                tail.state = State::FinWait2;
                tail.timer = Time::NEVER;
            }
            State::Closing => self.wait_time(at, to),
            State::LastAck => {
                self.tear_down(at, to.now);
                to.notices.push(Notice::Closed(at));
            }
            _ => {}
        }
    }

    /// Both have closed, and this end first or at the same time.
    fn wait_time(&mut self, at: End, to: &mut Outlet) {
        let (now, time) = (to.now, to.profile.time_wait);
        let tail = self.tail(at);
        let first = tail.state != State::TimeWait;
        tail.state = State::TimeWait;
        tail.timer = now + time;
        if time == Duration::ZERO {
            tail.state = State::Closed;
            tail.timer = Time::NEVER;
        }
        if first {
            to.notices.push(Notice::Closed(at));
        }
    }

    /// Data and FIN, as far as they lie in the window and before the FIN that is known.
    fn take_text(&mut self, at: End, packet: &Packet, carried: &Carried, mut a: Arrived, to: &mut Outlet) {
        let (now, profile) = (to.now, to.profile);
        let seq = packet.seq;
        let stamp = if packet.is(flags::ACK) { carried.ts_val } else { packet.stamp };
        let tail = self.tail(at);
        let end = seq + a.payload;
        if end > tail.fin || (a.fin && tail.fin != NO_FIN && end != tail.fin) {
            return; // text behind a FIN: this should not occur
        }
        if let Some(buffer) = &tail.buffer {
            let edge = buffer.edge();
            if end + u64::from(a.fin) > edge {
                a.payload = edge.saturating_sub(seq).min(a.payload);
                a.fin = false;
            }
            if a.payload == 0 && !a.fin {
                return self.acknowledge(at, to.out);
            }
        }
        tail.came = now;
        tail.echo = stamp;
        if a.fin {
            tail.fin = end;
        }
        let expected = self.expected(at);
        let again = end + u64::from(a.fin) <= expected;
        if a.fin
            && seq <= expected
            && !again
            && profile.ack_interactive
            && self.state(at) == State::Established
        {
            self.interact(at, true); // its own FIN may follow and carry the ACK
        }
        let interactive = self.tail(at).interactive;
        if again && self.state(at) == State::TimeWait {
            self.wait_time(at, to); // a repeated FIN restarts the wait
        }
        let mut bits = packet.flags;
        let Some(receiver) = self.incoming(at) else {
            return self.acknowledge(at, to.out); // a FIN, and nothing before it
        };
        if packet.is(flags::ACK) {
            receiver.hear(packet.stamp);
        }
        if interactive && receiver.deadline() == Time::NEVER {
            bits &= !flags::PUSH; // a first pushed segment waits, a second does not
        }
        let payload = (a.payload + u64::from(a.fin)) as u16;
        let fin = if a.fin { flags::FIN } else { 0 };
        let text = Packet { stamp, payload, flags: bits & !(flags::ACK | flags::FIN) | fin, ..*packet };
        receiver.receive(&text, now, profile, to.out);
        if interactive && expected == 0 && a.payload == 0 {
            receiver.hold_until(now + profile.timer_tick); // Linux knows no longer delay before the first data
        }
    }

    /// Delivers data in order, and after the last byte the other end's close.
    fn progress(&mut self, at: End, to: &mut Outlet) {
        let profile = to.profile;
        let expected = self.expected(at);
        let tail = self.tail(at);
        let bytes = expected.min(tail.fin);
        if bytes > tail.delivered {
            tail.delivered = bytes;
            if !tail.paced {
                tail.read = bytes;
            }
            to.notices.push(Notice::Received(at, bytes));
        }
        if tail.peer_closed || expected <= tail.fin {
            return;
        }
        tail.peer_closed = true;
        to.notices.push(Notice::PeerClosed(at));
        let mut at_once = true;
        match tail.state {
            State::Established => {
                tail.state = State::CloseWait;
                at_once = !profile.ack_interactive;
            }
            State::FinWait1 => tail.state = State::Closing,
            State::FinWait2 => self.wait_time(at, to),
            _ => {}
        }
        if at_once && self.incoming(at).is_some_and(|receiver| receiver.deadline() != Time::NEVER) {
            self.acknowledge(at, to.out);
        }
    }
}
