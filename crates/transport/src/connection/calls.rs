//! Calls of applications and timers (RFC 9293 section 3.9.1, 3.10.1 to 3.10.5, 3.10.8).

use super::*;
use crate::sender::Life;

impl Connection {
    /// The client opens. Without a handshake both ends are open at once.
    pub fn open(&mut self, to: &mut Outlet) {
        let (now, profile, from) = (to.now, to.profile, to.out.len());
        self.sender.open(now, profile, to.out);
        if self.talk.is_none() {
            return;
        }
        if profile.handshake == Handshake::ThreeWay {
            self.tail(End::Client).state = State::SynSent;
            self.tail(End::Server).state = State::Listen;
        } else {
            for end in End::BOTH {
                self.tail(end).state = State::Established;
                to.notices.push(Notice::Opened(end));
            }
            self.accept(now, profile, to.out);
        }
        self.dress(End::Client, from, to);
    }

    /// The application at `end` writes; returns the bytes that the send buffer took. If it did not take all,
    /// [`Notice::Room`] follows. It takes nothing after a close, nor from a server without a sender
    /// ([`Connection::equip`]).
    pub fn write(&mut self, end: End, bytes: u64, to: &mut Outlet) -> u64 {
        if !self.talks() || !self.state(end).may_write() || self.tail(end).closing {
            return 0;
        }
        let from = to.out.len();
        let taken = bytes.min(self.room(end, to.profile));
        let Some(sender) = self.outgoing(end) else { return 0 };
        sender.offer(taken, to.now, to.profile, to.out);
        sender.persist(to.now, to.profile);
        self.tail(end).blocked |= taken < bytes;
        self.dress(end, from, to);
        taken
    }

    /// The application at `end` withdraws unsent data; returns the number of bytes. Data in a bounded send
    /// buffer stays there.
    pub fn take_back(&mut self, end: End, profile: &Profile) -> u64 {
        if !self.talks() || profile.is_buffer_bounded() {
            return 0;
        }
        self.outgoing(end).map_or(0, Sender::withdraw)
    }

    /// Free space in the send buffer of `end`.
    pub fn room(&self, end: End, profile: &Profile) -> u64 {
        let held = self.half(end).map_or(0, Sender::unacknowledged);
        if profile.is_buffer_bounded() { profile.send_buffer.saturating_sub(held) } else { u64::MAX - held }
    }

    /// The application at `end` reads up to `bytes` of what came in order; gives how many. The window that this opens is announced at
    /// once where that is worth an ACK.
    pub fn read(&mut self, end: End, bytes: u64, to: &mut Outlet) -> u64 {
        if !self.talks() {
            return 0;
        }
        let from = to.out.len();
        let bytes = bytes.min(self.unread(end));
        let expected = self.expected(end);
        let tail = self.tail(end);
        tail.read += bytes;
        let wants =
            tail.buffer.as_ref().is_some_and(|buffer| buffer.wants_update(expected, tail.read, to.profile));
        if bytes > 0 && wants && tail.state.may_receive() {
            self.acknowledge(end, to.out);
            self.dress(end, from, to);
        }
        bytes
    }

    /// The application at `end` has no more to send (CLOSE). The other direction goes on. Before the connection is open this
    /// abandons it (RFC 9293 section 3.10.4).
    pub fn close(&mut self, end: End, to: &mut Outlet) {
        if !self.talks() {
            return;
        }
        let from = to.out.len();
        match self.state(end) {
            State::Listen | State::SynSent => {
                self.tear_down(end, to.now);
                to.notices.push(Notice::Closed(end));
            }
            State::SynReceived => self.tail(end).closing = true,
            State::Established => self.send_fin(end, State::FinWait1, to),
            State::CloseWait => self.send_fin(end, State::LastAck, to),
            _ => {}
        }
        self.dress(end, from, to);
    }

    pub(super) fn send_fin(&mut self, end: End, state: State, to: &mut Outlet) {
        let (now, profile) = (to.now, to.profile);
        let wait = self.tail(end).rtt().map_or(profile.syn_rto, |rtt| (rtt + rtt).max(profile.min_rto));
        let tail = self.tail(end);
        (tail.state, tail.blocked) = (state, false);
        if let Some(sender) = self.outgoing(end) {
            return sender.finish(now, profile, to.out);
        }
        let tail = self.tail(end);
        (tail.tries, tail.wait) = (0, wait.min(profile.max_rto));
        self.send_lone_fin(end, to);
    }

    /// The FIN of a server that has never written.
    fn send_lone_fin(&mut self, end: End, to: &mut Outlet) {
        let (now, profile) = (to.now, to.profile);
        let tail = self.tail(end);
        let again = tail.tries > 0;
        tail.tries += 1;
        tail.timer = profile.due(now, tail.wait);
        tail.wait = (tail.wait + tail.wait).min(profile.max_rto);
        to.out.push(Segment {
            seq: 0,
            payload: 0,
            stamp: profile.clock_at(now),
            flags: flags::FIN,
            ip: 0,
            again,
        });
    }

    /// The application at `end` breaks the connection off (ABORT): the other end learns of it by a RST.
    pub fn abort(&mut self, end: End, to: &mut Outlet) {
        use State::*;
        if !self.talks() {
            return;
        }
        let from = to.out.len();
        let state = self.state(end);
        let (_, next) = self.sent(end);
        if matches!(state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            to.out.push(Segment { seq: next, payload: 0, stamp: 0, flags: flags::RST, ip: 0, again: false });
        }
        self.tear_down(end, to.now);
        if !matches!(state, Closed | TimeWait) {
            to.notices.push(Notice::Closed(end));
        }
        self.dress(end, from, to);
    }

    /// Nothing is left of the connection at `end`: what is queued there is gone.
    pub(super) fn tear_down(&mut self, end: End, now: Time) {
        if let Some(sender) = self.outgoing(end) {
            sender.break_off(now);
        }
        if let Some(receiver) = self.incoming(end) {
            receiver.hush();
        }
        let tail = self.tail(end);
        tail.state = State::Closed;
        tail.timer = Time::NEVER;
        tail.read = tail.delivered;
    }

    /// Whether a wake-up of the client at `now` is the release of a paced segment, for [`Sender::release`].
    #[inline(always)]
    pub fn releases(&self, now: Time) -> bool {
        self.talk.is_none() && self.sender.releases(now)
    }

    /// A timer of `end` has come.
    pub fn wake(&mut self, end: End, to: &mut Outlet) {
        let (now, profile, from) = (to.now, to.profile, to.out.len());
        if self.talk.is_none() {
            if end == End::Server {
                return self.receiver.wake(now, to.out);
            }
            self.sender.wake(now, profile, to.out);
            return match self.sender.life() {
                Life::Done => to.notices.push(Notice::Closed(end)),
                Life::Dead => to.notices.push(Notice::Reset(end)),
                _ => {}
            };
        }
        if let Some(sender) = self.outgoing(end)
            && now >= sender.deadline()
        {
            sender.wake(now, profile, to.out);
            sender.persist(now, profile);
            if sender.life() == Life::Dead {
                return self.give_up(end, to);
            }
        }
        if self.incoming(end).is_some_and(|receiver| now >= receiver.deadline()) {
            self.interact(end, false); // no interaction in time
            if let Some(receiver) = self.incoming(end) {
                receiver.wake(now, to.out);
            }
        }
        if now >= self.tail(end).timer {
            self.tail_timer(end, to);
        }
        self.dress(end, from, to);
    }

    fn tail_timer(&mut self, end: End, to: &mut Outlet) {
        let (now, profile) = (to.now, to.profile);
        let tail = self.tail(end);
        tail.timer = Time::NEVER;
        match tail.state {
            State::SynReceived if tail.tries >= profile.syn_tries => self.give_up(end, to),
            State::SynReceived => {
                tail.tries += 1;
                tail.wait = tail.wait + tail.wait;
                tail.timer = profile.due(now, tail.wait);
                let (mut bits, again) = (tail.answer, tail.tries > 2);
                if again && self.receiver.ecn() == Ecn::Accurate {
                    self.receiver.bar(); // the second repetition requests no ECN (RFC 9768 section 3.2.3.2.2)
                    bits = 0;
                }
                to.out.extend(self.incoming(end).map(|receiver| receiver.answer_again(bits)));
            }
            State::TimeWait => tail.state = State::Closed,
            State::FinWait1 | State::Closing | State::LastAck => {
                if profile.retries.is_some_and(|most| tail.tries > most) {
                    return self.give_up(end, to);
                }
                self.send_lone_fin(end, to);
            }
            _ => {}
        }
    }

    /// The other end does not answer.
    fn give_up(&mut self, end: End, to: &mut Outlet) {
        self.tear_down(end, to.now);
        to.notices.push(Notice::Reset(end));
    }

    /// An ACK goes at once.
    pub(super) fn acknowledge(&mut self, end: End, out: &mut Vec<Segment>) {
        let (expected, echo) = (self.expected(end), self.tail(end).echo);
        match self.incoming(end) {
            Some(receiver) => receiver.acknowledge(out),
            None => {
                let flags = flags::ACK;
                out.push(Segment { seq: expected, payload: 0, stamp: echo, flags, ip: 0, again: false });
            }
        }
    }

    /// The end answers quickly, or it does no more: whether its ACKs wait for data.
    pub(super) fn interact(&mut self, end: End, does: bool) {
        if std::mem::replace(&mut self.tail(end).interactive, does) != does
            && let Some(receiver) = self.incoming(end)
        {
            receiver.wait_for_data(does);
        }
    }
}
