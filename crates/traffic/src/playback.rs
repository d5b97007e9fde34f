//! Playback of a video: buffer level, playing and stalls.
//!
//! Video arrives and is played at one second per second. Between arrivals the buffer falls linearly, so the
//! crossing of a threshold is computed without a timer. A playback is updated at arrivals, at observations,
//! and at the end of a run. Its events give stalls, their durations and the time played for any part of the
//! run.

use evenflow_base::schema::{Problem, Values};
use evenflow_base::{Duration, Heap, Time};

/// Where playback starts, resumes and stalls: seconds of video in the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// From which a video starts.
    pub start: f64,
    /// From which it resumes after a stall.
    pub resume: f64,
    /// Below which it stalls.
    pub stall: f64,
    /// Whether it starts and resumes only above the first two, and not as soon as they are reached.
    pub above: bool,
}

impl Thresholds {
    /// Errors in them; `start` and `resume` are the names of their parameters. The second may be absent.
    pub(crate) fn check(&self, values: &Values, start: &'static str, resume: &'static str) -> Vec<Problem> {
        let too_low = |(name, at): &(&'static str, f64)| *at <= self.stall && values.get(name).is_some();
        let why = |at: f64| {
            let stall = self.stall;
            format!(
                "must be more than {stall} s, the stall threshold, but is {at} s: it would stall as soon as \
                 it plays"
            )
        };
        let both = [(start, self.start), (resume, self.resume)];
        both.into_iter().filter(too_low).map(|(name, at)| (name, why(at))).collect()
    }
}

/// Something that happened to a viewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// A video is asked for.
    Asked,
    /// A part of it, or all, is asked for: its level, and its bitrate in bit/s.
    Part(u32, f64),
    /// So much of it has come in at this level, in the order in which it is shown.
    Came(u32, Duration),
    /// It begins to play.
    Starts,
    /// The buffer has run down.
    Stalls,
    /// It plays on.
    Resumes,
    /// All of it has been shown.
    Ends,
    /// The viewer gives it up, or has lost it.
    Leaves,
}

/// State of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screen {
    /// Nothing.
    Off,
    /// A video that has not started.
    Waiting,
    Playing,
    Stalled,
}

/// A player's buffer and its screen.
#[derive(Clone, Debug)]
pub struct Playback {
    thresholds: Thresholds,
    screen: Screen,
    /// How much of the video has come in.
    content: Duration,
    /// Whether that is all of it.
    whole: bool,
    /// How much of it had been shown at `since`.
    shown: Duration,
    since: Time,
    moments: Vec<(Time, Moment)>,
}

impl Playback {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.moments.heap_bytes()
    }

    /// A player that shows nothing.
    pub fn new(thresholds: Thresholds) -> Playback {
        Playback {
            thresholds,
            screen: Screen::Off,
            content: Duration::ZERO,
            whole: false,
            shown: Duration::ZERO,
            since: Time::ZERO,
            moments: Vec::new(),
        }
    }

    /// A video is asked for.
    pub fn ask(&mut self, now: Time) {
        self.advance(now);
        (self.screen, self.content, self.whole) = (Screen::Waiting, Duration::ZERO, false);
        (self.shown, self.since) = (Duration::ZERO, now);
        self.moments.push((now, Moment::Asked));
    }

    /// A part of the video is asked for.
    pub fn ask_part(&mut self, level: usize, bitrate: f64, now: Time) {
        self.advance(now);
        self.moments.push((now, Moment::Part(level as u32, bitrate)));
    }

    /// `content` seconds of the video have come in by now, which is the `whole` of it or not.
    pub fn receive(&mut self, content: f64, whole: bool, now: Time) {
        self.advance(now);
        (self.content, self.whole) = (Duration::from_seconds(content), whole);
        let from = |at: f64| {
            let (buffered, at) = (self.unseen(), Duration::from_seconds(at));
            whole || buffered > at || (!self.thresholds.above && buffered == at)
        };
        let (goes_on, what) = match self.screen {
            Screen::Waiting => (from(self.thresholds.start), Moment::Starts),
            Screen::Stalled => (from(self.thresholds.resume), Moment::Resumes),
            Screen::Off | Screen::Playing => return,
        };
        if goes_on {
            (self.screen, self.since) = (Screen::Playing, now);
            self.moments.push((now, what));
        }
    }

    /// The next `seconds` of the video have come in at this level; `content` and `whole` as in [`Playback::receive`].
    pub fn receive_part(&mut self, level: usize, seconds: f64, content: f64, whole: bool, now: Time) {
        self.advance(now);
        if self.screen != Screen::Off {
            self.moments.push((now, Moment::Came(level as u32, Duration::from_seconds(seconds))));
        }
        self.receive(content, whole, now);
    }

    /// The viewer abandons the current video, or has lost it.
    pub fn leave(&mut self, now: Time) {
        self.advance(now);
        if self.screen != Screen::Off {
            self.screen = Screen::Off;
            self.moments.push((now, Moment::Leaves));
        }
    }

    /// Unplayed content at `since`.
    fn unseen(&self) -> Duration {
        Duration(self.content.0.saturating_sub(self.shown.0))
    }

    /// Instant at which the buffer falls to this level, if playback continues.
    fn left_at(&self, left: Duration) -> Time {
        self.since + Duration(self.unseen().0.saturating_sub(left.0))
    }

    /// Events without an arrival: the end of the video, or a stall from the instant at which the buffer fell
    /// below its threshold.
    pub fn advance(&mut self, now: Time) {
        if self.screen != Screen::Playing {
            return;
        }
        let left = if self.whole { 0.0 } else { self.thresholds.stall };
        let at = self.left_at(Duration::from_seconds(left));
        if at > now || (at == now && !self.whole) {
            return;
        }
        self.shown = self.shown + (at - self.since);
        self.since = at;
        let (screen, what) =
            if self.whole { (Screen::Off, Moment::Ends) } else { (Screen::Stalled, Moment::Stalls) };
        self.screen = screen;
        self.moments.push((at, what));
    }

    /// When the video will have been shown; known once all of it has come in.
    pub fn ends(&self) -> Option<Time> {
        (self.whole && self.screen == Screen::Playing).then(|| self.left_at(Duration::ZERO))
    }

    /// Whether it plays; as of the last time it was brought up to date.
    pub fn plays(&self) -> bool {
        self.screen == Screen::Playing
    }

    /// Whether it is stalled; as of the last update.
    pub fn is_stalled(&self) -> bool {
        self.screen == Screen::Stalled
    }

    /// Seconds of video in the buffer.
    pub fn buffered(&self, now: Time) -> f64 {
        let mut then = Playback { moments: Vec::new(), ..*self };
        then.advance(now);
        let playing = if then.plays() { now - then.since } else { Duration::ZERO };
        match then.screen {
            Screen::Off => 0.0,
            _ => Duration(then.unseen().0.saturating_sub(playing.0)).seconds(),
        }
    }

    /// Events up to `now`, in order.
    pub fn moments(&self, now: Time) -> Vec<(Time, Moment)> {
        let mut then = self.clone();
        then.advance(now);
        then.moments
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::app::testing::at;

    const YOUTUBE: Thresholds = Thresholds { start: 2.2, resume: 2.2, stall: 0.4, above: true };

    fn watching(thresholds: Thresholds) -> Playback {
        let mut playback = Playback::new(thresholds);
        playback.ask(Time::ZERO);
        playback
    }

    /// Video of 1,128 kbit/s comes in at 0.4 Mbit/s. It plays for 1.8 s / (1 - 0.4 / 1.128) = 2.789 s, and stalls for
    /// 1.8 s x 1.128 / 0.4 = 5.076 s.
    #[test]
    fn plays_and_stalls_in_turn_where_video_comes_too_slowly() {
        let mut playback = watching(YOUTUBE);
        let rate: f64 = 0.4 / 1.128;
        for ms in 1..60_000u64 {
            playback.receive(rate * ms as f64 / 1e3, false, at(ms));
        }
        let moments = playback.moments(at(60_000));
        let after = |what: Moment| -> Vec<f64> {
            let pairs = moments.windows(2).filter(|pair| pair[1].1 == what && pair[0].1 != Moment::Asked);
            pairs.map(|pair| (pair[1].0 - pair[0].0).seconds()).collect()
        };
        let (plays, stalls) = (after(Moment::Stalls), after(Moment::Resumes));
        assert!(plays.len() >= 6 && stalls.len() >= 6, "{moments:?}");
        assert!(plays.iter().all(|s| (s - 1.8 / (1.0 - rate)).abs() < 0.002), "{plays:?}");
        assert!(stalls.iter().all(|s| (s - 1.8 / rate).abs() < 0.002), "{stalls:?}");
    }

    #[test]
    fn crossings_are_exact_between_arrivals() {
        let mut playback = watching(YOUTUBE);
        playback.receive(2.2, false, at(1_000)); // not more than 2.2 s
        playback.receive(2.5, false, at(1_100));
        // 2.5 s - 0.4 s are left to play: below 0.4 s after 3,200 ms.
        assert!((playback.buffered(at(3_000)) - 0.6).abs() < 1e-9);
        assert!((playback.buffered(at(9_000)) - 0.4).abs() < 1e-9);
        playback.receive(4.2, false, at(5_000)); // 2.1 s in the buffer
        playback.receive(4.4, false, at(5_500)); // 2.3 s
        playback.receive(10.0, true, at(6_000));
        let expected = [
            (at(0), Moment::Asked),
            (at(1_100), Moment::Starts),
            (at(3_200), Moment::Stalls),
            (at(5_500), Moment::Resumes),
            (at(5_500 + 10_000 - 2_100), Moment::Ends),
        ];
        assert_eq!(playback.ends(), Some(at(13_400)));
        assert_eq!(playback.moments(at(13_399)), expected[..4]);
        assert_eq!(playback.moments(at(20_000)), expected);
        assert_eq!(playback.moments(at(13_400)), expected);
    }

    #[test]
    fn what_arrives_as_the_threshold_is_reached_comes_in_time() {
        let mut playback = watching(YOUTUBE);
        playback.receive(3.0, false, at(0));
        playback.receive(3.5, false, at(2_600)); // 0.4 s are left, and not less
        assert_eq!(playback.moments(at(3_100)).len(), 2);
        assert_eq!(playback.moments(at(3_101)).last(), Some(&(at(3_100), Moment::Stalls)));
    }

    #[test]
    fn the_end_of_a_file_is_no_stall_and_a_short_file_starts_below_the_threshold() {
        let mut playback = watching(YOUTUBE);
        playback.receive(1.5, true, at(500));
        assert_eq!(playback.moments(at(9_000))[1..], [(at(500), Moment::Starts), (at(2_000), Moment::Ends)]);
        let mut stalled = watching(YOUTUBE);
        stalled.receive(2.3, false, at(100));
        stalled.receive(2.6, true, at(4_000)); // stalled since 2,000 ms, 0.7 s left
        let moments = stalled.moments(at(9_000));
        assert_eq!(
            moments[2..],
            [(at(2_000), Moment::Stalls), (at(4_000), Moment::Resumes), (at(4_700), Moment::Ends)]
        );
    }

    #[test]
    fn thresholds_that_chunks_reach() {
        let chunks = Thresholds { start: 4.0, resume: 2.0, stall: 0.0, above: false };
        let mut playback = watching(chunks);
        playback.receive(2.0, false, at(300));
        playback.receive(4.0, false, at(600));
        playback.receive(6.0, false, at(5_000));
        playback.leave(at(6_000));
        let expected = [
            (at(0), Moment::Asked),
            (at(600), Moment::Starts),
            (at(4_600), Moment::Stalls),
            (at(5_000), Moment::Resumes),
            (at(6_000), Moment::Leaves),
        ];
        assert_eq!(playback.moments(at(9_000)), expected);
    }

    proptest! {
        /// The same by looking every millisecond: the buffer is never negative, and what was played and waited is the time that has
        /// passed.
        #[test]
        fn as_somebody_who_looks_every_millisecond_sees_it(
            gaps in prop::collection::vec((1u64..4_000, 1u32..3_000), 1..40), above: bool, start in 1u32..40, stall in 0u32..10,
            whole: bool,
        ) {
            let (start, stall) = (f64::from(start) / 10.0 + f64::from(stall) / 10.0, f64::from(stall) / 10.0);
            let thresholds = Thresholds { start, resume: start, stall, above };
            let mut playback = watching(thresholds);
            // Another player, in whole milliseconds.
            let reached = |buffer: i64, at: f64| {
                let at = (at * 1e3).round() as i64;
                if above { buffer > at } else { buffer >= at }
            };
            let (mut content, mut played, mut now) = (0i64, 0i64, 0u64);
            let (mut plays, mut begun, mut over) = (false, false, false);
            let mut stalls = Vec::new();
            let threshold = (stall * 1e3).round() as i64;
            for (i, (gap, bytes)) in gaps.iter().enumerate() {
                for ms in now..now + gap {
                    // Buffer at `ms` after arrivals; it plays until `ms + 1` if it is not about to fall below.
                    if plays && content - played <= threshold {
                        (plays, begun) = (false, true);
                        stalls.push(ms);
                    }
                    played += i64::from(plays);
                }
                now += gap;
                content += i64::from(*bytes);
                let last = whole && i + 1 == gaps.len();
                playback.receive(content as f64 / 1e3, last, at(now));
                if !plays && !over && (last || reached(content - played, start)) {
                    (plays, begun) = (true, true);
                }
                over |= last;
                let buffered = playback.buffered(at(now));
                prop_assert!(buffered >= -1e-9);
                prop_assert!((buffered - (content - played) as f64 / 1e3).abs() < 1e-6, "{buffered} {content} {played}");
            }
            let moments = playback.moments(at(now));
            let found: Vec<Time> =
                moments.iter().filter(|(_, what)| *what == Moment::Stalls).map(|(t, _)| *t).collect();
            prop_assert_eq!(found, stalls.into_iter().map(at).collect::<Vec<_>>());
            prop_assert_eq!(moments.iter().any(|(_, what)| *what == Moment::Starts), begun);
            prop_assert!(moments.is_sorted_by_key(|(t, _)| *t));
        }
    }
}
