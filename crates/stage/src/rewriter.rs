//! Rewriter: a middlebox that changes header fields in both directions: ECN field, RE flag, traffic class,
//! receive window.
//!
//! RFC 3168 section 18 describes the effects on ECN: erased marks hide congestion; cleared fields cause drops
//! instead of marks. [`crate::window_tuner`] sets windows from measured round trips.

use evenflow_base::params::CODEPOINTS;
use evenflow_base::schema::{
    Counter, Deviation, Mechanism, Nested, Problem, Room, Traits, Values, Ways, sound,
};
use evenflow_base::{Duration, Ecn, Packet, Reason, Time};

use crate::Kept;
use crate::station::{Cx, Kind, Owner, Pass, Station};
use crate::windows::{self, Scales, field};

/// Change of a receive window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// Set to this many bytes.
    Set(u64),
    /// Limited to this many bytes.
    AtMost(u64),
}

/// Its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The new codepoint by the old one's bits.
    pub ecn: [Ecn; 4],
    /// The new RE flag.
    pub re: Option<bool>,
    /// The new class.
    pub class: Option<u8>,
    /// The receive window.
    pub window: Option<Window>,
    /// Classes of which packets are changed; `None`: all.
    pub of_class: Option<Vec<bool>>,
    /// In which directions.
    pub ways: Ways,
    /// Since when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// When the scales of a silent connection are forgotten.
    pub idle: Duration,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values, classes: &[String]) -> Result<Params, Vec<Problem>> {
        let number = |name: &String| classes.iter().position(|class| class == name);
        let mut problems: Vec<Problem> = Vec::new();
        let given = Given::read(values);
        let pairs = [(Given::ecn_map.name, Given::ecn.name), (Given::max_window.name, Given::window.name)];
        for (one, other) in pairs {
            if values.get(one).is_some() && values.get(other).is_some() {
                problems.push((one, format!("excludes {other}; give one of the two")));
            }
        }
        const FIELDS: [&str; 6] = [
            Given::ecn.name,
            Given::ecn_map.name,
            Given::re.name,
            Given::class.name,
            Given::window.name,
            Given::max_window.name,
        ];
        if FIELDS.iter().all(|field| values.get(field).is_none()) {
            problems.push((Given::ecn.name, format!("changes nothing; give one of {}", FIELDS.join(", "))));
        }
        let (from, until) = (given.from, given.until);
        if let Some(until) = until
            && until <= from
        {
            problems.push((
                Given::until.name,
                format!("must be later than from: {until} s is not after {from} s"),
            ));
        }
        sound(problems)?;
        let mut ecn = [0, 1, 2, 3].map(Ecn::of);
        if let Some(codepoint) = given.ecn {
            ecn = [codepoint; 4];
        }
        if let Some(EcnMap { not_ect, ect1, ect0, ce }) = given.ecn_map {
            for (old, new) in ecn.iter_mut().zip([not_ect, ect1, ect0, ce]) {
                *old = new.unwrap_or(*old);
            }
        }
        Ok(Params {
            ecn,
            re: given.re,
            class: given.class.as_ref().and_then(number).map(|class| class as u8),
            window: given.window.map(Window::Set).or_else(|| given.max_window.map(Window::AtMost)),
            of_class: given.of_class.map(|names| classes.iter().map(|class| names.contains(class)).collect()),
            ways: match given.direction {
                Direction::Forward => Ways::Forward,
                Direction::Reverse => Ways::Backward,
                Direction::Both => Ways::Both,
            },
            from: Time::from_seconds(from),
            until: until.map_or(Time::NEVER, Time::from_seconds),
            idle: given.idle,
        })
    }
}

/// The rewriter and its state.
#[derive(Clone, Debug)]
pub struct Rewriter {
    params: Params,
    /// Of connections whose windows are rewritten.
    scales: Kept<Scales>,
    rewritten: u64,
    erased: u64,
}

impl Rewriter {
    /// A rewriter that has seen nothing.
    pub fn new(params: Params) -> Rewriter {
        let scales = Kept::new(Some(params.idle));
        Rewriter { params, scales, rewritten: 0, erased: 0 }
    }

    fn meet(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let has_window = self.params.window.is_some() && windows::tells(packet);
        // Scales are noted at all times, and both ways.
        let shift = if has_window {
            self.scales.of(cx.whose.flow, cx.now, Scales::default).shift(packet, cx.way, cx.options)
        } else {
            None
        };
        let Params { ways, from, until, .. } = self.params;
        let chosen =
            self.params.of_class.as_ref().is_none_or(|of| of.get(usize::from(packet.class)) == Some(&true));
        if !chosen || !ways.has(cx.way) || cx.now < from || cx.now >= until {
            return Pass::On;
        }
        let (ecn, re, class) = (packet.ecn(), packet.re(), packet.class);
        packet.set_ecn(self.params.ecn[ecn as usize]);
        packet.set_re(self.params.re.unwrap_or(re));
        packet.class = self.params.class.unwrap_or(class);
        let mut changed = packet.ecn() != ecn || packet.re() != re || packet.class != class;
        if let (Some(shift), Some(window)) = (shift, self.params.window) {
            changed |= match window {
                Window::Set(bytes) => windows::write(packet, cx.options, field(bytes, shift)),
                Window::AtMost(bytes) => windows::lower(packet, cx.options, field(bytes, shift)),
            };
        }
        self.rewritten += u64::from(changed);
        if packet.ecn() == ecn {
            return Pass::On;
        }
        self.erased += u64::from(ecn == Ecn::Congestion);
        match packet.ecn() {
            Ecn::Congestion => Pass::Mark(Reason::Rewritten),
            _ => Pass::On,
        }
    }
}

impl Station for Rewriter {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx)
    }

    fn backward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.meet(packet, cx)
    }

    fn heap_bytes(&self) -> u64 {
        self.scales.heap_bytes()
    }
}

impl Kind for Rewriter {
    fn build(values: &Values, owner: Owner) -> Result<Rewriter, Vec<Problem>> {
        Params::new(values, owner.classes).map(Rewriter::new)
    }

    fn needs_windows(values: &Values) -> bool {
        values.has(Given::window) || values.has(Given::max_window)
    }

    fn classes_after(values: &Values, class: &str) -> Vec<String> {
        let of_class = values.at(Given::of_class);
        let chosen = of_class.is_none_or(|names| names.iter().any(|name| name == class));
        let Some(new) = values.at(Given::class).filter(|_| chosen) else {
            return vec![class.to_owned()];
        };
        let always = values.at(Given::from) == Some(0.0)
            && !values.has(Given::until)
            && values.is(Given::direction, Direction::Both);
        if always { vec![new] } else { vec![class.to_owned(), new] }
    }

    fn classes_given(values: &Values) -> Vec<(&'static str, String)> {
        values.at(Given::class).map(|class| (Given::class.name, class)).into_iter().collect()
    }
}

const RFC_3168: &str = "RFC 3168 section 18";

params! {
    /// New codepoint of each codepoint, in the order of their bits.
    #[derive(Clone, Copy, Debug)]
    pub struct EcnMap {
        /// New codepoint of packets that are not ECN-capable.
        not_ect: Option<Ecn> = Choice(CODEPOINTS), Absent("stays") => source: RFC_3168;
        /// New codepoint of ECT(1).
        ect1: Option<Ecn> = Choice(CODEPOINTS), Absent("stays") => source: RFC_3168;
        /// New codepoint of ECT(0).
        ect0: Option<Ecn> = Choice(CODEPOINTS), Absent("stays") => source: RFC_3168;
        /// New codepoint of congestion marks.
        ce: Option<Ecn> = Choice(CODEPOINTS), Absent("stays") => source: RFC_3168;
    }
}

/// The table `ecn_map`.
pub static ECN_MAP: Nested = Nested {
    name: "ecn-map",
    doc: "New codepoint of each ECN codepoint.",
    params: EcnMap::PARAMS,
    changes: &[],
};

words! {
    pub enum Direction { Forward = "forward", Reverse = "reverse", Both = "both" }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// New ECN codepoint of every packet; "not-ect" clears the field.
        ecn: Option<Ecn> = Choice(CODEPOINTS), Absent("stays") => source: RFC_3168;
        /// New codepoint of each codepoint, instead of ecn. { ce = "ect0" } erases marks.
        ecn_map: Option<EcnMap> = Table(&ECN_MAP), Absent("all stay") => source: RFC_3168;
        /// New RE flag of every packet; false clears it.
        re: Option<bool> = Flag, Absent("stays") => source: "draft-briscoe-conex-re-ecn-tcp-04 section 4.2";
        /// New traffic class of every packet.
        class: Option<String> = Name, Absent("stays") => source: "RFC 2474 section 3";
        /// Receive window of every TCP segment that has one, in whole units of its scale, at least one.
        window: Option<u64> = Bytes, Absent("stays"), Range::POSITIVE => source: "RFC 9293 section 3.1";
        /// Maximum receive window, instead of window; smaller ones stay.
        max_window: Option<u64> = Bytes, Absent("stays"), Range::POSITIVE => source: "RFC 9293 section 3.1";
        /// Change only packets of these classes.
        of_class: Option<Vec<String>> = Names, Absent("all") => source: "";
        /// Direction of packets to change.
        direction: Direction = Direction::TYPE, Text("both") => source: "";
        /// Start of the changes.
        from: f64 = Duration, Text("0 s"), Range::NOT_NEGATIVE => source: "";
        /// End of the changes.
        until: Option<f64> = Duration, Absent("the end of the run"), Range::POSITIVE => source: "";
        /// Time after which the window scales of a silent connection are forgotten.
        idle: Duration = Duration, Text("7440 s"), Range::POSITIVE
            => source: "RFC 5382 section 5: not less than 2 hours 4 minutes";
    }
}

observables! {
    Rewriter: rewriter, _now;
    rewritten: "packets", "Packets changed." => rewriter.rewritten;
    marks_erased: "packets", "Packets whose congestion mark it removed." => rewriter.erased;
    connections: "connections", "Connections with known window scales." => rewriter.scales.len();
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "rewriter",
    room: Room::Stage,
    traits: Traits { ways: Ways::Both, marks: true, ..Mechanism::PLAIN },
    title: "Rewriter",
    example: r#"groups.users.path = ["rewriter", "bottleneck"]

[stages.rewriter]
kind = "rewriter"
ecn_map = { ce = "ect0" }
direction = "forward""#,
    doc: "A middlebox that changes header fields: ECN field, RE flag, traffic class or receive window. It \
          acts in one direction or both, always or for a limited time.",
    source: "RFC 3168 section 18; RFC 7323 section 2.2",
    params: Given::PARAMS,
    observables: Rewriter::OBSERVABLES,
    counters: &[Counter::new("rewritten", "The codepoint became a congestion mark.")],
    deviations: &[Deviation {
        what: "Windows stay unchanged for connections whose SYNs were not seen or are forgotten. So do the \
               windows of SYNs, which are not scaled.",
        why: "Only SYNs carry the window scale (RFC 7323 section 2.2).",
    }],
};

#[cfg(test)]
mod tests {
    use evenflow_base::flags;
    use evenflow_base::schema::Way;

    use super::*;
    use crate::Stepper;

    fn params() -> Params {
        Params {
            ecn: [0, 1, 2, 3].map(Ecn::of),
            re: None,
            class: None,
            window: None,
            of_class: None,
            ways: Ways::Both,
            from: Time::ZERO,
            until: Time::NEVER,
            idle: Duration::from_seconds(100.0),
        }
    }

    fn data(ecn: Ecn, re: bool) -> Packet {
        let mut packet = Packet::new(0, 1500, 1448).with_ecn(ecn);
        packet.set_re(re);
        packet
    }

    /// Each of the eight codepoints through a rewriter: ECN field, RE flag, verdict.
    fn all_through(params: Params) -> Vec<(Ecn, bool, Pass)> {
        let mut rewriter = Rewriter::new(params);
        let mut by_hand = Stepper::new(1);
        let mut out = Vec::new();
        for ecn in [0, 1, 2, 3].map(Ecn::of) {
            for re in [false, true] {
                let mut packet = data(ecn, re);
                let pass = rewriter.forward(&mut packet, &mut by_hand.cx(Time(1)));
                out.push((packet.ecn(), packet.re(), pass));
            }
        }
        out
    }

    #[test]
    fn clearing_leaves_the_re_flag_and_the_other_way_round() {
        let cleared = all_through(Params { ecn: [Ecn::NotCapable; 4], ..params() });
        assert!(cleared.iter().all(|(ecn, _, pass)| *ecn == Ecn::NotCapable && *pass == Pass::On));
        assert_eq!(cleared.iter().filter(|(_, re, _)| *re).count(), 4);
        let re = all_through(Params { re: Some(false), ..params() });
        assert_eq!(re.iter().map(|(ecn, ..)| *ecn as u8).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert!(re.iter().all(|(_, re, _)| !re));
    }

    #[test]
    fn a_map_changes_what_it_names_and_making_ce_is_a_mark() {
        let (not, one, zero, ce) = (Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congestion);
        let mapped = all_through(Params { ecn: [not, ce, zero, zero], ..params() });
        let expected =
            [(not, Pass::On), (ce, Pass::Mark(Reason::Rewritten)), (zero, Pass::On), (zero, Pass::On)];
        for (i, (ecn, pass)) in expected.into_iter().enumerate() {
            assert_eq!((mapped[2 * i].0, mapped[2 * i].2), (ecn, pass), "{:?}", [not, one, zero, ce][i]);
        }
    }

    #[test]
    fn only_from_until_one_way_and_chosen_classes() {
        let mut rewriter = Rewriter::new(Params {
            ecn: [Ecn::NotCapable; 4],
            class: Some(2),
            of_class: Some(vec![false, true]),
            ways: Ways::Backward,
            from: Time(10),
            until: Time(20),
            ..params()
        });
        let mut by_hand = Stepper::new(1);
        let mut class_after = |now: u64, way: Way, class: u8| {
            by_hand.way = way;
            let mut packet = Packet { class, ..data(Ecn::Congestion, false) };
            let mut cx = by_hand.cx(Time(now));
            let _ = match way {
                Way::Forward => rewriter.forward(&mut packet, &mut cx),
                Way::Backward => rewriter.backward(&mut packet, &mut cx),
            };
            packet.class
        };
        assert_eq!([9, 10, 19, 20].map(|now| class_after(now, Way::Backward, 1)), [1, 2, 2, 1]);
        assert_eq!(class_after(15, Way::Forward, 1), 1);
        assert_eq!(class_after(15, Way::Backward, 0), 0);
        assert_eq!(class_after(15, Way::Backward, 7), 7, "a class that it does not know");
        assert_eq!(rewriter.observe("rewritten", Time(0)), Some(2.0));
        assert_eq!(rewriter.observe("marks_erased", Time(0)), Some(2.0));
    }

    #[test]
    fn a_window_is_whole_units_and_at_least_one() {
        assert_eq!(field(58_520, 7), 457); // 457.2
        assert_eq!(field(100, 7), 1);
        assert_eq!(field(100_000, 0), u16::MAX);
        assert_eq!(field(400_000, 3), 50_000);
    }

    /// A segment's window before and after, `None`: not announced; the way it goes; the scale that it announces, if it is a SYN.
    fn window(
        rewriter: &mut Rewriter,
        by_hand: &mut Stepper,
        announced: Option<u16>,
        way: Way,
        scale: Option<Option<u8>>,
    ) -> Option<u16> {
        let flags = if scale.is_some() { flags::SYN } else { flags::ACK };
        let mut packet = Packet { flags, ..Packet::new(0, 52, 0) };
        if announced.is_some() || scale.flatten().is_some() {
            let carried = by_hand.options.attach(&mut packet);
            (carried.window, carried.scale) = (announced, scale.flatten());
        }
        by_hand.way = way;
        let mut cx = by_hand.cx(Time(1));
        let _ = match way {
            Way::Forward => rewriter.forward(&mut packet, &mut cx),
            Way::Backward => rewriter.backward(&mut packet, &mut cx),
        };
        by_hand.options.release(&mut packet).window
    }

    #[test]
    fn a_window_is_scaled_as_its_own_end_has_said_if_both_have() {
        for (client, server, expected) in [
            (Some(7), Some(3), 20_000 >> 3),
            (Some(7), None, 20_000),
            (None, Some(3), 20_000),
            (Some(0), Some(14), 1),
        ] {
            let mut rewriter = Rewriter::new(Params { window: Some(Window::Set(20_000)), ..params() });
            let mut by_hand = Stepper::new(1);
            let mut after =
                |announced, way, scale| window(&mut rewriter, &mut by_hand, announced, way, scale);
            assert_eq!(after(Some(900), Way::Backward, None), Some(900), "no SYN has been seen");
            assert_eq!(after(Some(65_535), Way::Forward, Some(client)), Some(65_535), "a SYN's window stays");
            assert_eq!(after(Some(900), Way::Backward, None), Some(900), "one SYN of two has been seen");
            assert_eq!(after(Some(65_535), Way::Backward, Some(server)), Some(65_535));
            assert_eq!(after(Some(900), Way::Backward, None), Some(expected));
            assert!(by_hand.options.is_empty());
        }
    }

    #[test]
    fn a_largest_window_lowers_and_never_raises() {
        let mut rewriter = Rewriter::new(Params { window: Some(Window::AtMost(20_000)), ..params() });
        let mut by_hand = Stepper::new(1);
        for way in [Way::Forward, Way::Backward] {
            window(&mut rewriter, &mut by_hand, None, way, Some(None));
        }
        let mut after = |announced| window(&mut rewriter, &mut by_hand, announced, Way::Backward, None);
        assert_eq!(
            [Some(30_000), Some(10_000), None].map(&mut after),
            [Some(20_000), Some(10_000), Some(20_000)]
        );
        assert_eq!(rewriter.observe("rewritten", Time(0)), Some(2.0));
    }

    #[test]
    fn datagrams_data_and_resets_have_no_window() {
        let mut rewriter = Rewriter::new(Params { window: Some(Window::Set(20_000)), ..params() });
        let mut by_hand = Stepper::new(1);
        let datagram = Packet { ip: evenflow_base::packet::ip::DATAGRAM, ..Packet::new(0, 500, 472) };
        let reset = Packet { flags: flags::RST | flags::ACK, ..Packet::new(0, 40, 0) };
        for mut packet in [datagram, data(Ecn::NotCapable, false), reset] {
            let _ = rewriter.forward(&mut packet, &mut by_hand.cx(Time(1)));
            assert_eq!(packet.place(), None);
        }
        assert_eq!(rewriter.observe("connections", Time(0)), Some(0.0));
    }
}
