//! STUB: replaced by the branch `connection`.
use evenflow_base::{Packet, Time, flags};
use evenflow_base::End;
use crate::{CongestionControl, Profile, Receiver, Segment, Sender, Report};
use crate::sender::Life;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told { Opened(End), Received(End, u64), Acked(End), Room(End), PeerClosed(End), Closed(End), Reset(End) }

#[derive(Clone, Debug)]
pub struct Connection { sender: Sender, receiver: Receiver, written: u64, closing: bool, opened: bool, over: bool, acked: bool }

impl Connection {
    pub fn new(profile: &Profile, control: CongestionControl) -> Connection {
        Connection { sender: Sender::new(profile, control, Some(0)), receiver: Receiver::new(profile), written: 0, closing: false, opened: false, over: false, acked: true }
    }
    pub fn sender(&self, end: End) -> Option<&Sender> { (end == End::Client).then_some(&self.sender) }
    pub fn over(&self) -> bool { self.over }
    pub fn buffered(&self, end: End) -> u64 { if end == End::Client { self.written - self.receiver.delivered() } else { 0 } }
    pub fn open(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) { self.sender.open(now, profile, out) }
    pub fn write(&mut self, _end: End, bytes: u64, now: Time, profile: &Profile, out: &mut Vec<Segment>) -> u64 {
        self.written += bytes; self.acked = false; self.sender.offer(bytes, now, profile, out); bytes }
    pub fn read(&mut self, _end: End, _bytes: u64, _now: Time, _profile: &Profile, _out: &mut Vec<Segment>) {}
    pub fn hold(&mut self, _end: End) {}
    pub fn close(&mut self, _end: End, _now: Time, _profile: &Profile, _out: &mut Vec<Segment>, told: &mut Vec<Told>) { self.closing = true; self.check(told); }
    pub fn abort(&mut self, _end: End, _now: Time, _profile: &Profile, _out: &mut Vec<Segment>, _told: &mut Vec<Told>) { self.over = true; }
    fn check(&mut self, told: &mut Vec<Told>) {
        if self.sender.life() == Life::Done && !self.acked { self.acked = true; told.push(Told::Acked(End::Client)); }
        if self.sender.life() == Life::Dead { self.over = true; told.push(Told::Reset(End::Client)); }
        if self.closing && self.acked { self.over = true; }
    }
    pub fn receive(&mut self, packet: &Packet, report: &Report, now: Time, profile: &Profile, out: &mut Vec<Segment>, told: &mut Vec<Told>) {
        if packet.is(flags::BACKWARD) {
            self.sender.receive(packet, report, now, profile, out);
            if !self.opened && self.sender.life() != Life::Opening { self.opened = true; told.push(Told::Opened(End::Client)); return }
        } else {
            let before = self.receiver.delivered();
            self.receiver.receive(packet, now, profile, out);
            if self.receiver.delivered() > before { told.push(Told::Received(End::Server, self.receiver.delivered())) }
        }
        self.check(told);
    }
    pub fn wake(&mut self, end: End, now: Time, profile: &Profile, out: &mut Vec<Segment>, told: &mut Vec<Told>) {
        match end { End::Client => self.sender.wake(now, profile, out), End::Server => self.receiver.wake(now, out) }
        self.check(told);
    }
    pub fn deadline(&self, end: End) -> Time { match end { End::Client => self.sender.deadline(), End::Server => self.receiver.deadline() } }
    pub fn report(&mut self) -> Option<Report> { self.receiver.report() }
}
