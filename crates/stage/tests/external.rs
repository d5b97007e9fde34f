//! A stage from outside the crate.

use evenflow_base::schema::Way;
use evenflow_base::{Options, Packet, Reason, Stream, Time};
use evenflow_stage::{Act, Cx, Pass, Stage, Station, Whose};

/// Drops every other packet and wants to be woken at the next second.
#[derive(Debug, Default)]
struct EveryOther(u32);

impl Station for EveryOther {
    fn forward(&mut self, _: &mut Packet, cx: &mut Cx) -> Pass {
        self.0 += 1;
        cx.wake_at(Time(1_000_000_000));
        if self.0.is_multiple_of(2) { Pass::Drop(Reason::Probe) } else { Pass::On }
    }
    fn wake(&mut self, _: &mut Cx) {
        self.0 = 0;
    }
    fn observe(&self, name: &str, _: Time) -> Option<f64> {
        (name == "packets").then(|| f64::from(self.0))
    }
}

#[test]
fn a_stage_from_outside_is_called_like_any_other() {
    let mut stage = Stage::External(Box::new(EveryOther::default()));
    let (mut stream, mut options, mut acts) = (Stream::new(1, "own"), Options::default(), Vec::new());
    let whose = Whose { user: 0, flow: 0, class: 0, slot: 0 };
    let mut cx = Cx::new(Time::ZERO, whose, Way::Forward, &mut stream, &mut options, &mut acts);
    let mut packet = Packet::new(0, 1500, 1448);
    assert_eq!(stage.forward(&mut packet, &mut cx), Pass::On);
    assert_eq!(stage.forward(&mut packet, &mut cx), Pass::Drop(Reason::Probe));
    assert_eq!(stage.backward(&mut packet, &mut cx), Pass::On);
    assert_eq!(stage.observe("packets", Time::ZERO), Some(2.0));
    stage.wake(&mut cx);
    assert_eq!(stage.observe("packets", Time::ZERO), Some(0.0));
    assert!(acts.iter().all(|act| matches!(act, Act::Wake(Time(1_000_000_000)))) && acts.len() == 2);
}
