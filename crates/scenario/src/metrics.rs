//! The fields of a record: what each number of a run means.

/// A field of a run's JSON.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its path; names in capitals stand for the scenario's own.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The part of the run it covers.
    pub window: &'static str,
    /// How it is computed.
    pub formula: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// The version of the record since which it is there.
    pub since: u32,
}

/// The version of the record: raised by one when fields are added. Version 1 is the first whose hash covers what was
/// measured and nothing else.
pub const VERSION: u32 = 2;

/// Counted from the end of the warm-up on.
const WINDOW: &str = "[warmup, duration]";
/// Counted from the beginning.
const RUN: &str = "whole run";

/// Declares the fields: name, unit, window and formula under one doc comment, and the version since which it is there.
macro_rules! metrics {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal: $unit:literal, $window:expr $(, $formula:literal)? $(=> $since:literal)?;
    )*) => {
        /// All of them. W is the length of the window, n the number of users of a group.
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
    /// Version of the record; fields are added with later versions, and each says since which it is there.
    "record_version": "1", RUN;
    /// The seed of all random streams.
    "seed": "1", RUN;
    /// Start and end of the measurement.
    "window_s": "s", RUN, "[warmup, duration]";
    /// Which engine ran; provenance, outside the record.
    "engine": "", RUN, "{id: hash of the engine's sources and lock file, version, profile: release or debug}";
    /// Names of the reason codes in lists of drops and marks, in their order; record_hash covers those that
    /// occur there.
    "event_reasons": "", RUN;
    /// Events the loop handled; depends on how a link is simulated, so not part of record_hash.
    "events": "1", RUN;
    /// Link crossings of all packets, acknowledgements included.
    "packet_hops": "1", RUN;
    /// Time the run took, from building the network to the record; provenance, outside the record.
    "wall_s": "s", RUN;
    /// Processor time of the run's thread; provenance, outside the record.
    "cpu_s": "s", RUN;
    /// Users of the group.
    "groups.G.users": "1", RUN, "n";
    /// Application bytes delivered in order, each once; mean over users.
    "groups.G.goodput_bps": "bit/s", WINDOW, "8 * sum of in-order application bytes / (W n)";
    /// Bytes of all data packets, headers and duplicates included, that reached the end of the path; mean over
    /// users.
    "groups.G.throughput_bps": "bit/s", WINDOW, "8 * sum of bytes at the end of the path / (W n)";
    /// Goodput of each user.
    "groups.G.users_goodput_bps": "bit/s", WINDOW, "8 * in-order application bytes of a user / W";
    /// Throughput of each user.
    "groups.G.users_throughput_bps": "bit/s", WINDOW, "8 * bytes of a user at the end of the path / W";
    /// Throughput of each flow, users one after the other.
    "groups.G.flows_throughput_bps": "bit/s", WINDOW, "8 * bytes of a flow at the end of the path / W";
    /// Data packets sent, repeated ones included.
    "groups.G.sent_packets": "packets", WINDOW;
    /// Retransmitted data packets.
    "groups.G.retransmits": "packets", WINDOW;
    /// Data packets of the group dropped anywhere.
    "groups.G.losses": "packets", WINDOW;
    /// Data packets of the group that arrived with a congestion mark.
    "groups.G.marks": "packets", WINDOW;
    /// Data packets dropped in the window for each that was sent in it; above 1 where more are dropped that
    /// were sent before than are sent. Null if none was sent.
    "groups.G.loss_ratio": "1", WINDOW, "losses / sent_packets";
    /// Data packets that reached the end of the path.
    "groups.G.delivered_packets": "packets", WINDOW;
    /// Mean congestion window.
    "groups.G.window_packets_mean": "packets", WINDOW, "time average over the group's TCP flows";
    /// How much of the time the window stood at its floor.
    "groups.G.window_at_floor": "1", WINDOW, "share of time, mean over the group's TCP flows";
    /// TCP flows that gave up.
    "groups.G.flows_dead": "1", RUN;
    /// Counters of the group's TCP senders, for groups with TCP.
    "groups.G.senders": "", WINDOW, "sums over the group's TCP senders" => 2;
    /// Windows reduced after a loss that ACKs or probes showed.
    "groups.G.senders.reductions.loss": "1", WINDOW => 2;
    /// Windows reduced after congestion marks.
    "groups.G.senders.reductions.mark": "1", WINDOW => 2;
    /// Windows reduced after a timeout.
    "groups.G.senders.reductions.timeout": "1", WINDOW => 2;
    /// Falls of the slow-start threshold.
    "groups.G.senders.threshold_falls": "1", WINDOW => 2;
    /// Windows reduced because a sender had been idle.
    "groups.G.senders.restarts": "1", WINDOW => 2;
    /// Retransmission timeouts, repeated ones included.
    "groups.G.senders.timeouts": "1", WINDOW => 2;
    /// Time in which the congestion window kept a sender from sending more.
    "groups.G.senders.limited_s.congestion": "s", WINDOW, "sum over connections" => 2;
    /// Time in which the receive window did.
    "groups.G.senders.limited_s.receive": "s", WINDOW, "sum over connections" => 2;
    /// Time in which there was nothing to send, or no room in the send buffer.
    "groups.G.senders.limited_s.application": "s", WINDOW, "sum over connections" => 2;
    /// Congestion signals received and reports sent, for groups with conex. For honest senders and a whole
    /// run, reports = told.loss + told.mark - told.needless - owed - dropped. Each run checks this for each
    /// sender. With lost_reports = "repeated", repeated reports are added.
    "groups.G.conex": "", WINDOW, "sums over the group's ConEx senders" => 2;
    /// Unit of owed and dropped: packets or bytes.
    "groups.G.conex.unit": "", RUN => 2;
    /// Data packets sent that report a loss.
    "groups.G.conex.reports.loss.packets": "packets", WINDOW => 2;
    /// Their bytes on the wire.
    "groups.G.conex.reports.loss.bytes": "B", WINDOW => 2;
    /// Data packets sent that report a congestion mark.
    "groups.G.conex.reports.mark.packets": "packets", WINDOW => 2;
    /// Their bytes on the wire.
    "groups.G.conex.reports.mark.bytes": "B", WINDOW => 2;
    /// Data packets sent that are a credit.
    "groups.G.conex.reports.credit.packets": "packets", WINDOW => 2;
    /// Their bytes on the wire.
    "groups.G.conex.reports.credit.bytes": "B", WINDOW => 2;
    /// Retransmitted packets: losses as the senders know them.
    "groups.G.conex.told.loss.packets": "packets", WINDOW => 2;
    /// Their bytes on the wire.
    "groups.G.conex.told.loss.bytes": "B", WINDOW => 2;
    /// Marks that came back; with classic feedback, reductions for marks.
    "groups.G.conex.told.mark.packets": "packets", WINDOW => 2;
    /// The bytes on the wire of so many marked packets.
    "groups.G.conex.told.mark.bytes": "B", WINDOW => 2;
    /// Spurious retransmissions, with undo_spurious.
    "groups.G.conex.told.needless.packets": "packets", WINDOW => 2;
    /// Their bytes on the wire.
    "groups.G.conex.told.needless.bytes": "B", WINDOW => 2;
    /// Packets lost or marked, as far as the senders know.
    "groups.G.conex.congestion.packets": "packets", WINDOW, "told.loss + told.mark - told.needless" => 2;
    /// Their bytes on the wire: the congestion-volume.
    "groups.G.conex.congestion.bytes": "B", WINDOW, "the same" => 2;
    /// Reports of losses still to be made by flows that are not over, or waiting for the user's next flow; less
    /// than zero: reported ahead.
    "groups.G.conex.owed.loss": "unit", "at the end" => 2;
    /// The same of marks.
    "groups.G.conex.owed.mark": "unit", "at the end" => 2;
    /// Reports of losses that flows left behind which are over; less than zero: they had reported ahead.
    "groups.G.conex.dropped.loss": "unit", RUN => 2;
    /// The same of marks.
    "groups.G.conex.dropped.mark": "unit", RUN => 2;
    /// Reports of losses and marks, by user.
    "groups.G.conex.users_report_packets": "packets", WINDOW => 2;
    /// Their bytes on the wire, by user.
    "groups.G.conex.users_report_bytes": "B", WINDOW => 2;
    /// Packets lost or marked, as far as the senders know, by user.
    "groups.G.conex.users_congestion_packets": "packets", WINDOW => 2;
    /// Their bytes on the wire, by user.
    "groups.G.conex.users_congestion_bytes": "B", WINDOW => 2;
    /// Transfers of applications, for traffic that opens flows during the run.
    "groups.G.transfers": "", WINDOW => 2;
    /// Transfers started.
    "groups.G.transfers.started": "1", WINDOW => 2;
    /// Transfers of which all bytes arrived.
    "groups.G.transfers.completed": "1", WINDOW => 2;
    /// Transfers that their application gave up.
    "groups.G.transfers.abandoned": "1", WINDOW => 2;
    /// Transfers of which a connection was reset or gave up.
    "groups.G.transfers.failed": "1", WINDOW => 2;
    /// Transfers that are started and have not ended.
    "groups.G.transfers.in_progress_mean": "1", WINDOW, "time average, sum over users" => 2;
    /// Application bytes.
    "groups.G.transfers.bytes": "B", WINDOW, "sum over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: mean.
    "groups.G.transfers.first_byte_s_mean": "s", WINDOW, "mean over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: spread.
    "groups.G.transfers.first_byte_s_sd": "s", WINDOW, "standard deviation over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: median.
    "groups.G.transfers.first_byte_s_p50": "s", WINDOW,
        "50th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: one transfer in twenty takes longer.
    "groups.G.transfers.first_byte_s_p95": "s", WINDOW,
        "95th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: one transfer in a hundred takes longer.
    "groups.G.transfers.first_byte_s_p99": "s", WINDOW,
        "99th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its first byte: the longest.
    "groups.G.transfers.first_byte_s_max": "s", WINDOW, "maximum over completed transfers" => 2;
    /// Time from the start of a transfer to its end: mean.
    "groups.G.transfers.completion_s_mean": "s", WINDOW, "mean over completed transfers" => 2;
    /// Time from the start of a transfer to its end: spread.
    "groups.G.transfers.completion_s_sd": "s", WINDOW, "standard deviation over completed transfers" => 2;
    /// Time from the start of a transfer to its end: median.
    "groups.G.transfers.completion_s_p50": "s", WINDOW,
        "50th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its end: one transfer in twenty takes longer.
    "groups.G.transfers.completion_s_p95": "s", WINDOW,
        "95th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its end: one transfer in a hundred takes longer.
    "groups.G.transfers.completion_s_p99": "s", WINDOW,
        "99th percentile, within 0.3 % over completed transfers" => 2;
    /// Time from the start of a transfer to its end: the longest.
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
    /// Time that completed transfers took in all, by user.
    "groups.G.transfers.users_completion_s": "s", WINDOW, "sum over completed transfers" => 2;
    /// Measurements of viewers, for groups that play video.
    "groups.G.video": "", WINDOW => 2;
    /// Videos asked for.
    "groups.G.video.asked": "1", WINDOW => 2;
    /// Videos that began to play.
    "groups.G.video.started": "1", WINDOW => 2;
    /// Videos shown to their end.
    "groups.G.video.finished": "1", WINDOW => 2;
    /// Videos given up, or lost with their connection.
    "groups.G.video.left": "1", WINDOW => 2;
    /// Time from the request for a video to its start: mean.
    "groups.G.video.startup_s_mean": "s", WINDOW, "mean over videos that start in the window" => 2;
    /// Time from the request for a video to its start: the longest.
    "groups.G.video.startup_s_max": "s", WINDOW, "maximum over the same" => 2;
    /// Stalls that begin in the window; the wait before the start is none.
    "groups.G.video.stalls": "1", WINDOW => 2;
    /// Length of a stall; one that lasts at the end has the length that it has then.
    "groups.G.video.stall_s_mean": "s", WINDOW, "mean over stalls that begin in the window" => 2;
    /// The longest of these.
    "groups.G.video.stall_s_max": "s", WINDOW, "maximum over the same" => 2;
    /// Time in which video was shown.
    "groups.G.video.played_s": "s", WINDOW, "sum over users" => 2;
    /// Time in which it stood still.
    "groups.G.video.stalled_s": "s", WINDOW, "sum over users" => 2;
    /// Time in which users waited for a start.
    "groups.G.video.waited_s": "s", WINDOW, "sum over users" => 2;
    /// Bitrate of what was asked for.
    "groups.G.video.bitrate_bps": "bit/s", WINDOW,
        "mean over videos, or over chunks of adaptive video, asked for" => 2;
    /// Videos asked for, by user.
    "groups.G.video.users_asked": "1", WINDOW => 2;
    /// Videos that began to play, by user.
    "groups.G.video.users_started": "1", WINDOW => 2;
    /// Videos shown to their end, by user.
    "groups.G.video.users_finished": "1", WINDOW => 2;
    /// Time at which the last complete video ended, by user; null without any.
    "groups.G.video.users_finished_s": "s", WINDOW => 2;
    /// Videos given up or lost, by user.
    "groups.G.video.users_left": "1", WINDOW => 2;
    /// Time from request to start, by user; null where none started.
    "groups.G.video.users_startup_s": "s", WINDOW, "mean over a user's videos that start in the window" => 2;
    /// Stalls that begin in the window, by user.
    "groups.G.video.users_stalls": "1", WINDOW => 2;
    /// Length of these stalls in all, by user; over users_stalls it is their mean.
    "groups.G.video.users_stall_s": "s", WINDOW, "sum over the user's stalls that begin in the window" => 2;
    /// Time in which video was shown, by user.
    "groups.G.video.users_played_s": "s", WINDOW => 2;
    /// Time in which it stood still, by user.
    "groups.G.video.users_stalled_s": "s", WINDOW => 2;
    /// Time waited for a start, by user.
    "groups.G.video.users_waited_s": "s", WINDOW => 2;
    /// Bitrate of what was asked for, by user; null where nothing was.
    "groups.G.video.users_bitrate_bps": "bit/s", WINDOW, "as bitrate_bps" => 2;
    /// Chunks asked for; this and what follows only of adaptive video.
    "groups.G.video.chunks": "1", WINDOW => 2;
    /// Chunks of another level than the one before.
    "groups.G.video.switches": "1", WINDOW => 2;
    /// Chunks asked for, by user.
    "groups.G.video.users_chunks": "1", WINDOW => 2;
    /// Chunks of another level than the one before, by user.
    "groups.G.video.users_switches": "1", WINDOW => 2;
    /// How far the bitrate went up and down in all, by user.
    "groups.G.video.users_switched_bps": "bit/s", WINDOW,
        "sum over switches of the difference between the bitrates" => 2;
    /// Levels asked for, by user; the first is that at the beginning of the window, where there is one.
    "groups.G.video.users_levels": "s, 1", WINDOW, "[instant, level] of each request for another level" => 2;
    /// Levels received, by user; the first as in users_levels.
    "groups.G.video.users_levels_received": "s, 1", WINDOW,
        "[instant, level] of each chunk that comes in at another level" => 2;
    /// Levels shown, by user; the first as in users_levels.
    "groups.G.video.users_levels_shown": "s, 1", WINDOW,
        "[instant, level] of each chunk that is shown at another level" => 2;
    /// Chunks that have come in whole while the viewer was there.
    "groups.G.video.chunks_received": "1", WINDOW => 2;
    /// The same, by user.
    "groups.G.video.users_chunks_received": "1", WINDOW => 2;
    /// When the first video was asked for, by user; null where none was.
    "groups.G.video.users_asked_s": "s", WINDOW => 2;
    /// Falls of their slow-start thresholds, by user.
    "groups.G.video.users_threshold_falls": "1", WINDOW, "sum over the servers of a user's video" => 2;
    /// Decreases of the threshold as Linux's tcp_probe logs it, by user. The logged threshold is at least 75
    /// % of the window. A segment is logged when the window has changed.
    "groups.G.video.users_probed_threshold_falls": "1", WINDOW, "the same" => 2;
    /// Times when a server went on after it had been idle for longer than its timeout, by user.
    "groups.G.video.users_idle_periods": "1", WINDOW, "the same" => 2;
    /// Of these, that reduced the window, by user.
    "groups.G.video.users_restarts": "1", WINDOW, "the same" => 2;
    /// Retransmission timeouts, repeated ones included, by user.
    "groups.G.video.users_timeouts": "1", WINDOW, "the same" => 2;
    /// Copies of the stage.
    "stages.S.copies": "1", RUN;
    /// Packets that crossed it forward and went on.
    "stages.S.passed_packets": "packets", WINDOW, "sum over copies";
    /// Bytes of those.
    "stages.S.passed_bytes": "B", WINDOW, "sum over copies";
    /// Packets dropped, by reason.
    "stages.S.drops.REASON": "packets", WINDOW, "sum over copies";
    /// Packets marked, by reason.
    "stages.S.marks.REASON": "packets", WINDOW, "sum over copies";
    /// The same for packets that cross it backward, of kinds that act on them.
    "stages.S.reverse": "", WINDOW, "as stages.S: passed_packets, passed_bytes, drops, marks" => 2;
    /// Packets that the stage created and sent, for kinds that do.
    "stages.S.sent_packets": "packets", WINDOW, "sum over copies" => 2;
    /// Bytes of those.
    "stages.S.sent_bytes": "B", WINDOW, "sum over copies" => 2;
    /// Each observable of the stage's kind.
    "stages.S.OBSERVABLE": "as declared", RUN, "value at the end, mean over copies";
    /// The same of a group's users; only of kinds that keep accounts (congestion-policer, auditor), and not of
    /// one that all share.
    "stages.S.groups.G.OBSERVABLE": "as declared", RUN, "value at the end, mean over the group's copies" => 2;
    /// The same of each copy: of each user with per = "user".
    "stages.S.groups.G.users_OBSERVABLE": "as declared", RUN, "value at the end" => 2;
    /// Copies of the link.
    "links.L.copies": "1", RUN;
    /// Share of time the transmitter was busy.
    "links.L.utilisation": "1", WINDOW, "busy time / W, mean over copies";
    /// Waiting packets, the one in service not counted.
    "links.L.queue_packets_mean": "packets", WINDOW, "time average, mean over copies";
    /// From acceptance to the start of transmission.
    "links.L.queue_delay_s_mean": "s", WINDOW, "mean over accepted packets, then over copies";
    /// Spread of the waiting time.
    "links.L.queue_delay_s_sd": "s", WINDOW, "standard deviation over accepted packets, mean over copies";
    /// Waiting time that one packet in a hundred exceeds.
    "links.L.queue_delay_s_p99": "s", WINDOW, "99th percentile over accepted packets of all copies";
    /// The longest wait.
    "links.L.queue_delay_s_max": "s", WINDOW, "maximum over accepted packets of all copies";
    /// Packets offered.
    "links.L.arrived_packets": "packets", WINDOW, "sum over copies";
    /// Packets whose transmission ended.
    "links.L.delivered_packets": "packets", WINDOW, "sum over copies";
    /// Packets dropped, by reason; `loss` is the link's random loss, the others are its queue's.
    "links.L.drops.REASON": "packets", WINDOW, "sum over copies";
    /// Packets marked, by reason; one that was marked before is marked again.
    "links.L.marks.REASON": "packets", WINDOW, "sum over copies";
    /// Waiting time of a traffic class.
    "links.L.classes.CLASS.queue_delay_s_mean": "s", WINDOW, "mean over accepted packets of the class";
    /// Spread of the waiting time of a traffic class.
    "links.L.classes.CLASS.queue_delay_s_sd": "s", WINDOW,
        "standard deviation over accepted packets of the class";
    /// Packets of a traffic class whose transmission ended.
    "links.L.classes.CLASS.delivered_packets": "packets", WINDOW, "sum over copies";
    /// Packets of a traffic class offered.
    "links.L.classes.CLASS.arrived_packets": "packets", WINDOW, "sum over copies" => 2;
    /// Packets of a traffic class dropped, by reason.
    "links.L.classes.CLASS.drops.REASON": "packets", WINDOW, "sum over copies" => 2;
    /// Packets of a traffic class marked, by reason.
    "links.L.classes.CLASS.marks.REASON": "packets", WINDOW, "sum over copies" => 2;
    /// Of a class of `htb`: what its scheduler can observe, `drops` by reason.
    "links.L.queue.classes.CLASS.OBSERVABLE": "as declared", WINDOW,
        "counters: sum over copies; others: value at the end, mean over copies";
    /// The same of the leaves of users or flows, a list each: groups in the order of their names, their users,
    /// their flows.
    "links.L.queue.leaves.OBSERVABLE": "as declared", WINDOW, "as links.L.queue.classes";
    /// Observables of `sfq` and `fq-codel`.
    "links.L.queue.OBSERVABLE": "as declared", WINDOW,
        "counters: sum over copies; others: value at the end, mean over copies";
    /// The same fields for the direction against the path.
    "links.L.reverse": "", WINDOW, "as links.L";
    /// Recorded where the scenario asks for it.
    "histograms.links.L.queue.packets": "1", WINDOW, "share of time per number of waiting packets";
    /// Recorded where the scenario asks for it.
    "histograms.links.L.queue.at_drop": "packets", WINDOW, "drops per number of packets that waited";
}
