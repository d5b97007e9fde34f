//! The fields of a record, with unit, window and formula.

/// A field of a run's JSON.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its path; names in capitals are placeholders.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The part of the run it covers.
    pub window: &'static str,
    /// How it is computed.
    pub formula: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// The version of the record that added it.
    pub since: u32,
}

/// The version of the record, raised by one when fields are added. Since version 1 the hash covers only
/// measurements.
pub const VERSION: u32 = 3;

/// From the end of the warm-up.
const WINDOW: &str = "[warmup, duration]";
/// From the beginning.
const RUN: &str = "whole run";

/// Declares fields with doc comment, name, unit, window, formula and first version.
macro_rules! metrics {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal: $unit:literal, $window:expr $(, $formula:literal)? $(=> $since:literal)?;
    )*) => {
        /// All fields. W is the length of the window, n the number of users of a group.
        pub static METRICS: &[Metric] = &[$(Metric {
            name: $name,
            unit: $unit,
            window: $window,
            formula: concat!("" $(, $formula)?),
            doc: concat!($($doc),+).trim_ascii_start(),
            since: last!(1 $(, $since)?),
        }),*];
    };
}

metrics! {
    /// Hash of the scenario.
    "scenario_hash": "", RUN, "SHA-256 of the canonical scenario, 16 digits";
    /// Hash of the measurements: equal for equal (scenario, seed), on any machine and with any number of
    /// threads.
    "record_hash": "", RUN,
        "SHA-256 of the record and its series, 16 digits; without scenario_hash, events, \
         record_version and provenance";
    /// Version of the record. Later versions add fields; each field has the version that added it.
    "record_version": "1", RUN;
    /// The seed of all random streams.
    "seed": "1", RUN;
    /// Start and end of the measurement.
    "window_s": "s", RUN, "[warmup, duration]";
    /// Engine of the run; provenance, outside the record.
    "engine": "", RUN, "{id: hash of the engine's sources and lock file, version, profile: release or debug}";
    /// Names of the reason codes in lists of drops and marks, in their order. record_hash covers only names
    /// that occur in the lists.
    "event_reasons": "", RUN;
    /// Events in the event loop. It depends on the simulation of links, so record_hash excludes it.
    "events": "1", RUN;
    /// Link crossings of all packets, including ACKs.
    "packet_hops": "1", RUN;
    /// Wall-clock time of the run, from building the network to the record; provenance, outside the record.
    "wall_s": "s", RUN;
    /// Processor time of the run's thread; provenance, outside the record.
    "cpu_s": "s", RUN;
    /// Share of link crossings that needed no event; provenance, outside the record.
    "folded": "1", RUN;
    /// Number of users of the group.
    "groups.G.users": "1", RUN, "n";
    /// Application bytes delivered in order, without duplicates; mean over users.
    "groups.G.goodput_bps": "bit/s", WINDOW, "8 * sum of in-order application bytes / (W n)";
    /// Bytes of data packets that reached the end of the path, with headers and duplicates; mean over users.
    "groups.G.throughput_bps": "bit/s", WINDOW, "8 * sum of bytes at the end of the path / (W n)";
    /// Goodput of each user.
    "groups.G.users_goodput_bps": "bit/s", WINDOW, "8 * in-order application bytes of a user / W";
    /// Throughput of each user.
    "groups.G.users_throughput_bps": "bit/s", WINDOW, "8 * bytes of a user at the end of the path / W";
    /// Throughput of each flow, in the order of users.
    "groups.G.flows_throughput_bps": "bit/s", WINDOW, "8 * bytes of a flow at the end of the path / W";
    /// Data packets sent, including retransmissions.
    "groups.G.sent_packets": "packets", WINDOW;
    /// Retransmitted data packets.
    "groups.G.retransmits": "packets", WINDOW;
    /// Dropped data packets of the group, at all components.
    "groups.G.losses": "packets", WINDOW;
    /// Data packets of the group that arrived with a congestion mark.
    "groups.G.marks": "packets", WINDOW;
    /// Data packets dropped in the window, divided by data packets sent in it. It may exceed 1 if packets sent
    /// earlier are dropped. Null if none was sent.
    "groups.G.loss_ratio": "1", WINDOW, "losses / sent_packets";
    /// Data packets that reached the end of the path.
    "groups.G.delivered_packets": "packets", WINDOW;
    /// One-way delay of data packets that reached the end of the path, from their transmission by the host:
    /// mean. Null without any, like the following fields.
    "groups.G.delay_s_mean": "s", WINDOW, "mean over delivered_packets" => 3;
    /// One-way delay: 5th percentile.
    "groups.G.delay_s_p5": "s", WINDOW, "5th percentile over delivered_packets, within 0.8 %" => 3;
    /// One-way delay: median.
    "groups.G.delay_s_p50": "s", WINDOW, "50th percentile over delivered_packets, within 0.8 %" => 3;
    /// One-way delay: 95th percentile.
    "groups.G.delay_s_p95": "s", WINDOW, "95th percentile over delivered_packets, within 0.8 %" => 3;
    /// One-way delay: 99th percentile.
    "groups.G.delay_s_p99": "s", WINDOW, "99th percentile over delivered_packets, within 0.8 %" => 3;
    /// One-way delay: maximum.
    "groups.G.delay_s_max": "s", WINDOW, "maximum over delivered_packets" => 3;
    /// Median one-way delay by user, with the histogram groups.G.users.delay. Null for a user without
    /// packets.
    "groups.G.users_delay_s_p50": "s", WINDOW, "50th percentile over a user's packets, within 0.8 %" => 3;
    /// 95th percentile of the one-way delay by user, with the histogram groups.G.users.delay.
    "groups.G.users_delay_s_p95": "s", WINDOW, "95th percentile over a user's packets, within 0.8 %" => 3;
    /// 99th percentile of the one-way delay by user, with the histogram groups.G.users.delay.
    "groups.G.users_delay_s_p99": "s", WINDOW, "99th percentile over a user's packets, within 0.8 %" => 3;
    /// Round-trip time as the group's TCP senders measure it, in the resolution of their clocks: mean. For
    /// groups with TCP. Null without samples, like the following fields.
    "groups.G.rtt_s_mean": "s", WINDOW, "mean over all samples of the group's TCP senders" => 3;
    /// Round-trip time: 5th percentile.
    "groups.G.rtt_s_p5": "s", WINDOW, "5th percentile over these samples, within 0.8 %" => 3;
    /// Round-trip time: median.
    "groups.G.rtt_s_p50": "s", WINDOW, "50th percentile over these samples, within 0.8 %" => 3;
    /// Round-trip time: 95th percentile.
    "groups.G.rtt_s_p95": "s", WINDOW, "95th percentile over these samples, within 0.8 %" => 3;
    /// Round-trip time: 99th percentile.
    "groups.G.rtt_s_p99": "s", WINDOW, "99th percentile over these samples, within 0.8 %" => 3;
    /// Round-trip time: maximum.
    "groups.G.rtt_s_max": "s", WINDOW, "maximum over these samples" => 3;
    /// Responsiveness in round trips per minute, with the histogram groups.G.rtt: 60 s over the mean of the
    /// shortest 95 % of round trips (draft-ietf-ippm-responsiveness-06).
    "groups.G.responsiveness_rpm": "1/min", WINDOW, "60 / mean of the shortest 95 % of samples" => 3;
    /// Quality of Outcome in percent, with the histogram groups.G.delay, for the example application of
    /// draft-ietf-ippm-qoo-10: 4 Mbit/s, optimal up to 200 ms at 99 %, 300 ms at 99.9 % and 1 % loss, unacceptable
    /// from 500 ms, 600 ms and 5 %. `ef.qoe.quality_of_outcome` takes other requirements.
    "groups.G.quality_of_outcome": "%", WINDOW, "least score of latency, loss and throughput" => 3;
    /// Mean congestion window.
    "groups.G.window_packets_mean": "packets", WINDOW, "time average over the group's TCP flows";
    /// Share of time with the congestion window at its minimum.
    "groups.G.window_at_floor": "1", WINDOW, "share of time, mean over the group's TCP flows";
    /// TCP flows that aborted after too many retransmissions.
    "groups.G.flows_dead": "1", RUN;
    /// Counters of the group's TCP senders, for groups with TCP.
    "groups.G.senders": "", WINDOW, "sums over the group's TCP senders" => 2;
    /// Window reductions after a loss detected by ACKs or probes.
    "groups.G.senders.reductions.loss": "1", WINDOW => 2;
    /// Window reductions after congestion marks.
    "groups.G.senders.reductions.mark": "1", WINDOW => 2;
    /// Window reductions after a timeout.
    "groups.G.senders.reductions.timeout": "1", WINDOW => 2;
    /// Decreases of the slow-start threshold.
    "groups.G.senders.threshold_falls": "1", WINDOW => 2;
    /// Window reductions after an idle period of the sender.
    "groups.G.senders.restarts": "1", WINDOW => 2;
    /// Retransmission timeouts, including repeated ones.
    "groups.G.senders.timeouts": "1", WINDOW => 2;
    /// Time in which the congestion window limited a sender.
    "groups.G.senders.limited_s.congestion": "s", WINDOW, "sum over connections" => 2;
    /// Time in which the receive window limited a sender.
    "groups.G.senders.limited_s.receive": "s", WINDOW, "sum over connections" => 2;
    /// Time without data to send, or with a full send buffer.
    "groups.G.senders.limited_s.application": "s", WINDOW, "sum over connections" => 2;
    /// Congestion signals received and reports sent, for groups with conex. For honest senders and a whole
    /// run, reports = told.loss + told.mark - told.needless - owed - dropped. Each run checks this for each
    /// sender. With lost_reports = "repeated", repeated reports are added.
    "groups.G.conex": "", WINDOW, "sums over the group's ConEx senders" => 2;
    /// Unit of owed and dropped: packets or bytes.
    "groups.G.conex.unit": "", RUN => 2;
    /// Data packets sent that report a loss.
    "groups.G.conex.reports.loss.packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire.
    "groups.G.conex.reports.loss.bytes": "B", WINDOW => 2;
    /// Data packets sent that report a congestion mark.
    "groups.G.conex.reports.mark.packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire.
    "groups.G.conex.reports.mark.bytes": "B", WINDOW => 2;
    /// Data packets sent as credit.
    "groups.G.conex.reports.credit.packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire.
    "groups.G.conex.reports.credit.bytes": "B", WINDOW => 2;
    /// Retransmitted packets: losses as the senders know them.
    "groups.G.conex.told.loss.packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire.
    "groups.G.conex.told.loss.bytes": "B", WINDOW => 2;
    /// Marks reported by receivers; with classic feedback, reductions for marks.
    "groups.G.conex.told.mark.packets": "packets", WINDOW => 2;
    /// Bytes on the wire of these packets.
    "groups.G.conex.told.mark.bytes": "B", WINDOW => 2;
    /// Spurious retransmissions, with undo_spurious.
    "groups.G.conex.told.needless.packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire.
    "groups.G.conex.told.needless.bytes": "B", WINDOW => 2;
    /// Packets lost or marked, as known by the senders.
    "groups.G.conex.congestion.packets": "packets", WINDOW, "told.loss + told.mark - told.needless" => 2;
    /// Bytes of these packets on the wire: the congestion-volume.
    "groups.G.conex.congestion.bytes": "B", WINDOW, "as congestion.packets, in bytes" => 2;
    /// Losses not yet reported by open flows, or left for the user's next flow. Negative: reported in advance.
    "groups.G.conex.owed.loss": "unit", "at the end" => 2;
    /// As owed.loss, for marks.
    "groups.G.conex.owed.mark": "unit", "at the end" => 2;
    /// Losses that finished flows never reported. Negative: reported in advance.
    "groups.G.conex.dropped.loss": "unit", RUN => 2;
    /// As dropped.loss, for marks.
    "groups.G.conex.dropped.mark": "unit", RUN => 2;
    /// Reports of losses and marks, by user.
    "groups.G.conex.users_report_packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire, by user.
    "groups.G.conex.users_report_bytes": "B", WINDOW => 2;
    /// Packets lost or marked, as known by the senders, by user.
    "groups.G.conex.users_congestion_packets": "packets", WINDOW => 2;
    /// Bytes of these packets on the wire, by user.
    "groups.G.conex.users_congestion_bytes": "B", WINDOW => 2;
    /// Transfers of applications, for traffic that opens flows during the run.
    "groups.G.transfers": "", WINDOW => 2;
    /// Transfers started.
    "groups.G.transfers.started": "1", WINDOW => 2;
    /// Transfers with all bytes delivered.
    "groups.G.transfers.completed": "1", WINDOW => 2;
    /// Transfers abandoned by the application.
    "groups.G.transfers.abandoned": "1", WINDOW => 2;
    /// Transfers with a connection that was reset or aborted.
    "groups.G.transfers.failed": "1", WINDOW => 2;
    /// Mean number of transfers in progress.
    "groups.G.transfers.in_progress_mean": "1", WINDOW, "time average, sum over users" => 2;
    /// Application bytes of completed transfers.
    "groups.G.transfers.bytes": "B", WINDOW, "sum over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: mean.
    "groups.G.transfers.first_byte_s_mean": "s", WINDOW, "mean over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: standard deviation.
    "groups.G.transfers.first_byte_s_sd": "s", WINDOW, "standard deviation over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: median.
    "groups.G.transfers.first_byte_s_p50": "s", WINDOW,
        "50th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: 95th percentile.
    "groups.G.transfers.first_byte_s_p95": "s", WINDOW,
        "95th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: 99th percentile.
    "groups.G.transfers.first_byte_s_p99": "s", WINDOW,
        "99th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: maximum.
    "groups.G.transfers.first_byte_s_max": "s", WINDOW, "maximum over completed transfers" => 2;
    /// Time from the start of a transfer to its end: mean.
    "groups.G.transfers.completion_s_mean": "s", WINDOW, "mean over completed transfers" => 2;
    /// Time from the start of a transfer to its end: standard deviation.
    "groups.G.transfers.completion_s_sd": "s", WINDOW, "standard deviation over completed transfers" => 2;
    /// Time from the start of a transfer to its end: median.
    "groups.G.transfers.completion_s_p50": "s", WINDOW,
        "50th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its end: 95th percentile.
    "groups.G.transfers.completion_s_p95": "s", WINDOW,
        "95th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its end: 99th percentile.
    "groups.G.transfers.completion_s_p99": "s", WINDOW,
        "99th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its end: maximum.
    "groups.G.transfers.completion_s_max": "s", WINDOW, "maximum over completed transfers" => 2;
    /// Transfers started, by user.
    "groups.G.transfers.users_started": "1", WINDOW => 2;
    /// Transfers completed, by user.
    "groups.G.transfers.users_completed": "1", WINDOW => 2;
    /// Transfers abandoned, by user.
    "groups.G.transfers.users_abandoned": "1", WINDOW => 2;
    /// Transfers failed, by user.
    "groups.G.transfers.users_failed": "1", WINDOW => 2;
    /// Application bytes of completed transfers, by user.
    "groups.G.transfers.users_bytes": "B", WINDOW => 2;
    /// Total completion time of completed transfers, by user.
    "groups.G.transfers.users_completion_s": "s", WINDOW, "sum over completed transfers" => 2;
    /// Measurements of viewers, for groups that play video.
    "groups.G.video": "", WINDOW => 2;
    /// Videos requested.
    "groups.G.video.asked": "1", WINDOW => 2;
    /// Videos that started to play.
    "groups.G.video.started": "1", WINDOW => 2;
    /// Videos played to the end.
    "groups.G.video.finished": "1", WINDOW => 2;
    /// Videos abandoned, or lost with their connection.
    "groups.G.video.left": "1", WINDOW => 2;
    /// Time from the request for a video to its start: mean.
    "groups.G.video.startup_s_mean": "s", WINDOW, "mean over videos that start in the window" => 2;
    /// Time from the request for a video to its start: maximum.
    "groups.G.video.startup_s_max": "s", WINDOW, "maximum over these" => 2;
    /// Stalls that begin in the window, without the initial wait.
    "groups.G.video.stalls": "1", WINDOW => 2;
    /// Mean duration of a stall. A stall at the end of the run counts with its duration so far.
    "groups.G.video.stall_s_mean": "s", WINDOW, "mean over stalls that begin in the window" => 2;
    /// Maximum duration of a stall.
    "groups.G.video.stall_s_max": "s", WINDOW, "maximum over these" => 2;
    /// Time of playback.
    "groups.G.video.played_s": "s", WINDOW, "sum over users" => 2;
    /// Time of stalls.
    "groups.G.video.stalled_s": "s", WINDOW, "sum over users" => 2;
    /// Time of users between request and start.
    "groups.G.video.waited_s": "s", WINDOW, "sum over users" => 2;
    /// Mean bitrate of requested videos or chunks.
    "groups.G.video.bitrate_bps": "bit/s", WINDOW,
        "mean over requested videos, or over requested chunks of adaptive video" => 2;
    /// Videos requested, by user.
    "groups.G.video.users_asked": "1", WINDOW => 2;
    /// Videos that started to play, by user.
    "groups.G.video.users_started": "1", WINDOW => 2;
    /// Videos played to the end, by user.
    "groups.G.video.users_finished": "1", WINDOW => 2;
    /// Time at which the last complete video ended, by user; null without any.
    "groups.G.video.users_finished_s": "s", WINDOW => 2;
    /// Videos abandoned or lost, by user.
    "groups.G.video.users_left": "1", WINDOW => 2;
    /// Time from request to start, by user; null without a start.
    "groups.G.video.users_startup_s": "s", WINDOW, "mean over a user's videos that start in the window" => 2;
    /// Stalls that begin in the window, by user.
    "groups.G.video.users_stalls": "1", WINDOW => 2;
    /// Total duration of these stalls, by user. Divided by users_stalls it gives the mean.
    "groups.G.video.users_stall_s": "s", WINDOW, "sum over the user's stalls that begin in the window" => 2;
    /// Time of playback, by user.
    "groups.G.video.users_played_s": "s", WINDOW => 2;
    /// Time of stalls, by user.
    "groups.G.video.users_stalled_s": "s", WINDOW => 2;
    /// Time between request and start, by user.
    "groups.G.video.users_waited_s": "s", WINDOW => 2;
    /// Mean bitrate of requested videos or chunks, by user; null without requests.
    "groups.G.video.users_bitrate_bps": "bit/s", WINDOW, "as bitrate_bps" => 2;
    /// Chunks requested; only for adaptive video, like the following fields.
    "groups.G.video.chunks": "1", WINDOW => 2;
    /// Chunks with another level than the previous one.
    "groups.G.video.switches": "1", WINDOW => 2;
    /// Chunks requested, by user.
    "groups.G.video.users_chunks": "1", WINDOW => 2;
    /// Chunks with another level than the previous one, by user.
    "groups.G.video.users_switches": "1", WINDOW => 2;
    /// Sum of all bitrate changes, up and down, by user.
    "groups.G.video.users_switched_bps": "bit/s", WINDOW,
        "sum over switches of the difference between the bitrates" => 2;
    /// Requested levels, by user. The first entry is the level at the start of the window, if any.
    "groups.G.video.users_levels": "s, 1", WINDOW, "[instant, level] of each request for another level" => 2;
    /// Levels received, by user. The first entry is as in users_levels.
    "groups.G.video.users_levels_received": "s, 1", WINDOW,
        "[instant, level] of each chunk received at another level" => 2;
    /// Levels played, by user. The first entry is as in users_levels.
    "groups.G.video.users_levels_shown": "s, 1", WINDOW,
        "[instant, level] of each chunk played at another level" => 2;
    /// Chunks completely received while the viewer was present.
    "groups.G.video.chunks_received": "1", WINDOW => 2;
    /// Chunks completely received, by user.
    "groups.G.video.users_chunks_received": "1", WINDOW => 2;
    /// Time of the first request for a video, by user; null without any.
    "groups.G.video.users_asked_s": "s", WINDOW => 2;
    /// Decreases of the servers' slow-start thresholds, by user.
    "groups.G.video.users_threshold_falls": "1", WINDOW, "sum over the servers of a user's video" => 2;
    /// Decreases of the threshold as Linux's tcp_probe logs it, by user. The logged value is
    /// at least 75 % of the window. Each received segment is logged if the window has changed.
    "groups.G.video.users_probed_threshold_falls": "1", WINDOW, "sum over the servers of a user's video" => 2;
    /// Idle periods of a server longer than its retransmission timeout, by user.
    "groups.G.video.users_idle_periods": "1", WINDOW, "sum over the servers of a user's video" => 2;
    /// Idle periods after which the window was reduced, by user.
    "groups.G.video.users_restarts": "1", WINDOW, "sum over the servers of a user's video" => 2;
    /// Retransmission timeouts, repeated ones included, by user.
    "groups.G.video.users_timeouts": "1", WINDOW, "sum over the servers of a user's video" => 2;
    /// Copies of the stage.
    "stages.S.copies": "1", RUN;
    /// Packets that passed the stage in the forward direction.
    "stages.S.passed_packets": "packets", WINDOW, "sum over copies";
    /// Bytes that passed the stage in the forward direction.
    "stages.S.passed_bytes": "B", WINDOW, "sum over copies";
    /// Packets dropped, by reason.
    "stages.S.drops.REASON": "packets", WINDOW, "sum over copies";
    /// Packets marked, by reason.
    "stages.S.marks.REASON": "packets", WINDOW, "sum over copies";
    /// Fields for the reverse direction, for kinds that act on it.
    "stages.S.reverse": "", WINDOW, "as stages.S: passed_packets, passed_bytes, drops, marks" => 2;
    /// Packets that the stage created and sent, for kinds that do.
    "stages.S.sent_packets": "packets", WINDOW, "sum over copies" => 2;
    /// Bytes that the stage created and sent.
    "stages.S.sent_bytes": "B", WINDOW, "sum over copies" => 2;
    /// Each observable of the stage's kind.
    "stages.S.OBSERVABLE": "as declared", RUN, "value at the end, mean over copies";
    /// Each observable for a group's users. Only for congestion-policer and auditor, if the stage is not
    /// shared.
    "stages.S.groups.G.OBSERVABLE": "as declared", RUN, "value at the end, mean over the group's copies" => 2;
    /// Each observable by copy; by user with per = "user".
    "stages.S.groups.G.users_OBSERVABLE": "as declared", RUN, "value at the end" => 2;
    /// Copies of the link.
    "links.L.copies": "1", RUN;
    /// Share of time with a busy transmitter.
    "links.L.utilisation": "1", WINDOW, "busy time / W, mean over copies";
    /// Queue length, without the packet in transmission.
    "links.L.queue_packets_mean": "packets", WINDOW, "time average, mean over copies";
    /// Queueing delay, from acceptance to the start of transmission: mean.
    "links.L.queue_delay_s_mean": "s", WINDOW, "mean over accepted packets, then over copies";
    /// Queueing delay: standard deviation.
    "links.L.queue_delay_s_sd": "s", WINDOW, "standard deviation over accepted packets, mean over copies";
    /// Queueing delay: 5th percentile.
    "links.L.queue_delay_s_p5": "s", WINDOW,
        "5th percentile over accepted packets of all copies, within 6.3 %" => 3;
    /// Queueing delay: median.
    "links.L.queue_delay_s_p50": "s", WINDOW,
        "50th percentile over accepted packets of all copies, within 6.3 %" => 3;
    /// Queueing delay: 95th percentile.
    "links.L.queue_delay_s_p95": "s", WINDOW,
        "95th percentile over accepted packets of all copies, within 6.3 %" => 3;
    /// Queueing delay: 99th percentile.
    "links.L.queue_delay_s_p99": "s", WINDOW, "99th percentile over accepted packets of all copies, within 6.3 %";
    /// Queueing delay: maximum.
    "links.L.queue_delay_s_max": "s", WINDOW, "maximum over accepted packets of all copies";
    /// Packets that arrived at the link.
    "links.L.arrived_packets": "packets", WINDOW, "sum over copies";
    /// Packets whose transmission ended.
    "links.L.delivered_packets": "packets", WINDOW, "sum over copies";
    /// Packets dropped, by reason. `loss` is the link's random loss; the queue has the other reasons.
    "links.L.drops.REASON": "packets", WINDOW, "sum over copies";
    /// Packets marked, by reason. A packet that arrives with a mark counts again.
    "links.L.marks.REASON": "packets", WINDOW, "sum over copies";
    /// Mean queueing delay of a traffic class.
    "links.L.classes.CLASS.queue_delay_s_mean": "s", WINDOW, "mean over accepted packets of the class";
    /// Standard deviation of the queueing delay of a traffic class.
    "links.L.classes.CLASS.queue_delay_s_sd": "s", WINDOW,
        "standard deviation over accepted packets of the class";
    /// Packets of a traffic class whose transmission ended.
    "links.L.classes.CLASS.delivered_packets": "packets", WINDOW, "sum over copies";
    /// Packets of a traffic class that arrived at the link.
    "links.L.classes.CLASS.arrived_packets": "packets", WINDOW, "sum over copies" => 2;
    /// Packets of a traffic class dropped, by reason.
    "links.L.classes.CLASS.drops.REASON": "packets", WINDOW, "sum over copies" => 2;
    /// Packets of a traffic class marked, by reason.
    "links.L.classes.CLASS.marks.REASON": "packets", WINDOW, "sum over copies" => 2;
    /// Queueing delay of a traffic class: 5th percentile. With the histogram links.L.classes.C.queue.delay,
    /// like the following fields.
    "links.L.classes.CLASS.queue_delay_s_p5": "s", WINDOW, "as links.L.queue_delay_s_p5, of the class" => 3;
    /// Queueing delay of a traffic class: median.
    "links.L.classes.CLASS.queue_delay_s_p50": "s", WINDOW, "as links.L.queue_delay_s_p50, of the class" => 3;
    /// Queueing delay of a traffic class: 95th percentile.
    "links.L.classes.CLASS.queue_delay_s_p95": "s", WINDOW, "as links.L.queue_delay_s_p95, of the class" => 3;
    /// Queueing delay of a traffic class: 99th percentile.
    "links.L.classes.CLASS.queue_delay_s_p99": "s", WINDOW, "as links.L.queue_delay_s_p99, of the class" => 3;
    /// Queueing delay of a traffic class: maximum.
    "links.L.classes.CLASS.queue_delay_s_max": "s", WINDOW, "as links.L.queue_delay_s_max, of the class" => 3;
    /// Observables of a class of `htb`; `drops` by reason.
    "links.L.queue.classes.CLASS.OBSERVABLE": "as declared", WINDOW,
        "counters: sum over copies; others: value at the end, mean over copies";
    /// Observables of the leaves of users or flows, as lists. The order is: groups by name, users, flows.
    "links.L.queue.leaves.OBSERVABLE": "as declared", WINDOW, "as links.L.queue.classes";
    /// Observables of `sfq` and `fq-codel`.
    "links.L.queue.OBSERVABLE": "as declared", WINDOW,
        "counters: sum over copies; others: value at the end, mean over copies";
    /// The fields of `links.L` for the reverse direction.
    "links.L.reverse": "", WINDOW, "as links.L";
    /// Histogram of the queue length, if recorded.
    "histograms.links.L.queue.packets": "1", WINDOW, "share of time at each number of waiting packets";
    /// Histogram of the queue length at drops, if recorded.
    "histograms.links.L.queue.at_drop": "packets", WINDOW, "drops at each number of waiting packets";
    /// Histogram of the queueing delay, if recorded. Only bins with packets are listed. Edges are fixed, so
    /// counts of equal bins can be added over runs.
    "histograms.links.L.queue.delay": "s, packets", WINDOW,
        "{low_s, high_s, count}: lists of bins; a bin is at most 6.3 % wide" => 3;
    /// Histogram of the queueing delay of a traffic class, if recorded.
    "histograms.links.L.classes.CLASS.queue.delay": "s, packets", WINDOW,
        "as histograms.links.L.queue.delay" => 3;
    /// Histogram of the one-way delay of a group's data packets, if recorded.
    "histograms.groups.G.delay": "s, packets", WINDOW,
        "{low_s, high_s, count}: lists of bins; a bin is at most 0.8 % wide" => 3;
    /// Histograms of the one-way delay by user, if recorded.
    "histograms.groups.G.users.delay": "s, packets", WINDOW,
        "as histograms.groups.G.delay; count is a list of counts by user" => 3;
    /// Histogram of the samples of the round-trip time, if recorded.
    "histograms.groups.G.rtt": "s, samples", WINDOW, "as histograms.groups.G.delay" => 3;
    /// Histogram of the one-way delay of a group's data packets in a traffic class, if recorded.
    "histograms.groups.G.classes.CLASS.delay": "s, packets", WINDOW, "as histograms.groups.G.delay" => 3;
    /// Histogram of the time to the last byte of completed transfers, if recorded.
    "histograms.groups.G.transfers.completion": "s, transfers", WINDOW,
        "{low_s, high_s, count}: lists of bins; a bin is at most 0.4 % wide" => 3;
    /// Histogram of the time to the first byte of completed transfers, if recorded.
    "histograms.groups.G.transfers.first_byte": "s, transfers", WINDOW,
        "as histograms.groups.G.transfers.completion" => 3;
}
