//! The interface of stages: events, verdicts, and requests to the engine.

use evenflow_base::schema::{Problem, Values, Way};
use evenflow_base::{Duration, Options, Packet, Rate, Reason, Share, Stream, Time, flags};

use crate::Message;

/// The owner of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// All traffic classes, by number.
    pub classes: &'a [String],
    /// The weight of the user or flow that the stage belongs to; 1 where several share it.
    pub weight: f64,
    /// The number of the stage in the scenario.
    pub stage: u16,
    /// That of its peer.
    pub peer: Option<u16>,
    /// Its number among the copies of the stage.
    pub copy: u32,
    /// Its number among all copies of all stages.
    pub index: u32,
}

impl<'a> Owner<'a> {
    /// A stage by itself.
    pub fn of(classes: &'a [String]) -> Owner<'a> {
        Owner { classes, weight: 1.0, stage: 0, peer: None, copy: 0, index: 0 }
    }
}

/// The verdict of a stage on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// It goes on.
    On,
    /// It goes on and carries a congestion mark, which the stage has set.
    Mark(Reason),
    /// It is gone.
    Drop(Reason),
    /// The stage keeps it ([`Cx::hold`]) and sends it on later ([`Cx::release`]).
    Held,
}

/// How a stage reads what packets declare of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The bits of RFC 7837's option of IPv6, not the codes of IPv4.
    pub ipv6: bool,
    /// Its parameter `encoding` may be the other as well.
    pub either: bool,
}

/// The owner of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whose {
    /// Number of the user, over all groups.
    pub user: u32,
    /// Number of the flow. No two flows of a run have the same, whether they live at one time or not.
    pub flow: u64,
    /// Traffic class, as the packet has it when it arrives.
    pub class: u8,
    /// The flow whose path it takes, in the engine's numbering.
    pub slot: u32,
}

/// The effect of a packet on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Asks to open it: a SYN of the opener.
    Opens,
    /// Says that its sender has sent everything: a FIN.
    Closes,
    /// Ends it at once: an RST.
    Breaks,
}

impl Signal {
    /// The signal of `packet`, if it has one.
    #[inline]
    pub fn of(packet: &Packet) -> Option<Signal> {
        match packet.flags {
            f if f & flags::RST != 0 => Some(Signal::Breaks),
            f if f & flags::SYN != 0 => (f & flags::ACK == 0).then_some(Signal::Opens),
            f if f & flags::FIN != 0 => Some(Signal::Closes),
            _ => None,
        }
    }
}

words! {
    /// Where a packet of a stage's own goes.
    pub enum To {
        /// To the stage's peer, over what lies between the two on the path of the flow along which it is sent.
        Peer = "peer",
        /// To the end of that path, where it is discarded.
        Forward = "forward",
        /// To the start of that path, where it is discarded.
        Backward = "backward",
    }
}

/// A packet of a stage's own. On its way it is one like any other: it takes time, waits, may be dropped, passes other stages.
#[derive(Clone, Debug)]
pub struct Own {
    /// Where it goes, in the directions of the stage.
    pub to: To,
    /// Bytes on the wire, headers included.
    pub size: u16,
    /// Its traffic class.
    pub class: u8,
    /// Along the path of which flow; where queues tell flows apart it is that one's.
    pub along: Whose,
    /// Message for the peer.
    pub message: Option<Message>,
}

/// A setting of the component that a stage controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// The rate of a link. A packet in transmission finishes at the old one.
    Rate(Rate),
    /// Sets the share of this flow and traffic class in the scheduler of the controlled link.
    Share(u32, u8, Share),
}

/// A packet that a stage holds.
#[derive(Clone, Copy, Debug)]
pub struct HeldPacket {
    /// The packet, which the stage may change.
    pub packet: Packet,
    /// Its owner.
    pub whose: Whose,
    /// In which direction it crosses the stage.
    pub way: Way,
    /// Since when it is held.
    pub at: Time,
}

/// A request of a stage.
#[derive(Clone, Debug)]
pub enum Act {
    /// To be woken at this instant.
    Wake(Time),
    /// Send a new packet.
    Send(Own),
    /// To send on a packet that it held.
    Release(HeldPacket),
    /// To change what it controls.
    Set(Setting),
}

/// Round-trip times of a packet's flow, for a stage that asks ([`Kind::needs_round_trips`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// The delays of its links, there and back.
    pub base: Option<Duration>,
    /// Smoothed round-trip time of the sender (RFC 6298).
    pub smoothed: Option<Duration>,
    /// That of reports on its tunnel.
    pub reported: Option<Duration>,
}

/// The context of a call, and the requests of the stage. Requests are carried out after the call, before the
/// packet moves on: first the alarm, then the others in order. A request may call the stage again at the same
/// instant.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The instant.
    pub now: Time,
    /// The packet's owner. In [`Station::wake`]: that of the first flow whose path contains the stage.
    pub whose: Whose,
    /// In which direction the packet crosses the stage.
    pub way: Way,
    /// Random numbers, the stage's own.
    pub stream: &'a mut Stream,
    /// Rare header fields: windows and their scales, SACK blocks, outer headers.
    pub options: &'a mut Options,
    /// Round-trip times of the packet's flow, where the stage asks for them.
    pub round_trip: RoundTrip,
    acts: &'a mut Vec<Act>,
}

impl<'a> Cx<'a> {
    /// The context of a call; `acts` receives the requests.
    #[inline(always)]
    pub fn new(
        now: Time,
        whose: Whose,
        way: Way,
        stream: &'a mut Stream,
        options: &'a mut Options,
        acts: &'a mut Vec<Act>,
    ) -> Cx<'a> {
        Cx { now, whose, way, stream, options, round_trip: RoundTrip::default(), acts }
    }

    /// The stage wants to be woken at `at`, instead of at any instant that it asked for before. [`Time::NEVER`]: not at all.
    /// The past is now.
    pub fn wake_at(&mut self, at: Time) {
        self.acts.push(Act::Wake(at.max(self.now)));
    }

    /// Sends a packet of the stage's own.
    pub fn send(&mut self, own: Own) {
        self.acts.push(Act::Send(own));
    }

    /// Keeps `packet`: the verdict must be [`Pass::Held`].
    pub fn hold(&self, packet: &Packet) -> HeldPacket {
        HeldPacket { packet: *packet, whose: self.whose, way: self.way, at: self.now }
    }

    /// Sends on a packet that was held.
    pub fn release(&mut self, held: HeldPacket) {
        self.acts.push(Act::Release(held));
    }

    /// Changes the component that the stage controls; nothing where it controls none.
    pub fn set(&mut self, setting: Setting) {
        self.acts.push(Act::Set(setting));
    }
}

/// Something that packets pass on their way and that is no link.
pub trait Station: std::fmt::Debug + Send {
    /// A packet crosses it forward.
    #[inline]
    fn forward(&mut self, _packet: &mut Packet, _cx: &mut Cx) -> Pass {
        Pass::On
    }

    /// A packet crosses it backward.
    #[inline]
    fn backward(&mut self, _packet: &mut Packet, _cx: &mut Cx) -> Pass {
        Pass::On
    }

    /// The run begins.
    fn start(&mut self, _cx: &mut Cx) {}

    /// The instant has come that [`Cx::wake_at`] asked for last.
    fn wake(&mut self, _cx: &mut Cx) {}

    /// A packet of its peer's has arrived with a message.
    fn receive(&mut self, _message: Message, _cx: &mut Cx) {}

    /// The packets that it holds.
    fn held(&self) -> Vec<HeldPacket> {
        Vec::new()
    }

    /// Bytes on the heap.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// An observable by name, at `now`, for a series or a test.
    fn observe(&self, _name: &str, _now: Time) -> Option<f64> {
        None
    }
}

/// A stage that scenarios name: its table, how it is made, and what others must know of it.
pub trait Kind: Station + Sized {
    /// From decoded values.
    fn build(values: &Values, owner: Owner) -> Result<Self, Vec<Problem>>;

    /// Whether segments that cross it must tell their receive windows, as it reads or writes them.
    fn needs_windows(_values: &Values) -> bool {
        false
    }

    /// The traffic classes that a packet of `class` may have behind it.
    fn classes_after(_values: &Values, class: &str) -> Vec<String> {
        vec![class.to_owned()]
    }

    /// The traffic classes that it may give to packets, each with the parameter that names it.
    fn classes_given(_values: &Values) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Words that such a parameter may have instead.
    fn words_for_classes() -> &'static [&'static str] {
        &[]
    }

    /// Its parameters, in bytes or packets, that must hold the largest packet that crosses it.
    fn buckets(_values: &Values) -> &'static [&'static str] {
        &[]
    }

    /// How it reads what packets declare of congestion; some of `values` may be missing. `None`: it does not, or that is not known.
    fn reads(_values: &Values) -> Option<Reads> {
        None
    }

    /// Whether it needs round-trip times ([`Cx::round_trip`]).
    fn needs_round_trips(_values: &Values) -> bool {
        false
    }

    /// Whether records have this observable of it: some are a rule's alone.
    fn shows(_values: &Values, _name: &str) -> bool {
        true
    }

    /// By how many bytes packets are longer behind it.
    fn grows(_values: &Values) -> f64 {
        0.0
    }

    /// Errors in the combination of parameters; some may be missing because they are wrong themselves.
    fn problems(_values: &Values) -> Vec<Problem> {
        Vec::new()
    }
}
