//! Impairments of a link: loss at random, jitter, and retransmission by the link itself.

use evenflow_base::random::inverse_normal;
use evenflow_base::{Duration, Stream, Time};
use evenflow_queue::held::{DRAW, Note, Notes};

/// Random impairments of accepted packets.
#[derive(Debug, Default)]
pub struct Impairments {
    /// Loss on the link.
    pub loss: Option<Loss>,
    /// Random delays.
    pub jitter: Option<Jitter>,
    /// Retransmission of lost packets.
    pub again: Option<Again>,
}

impl Impairments {
    /// Whether it does anything.
    pub fn any(&self) -> bool {
        self.loss.is_some() || self.jitter.is_some()
    }

    /// Whether packets have different delays.
    pub fn varies(&self) -> bool {
        self.jitter.is_some() || self.again.is_some()
    }

    /// Values behind losses, if a series asks for them.
    pub(crate) fn notes(&self) -> &[Note] {
        let notes = self.loss.as_ref().and_then(|loss| loss.notes.as_deref());
        notes.map_or(&[], Vec::as_slice)
    }

    /// Whether a packet accepted at `now` will be lost on the link. With retransmissions, the decision is at
    /// its transmission ([`Impairments::repeat`]).
    pub(crate) fn will_lose(&mut self, now: Time) -> bool {
        self.again.is_none() && self.loss.as_mut().is_some_and(|loss| loss.drops(now))
    }

    /// Draws the delay of a packet that was accepted at `now` and is on the wire until `ended`; returns whether it is lost.
    #[inline(never)]
    pub(crate) fn vary(&mut self, delay: &mut Duration, now: Time, ended: Time) -> bool {
        if let Some(jitter) = &mut self.jitter {
            *delay = jitter.delay(now, ended);
        }
        let Some((after, lost)) = self.repeat(now, ended) else { return false };
        *delay = after;
        lost
    }

    /// The delay to the far end of a packet accepted at `now` whose transmission ends at `ended`, and whether
    /// it is lost. `None`: no retransmissions.
    fn repeat(&mut self, now: Time, ended: Time) -> Option<(Duration, bool)> {
        let (again, loss) = (self.again.as_mut()?, self.loss.as_mut()?);
        let noted = loss.notes.as_ref().map_or(0, |notes| notes.len());
        let failed = (0..=again.most).take_while(|_| loss.drops(now)).count() as u32;
        if let Some(notes) = &mut loss.notes {
            // Of the tries only the last of a lost packet counts.
            let last = notes.len() - usize::from(failed > again.most);
            notes.drain(noted..last.max(noted));
        }
        let tries = failed.min(again.most);
        let arrives = ended + again.usual + Duration(again.delay.0 * u64::from(tries));
        // In order, just behind the one before.
        again.last = arrives.max(again.last + Duration(1));
        Some((again.last - ended, failed > again.most))
    }
}

/// Retransmission by the link itself, in order (RLC in acknowledged mode).
#[derive(Debug)]
pub struct Again {
    /// Maximum number of retransmissions.
    pub most: u32,
    /// How much later each time.
    pub delay: Duration,
    /// The link's own delay.
    pub usual: Duration,
    /// When the last one arrives.
    pub last: Time,
}

/// Loss on a link.
#[derive(Debug)]
pub struct Loss {
    /// Which of the accepted packets.
    pub which: LossRule,
    /// Packets accepted at or after this may be lost.
    pub from: Time,
    /// Packets accepted at or after this are not.
    pub until: Time,
    /// The values behind each loss.
    pub notes: Notes,
}

/// A delay that is drawn for each packet.
#[derive(Debug)]
pub struct Jitter {
    /// Mean, seconds.
    pub mean: f64,
    /// Standard deviation, seconds.
    pub deviation: f64,
    /// Correlation of successive numbers and the last one, if there is any (netem's `get_crandom`).
    pub correlated: Option<(f64, f64)>,
    /// Packets accepted at or after this have it.
    pub from: Time,
    /// Packets accepted at or after this do not.
    pub until: Time,
    /// Absent: packets may overtake each other. Else when the last one arrives.
    pub last: Option<Time>,
    /// One number of it for each packet.
    pub stream: Stream,
}

/// No packet is further from the mean than this many deviations: about where netem's table of the normal law ends.
const FARTHEST: f64 = 4.0;

impl Jitter {
    /// How long a packet that was accepted at `now` and is on the wire until `ended` takes to the far end. In
    /// order, it waits
    /// there for the one before.
    pub fn delay(&mut self, now: Time, ended: Time) -> Duration {
        let inside = now >= self.from && now < self.until;
        let drawn = match &mut self.correlated {
            None => self.stream.normal(0.0, 1.0),
            Some((correlation, last)) => {
                *last = self.stream.open01() * (1.0 - *correlation) + *last * *correlation;
                inverse_normal(*last)
            }
        };
        let z = f64::from(inside) * drawn.clamp(-FARTHEST, FARTHEST);
        let drawn = ended + Duration::from_seconds((self.mean + self.deviation * z).max(0.0));
        let Some(last) = &mut self.last else { return drawn - ended };
        // Just behind the one before, not with it: at one instant flows would go by number.
        *last = drawn.max(*last + Duration(1));
        *last - ended
    }
}

/// Which packets a link loses.
#[derive(Debug)]
pub enum LossRule {
    /// Each with this probability; one number of the stream for each accepted packet, at all times.
    Random(f64, Stream),
    /// All in the bad state; one number for each packet.
    Bursts(Bursts, Stream),
    /// The last of so many; how many have passed since.
    Every(u64, u64),
}

/// The two states of the Gilbert-Elliott model.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    /// Probability to enter the bad state.
    enter: f64,
    /// Probability to stay there.
    stay: f64,
    /// Whether it holds.
    bad: bool,
    /// The number that decided on the state, its probability, and whether the state before was the bad one.
    /// Known for the first packet, then only if losses are noted.
    drawn: (f64, f64, bool),
}

impl LossRule {
    /// Losses of this share in bursts of this mean length (Gilbert 1960; Elliott 1963): the chain begins as it is in the long run.
    pub fn bursts(share: f64, burst: f64, mut stream: Stream) -> LossRule {
        let first = stream.open01();
        let (enter, stay) = (share / (burst * (1.0 - share)), 1.0 - 1.0 / burst);
        LossRule::Bursts(Bursts { enter, stay, bad: first < share, drawn: (first, share, false) }, stream)
    }
}

impl Loss {
    /// Whether a packet accepted at `now` will be lost.
    pub fn drops(&mut self, now: Time) -> bool {
        if self.notes.is_some() { self.drops_noted(now) } else { self.decide(now) }
    }

    /// The same, and notes the values behind a loss.
    #[cold]
    #[inline(never)]
    fn drops_noted(&mut self, now: Time) -> bool {
        let (drawn, values) = match &self.which {
            LossRule::Random(probability, stream) => {
                let draw = stream.clone().open01();
                (None, vec![(DRAW, draw), ("probability", *probability)])
            }
            LossRule::Bursts(it, stream) => {
                let (draw, probability, stays) = it.drawn;
                let next = (stream.clone().open01(), if it.bad { it.stay } else { it.enter }, it.bad);
                let stays = f64::from(u8::from(stays));
                (Some(next), vec![(DRAW, draw), ("probability", probability), ("stays", stays)])
            }
            LossRule::Every(..) => (None, Vec::new()),
        };
        let lost = self.decide(now);
        if let (LossRule::Bursts(it, _), Some(drawn)) = (&mut self.which, drawn) {
            it.drawn = drawn;
        }
        if let Some(notes) = self.notes.as_mut().filter(|_| lost) {
            notes.push(Note { at: now, values });
        }
        lost
    }

    #[inline]
    fn decide(&mut self, now: Time) -> bool {
        let inside = now >= self.from && now < self.until;
        match &mut self.which {
            LossRule::Random(probability, stream) => (stream.open01() < *probability) && inside,
            LossRule::Bursts(it, stream) => {
                let lost = it.bad;
                it.bad = stream.open01() < if lost { it.stay } else { it.enter };
                lost && inside
            }
            LossRule::Every(nth, passed) => {
                *passed = (*passed + u64::from(inside)) % *nth;
                inside && *passed == 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share of 2 % in bursts of 5: what the two states give, within four standard errors.
    #[test]
    fn bursts_have_their_share_and_length() {
        let which = LossRule::bursts(0.02, 5.0, Stream::new(1, "loss"));
        let mut loss = Loss { which, from: Time::ZERO, until: Time::NEVER, notes: None };
        const PACKETS: u32 = 1_000_000;
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for n in 0..PACKETS {
            let hit = loss.drops(Time(u64::from(n)));
            lost += u32::from(hit);
            bursts += u32::from(hit && !before);
            before = hit;
        }
        let (share, length) = (f64::from(lost) / f64::from(PACKETS), f64::from(lost) / f64::from(bursts));
        assert!((share - 0.02).abs() < 4.0 * 0.02 * (9.0 / 20_000f64).sqrt(), "{share}");
        assert!((length - 5.0).abs() < 4.0 * (20f64 / 4_000.0).sqrt(), "{length}");
        let mut single = Loss {
            which: LossRule::bursts(0.2, 1.0, Stream::new(1, "loss")),
            notes: Some(Box::default()),
            ..loss
        };
        let lost: Vec<bool> = (0..1000).map(|n| single.drops(Time(n))).collect();
        assert!(lost.windows(2).all(|two| !(two[0] && two[1])), "no burst of 1 is longer");
        let notes = single.notes.expect("noted");
        assert_eq!(notes.len(), lost.iter().filter(|lost| **lost).count());
        // Each lost packet entered the bad state with 0.2 / (1 - 0.2). The first packet is in it with 0.2.
        for note in notes.iter().filter(|note| note.at > Time::ZERO) {
            let [(_, draw), (_, probability), (_, stays)] = note.values[..] else { panic!("three values") };
            assert!(draw < probability && (probability - 0.25).abs() < 1e-12 && stays == 0.0, "{note:?}");
        }
    }

    /// netem's recursion (`get_crandom`), simulated with another generator and another inverse of the normal
    /// distribution: deviation and correlation of 400 000 numbers.
    #[test]
    fn correlated_jitter_is_netems() {
        const N: usize = 400_000;
        for (correlation, deviation, next) in
            [(0.25, 0.6485, 0.2730), (0.5, 0.4538, 0.5106), (0.9, 0.1683, 0.8998)]
        {
            let mut jitter = Jitter {
                mean: 1.0,
                deviation: 0.1,
                correlated: Some((correlation, 0.5)),
                from: Time::ZERO,
                until: Time::NEVER,
                last: None,
                stream: Stream::new(1, "jitter"),
            };
            let z: Vec<f64> =
                (0..N).map(|_| (jitter.delay(Time::ZERO, Time::ZERO).seconds() - 1.0) / 0.1).collect();
            let mean = z.iter().sum::<f64>() / N as f64;
            let moment = |lag: usize| {
                z.iter().zip(&z[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (N - lag) as f64
            };
            let found = moment(0).sqrt();
            assert!((found / deviation - 1.0).abs() < 0.01, "{correlation}: {found}");
            assert!((moment(1) / moment(0) - next).abs() < 0.01, "{correlation}: {}", moment(1) / moment(0));
        }
    }

    /// Sent again until it arrives, in order; after `most` failures it is lost.
    #[test]
    fn what_is_lost_is_sent_again() {
        let loss = Loss { which: LossRule::Every(2, 0), from: Time::ZERO, until: Time::NEVER, notes: None };
        let again = |most| Again { most, delay: Duration(100), usual: Duration(10), last: Time::ZERO };
        let mut link = Impairments { loss: Some(loss), jitter: None, again: Some(again(3)) };
        // Of the tries every second fails: 1 passes, 2 fails and 3 passes, 4 fails and 5 passes.
        let of = |link: &mut Impairments, at: u64| {
            link.repeat(Time(at), Time(at)).map(|(delay, lost)| (at + delay.0, lost))
        };
        assert_eq!(of(&mut link, 0), Some((10, false)));
        assert_eq!(of(&mut link, 20), Some((130, false)));
        assert_eq!(of(&mut link, 40), Some((150, false)));
        assert!(!link.will_lose(Time(50)));
        let all = Loss { which: LossRule::Every(1, 0), from: Time::ZERO, until: Time(100), notes: None };
        let mut dead = Impairments { loss: Some(all), jitter: None, again: Some(again(3)) };
        assert_eq!(of(&mut dead, 0), Some((310, true)));
        assert_eq!(of(&mut dead, 50), Some((360, true)));
        assert_eq!(of(&mut dead, 100), Some((361, false)), "behind the one before");
    }

    #[test]
    fn every_third_packet_inside_its_time_is_lost() {
        let mut loss = Loss { which: LossRule::Every(3, 0), from: Time(10), until: Time(20), notes: None };
        let lost: Vec<u64> = (5..25).filter(|now| loss.drops(Time(*now))).collect();
        assert_eq!(lost, [12, 15, 18]); // the third, sixth and ninth of 10 to 19
    }
}
