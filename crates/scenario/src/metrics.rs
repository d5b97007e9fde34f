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

impl Metric {
    /// The same field, there since a later version of the record.
    pub const fn since(self, version: u32) -> Metric {
        Metric { since: version, ..self }
    }
}

/// Counted from the end of the warm-up on.
const WINDOW: &str = "[warmup, duration]";
/// Counted from the beginning.
const RUN: &str = "whole run";

const fn metric(
    name: &'static str,
    unit: &'static str,
    window: &'static str,
    formula: &'static str,
    doc: &'static str,
) -> Metric {
    Metric { name, unit, window, formula, doc, since: 1 }
}

/// All of them. W is the length of the window, n the number of users of a group.
pub static METRICS: &[Metric] = &[
    metric("scenario_hash", "", RUN, "SHA-256 of the canonical scenario, 16 digits", "What was simulated."),
    metric(
        "record_hash",
        "",
        RUN,
        "SHA-256 of the record and its series, 16 digits; without scenario_hash, events, record_version and provenance",
        "What was measured: equal for equal (scenario, seed), on any machine and with any number of threads.",
    ),
    metric(
        "record_version",
        "1",
        RUN,
        "",
        "Version of the record; fields are added with later versions, and each says since which it is there.",
    ),
    metric("seed", "1", RUN, "", "The seed of all random streams."),
    metric("window_s", "s", RUN, "[warmup, duration]", "Start and end of the measurement."),
    metric(
        "engine",
        "",
        RUN,
        "{id: hash of the engine's sources and lock file, version, profile: release or debug}",
        "Which engine ran; provenance, outside the record.",
    ),
    metric(
        "event_reasons",
        "",
        RUN,
        "",
        "Names of the reason codes in lists of drops and marks, in their order; record_hash covers those that occur there.",
    ),
    metric(
        "events",
        "1",
        RUN,
        "",
        "Events the loop handled; depends on how a link is simulated, so not part of record_hash.",
    ),
    metric("packet_hops", "1", RUN, "", "Link crossings of all packets, acknowledgements included."),
    metric(
        "wall_s",
        "s",
        RUN,
        "",
        "Time the run took, from building the network to the record; provenance, outside the record.",
    ),
    metric("cpu_s", "s", RUN, "", "Processor time of the run's thread; provenance, outside the record."),
    metric("groups.G.users", "1", RUN, "n", "Users of the group."),
    metric(
        "groups.G.goodput_bps",
        "bit/s",
        WINDOW,
        "8 * sum of in-order application bytes / (W n)",
        "Application bytes delivered in order, each once; mean over users.",
    ),
    metric(
        "groups.G.throughput_bps",
        "bit/s",
        WINDOW,
        "8 * sum of bytes at the end of the path / (W n)",
        "Bytes of all data packets, headers and duplicates included, that reached the end of the path; mean over users.",
    ),
    metric(
        "groups.G.users_goodput_bps",
        "bit/s",
        WINDOW,
        "8 * in-order application bytes of a user / W",
        "Goodput of each user.",
    ),
    metric(
        "groups.G.users_throughput_bps",
        "bit/s",
        WINDOW,
        "8 * bytes of a user at the end of the path / W",
        "Throughput of each user.",
    ),
    metric(
        "groups.G.flows_throughput_bps",
        "bit/s",
        WINDOW,
        "8 * bytes of a flow at the end of the path / W",
        "Throughput of each flow, users one after the other.",
    ),
    metric("groups.G.sent_packets", "packets", WINDOW, "", "Data packets sent, repeated ones included."),
    metric("groups.G.retransmits", "packets", WINDOW, "", "Data packets sent again."),
    metric("groups.G.losses", "packets", WINDOW, "", "Data packets of the group dropped anywhere."),
    metric(
        "groups.G.marks",
        "packets",
        WINDOW,
        "",
        "Data packets of the group that arrived with a congestion mark.",
    ),
    metric(
        "groups.G.loss_ratio",
        "1",
        WINDOW,
        "losses / sent_packets",
        "Share of the data packets sent in the window that were dropped; null if none was sent.",
    ),
    metric(
        "groups.G.delivered_packets",
        "packets",
        WINDOW,
        "",
        "Data packets that reached the end of the path.",
    ),
    metric(
        "groups.G.window_packets_mean",
        "packets",
        WINDOW,
        "time average over the group's TCP flows",
        "Mean congestion window.",
    ),
    metric(
        "groups.G.window_at_floor",
        "1",
        WINDOW,
        "share of time, mean over the group's TCP flows",
        "How much of the time the window stood at its floor.",
    ),
    metric("groups.G.flows_dead", "1", RUN, "", "TCP flows that gave up."),
    metric("groups.G.senders", "", WINDOW, "sums over the group's TCP senders", "What its senders counted of themselves; only of groups with TCP.").since(2),
    metric("groups.G.senders.reductions.loss", "1", WINDOW, "", "Windows reduced after a loss that ACKs or probes showed.").since(2),
    metric("groups.G.senders.reductions.mark", "1", WINDOW, "", "Windows reduced after congestion marks.").since(2),
    metric("groups.G.senders.reductions.timeout", "1", WINDOW, "", "Windows reduced after a timeout.").since(2),
    metric("groups.G.senders.threshold_falls", "1", WINDOW, "", "Falls of the slow-start threshold.").since(2),
    metric("groups.G.senders.restarts", "1", WINDOW, "", "Windows reduced because a sender had been idle.").since(2),
    metric("groups.G.senders.timeouts", "1", WINDOW, "", "Retransmission timeouts, repeated ones included.").since(2),
    metric("groups.G.senders.limited_s.congestion", "s", WINDOW, "sum over connections", "Time in which the congestion window kept a sender from sending more.").since(2),
    metric("groups.G.senders.limited_s.receive", "s", WINDOW, "sum over connections", "Time in which the receive window did.").since(2),
    metric("groups.G.senders.limited_s.application", "s", WINDOW, "sum over connections", "Time in which there was nothing to send, or no room in the send buffer.").since(2),
    metric("groups.G.transfers", "", WINDOW, "", "What became of what applications ask for and wait for; only of traffic that opens its flows on the way.").since(2),
    metric("groups.G.transfers.started", "1", WINDOW, "", "Transfers started.").since(2),
    metric("groups.G.transfers.completed", "1", WINDOW, "", "Transfers of which all bytes arrived.").since(2),
    metric("groups.G.transfers.abandoned", "1", WINDOW, "", "Transfers that their application gave up.").since(2),
    metric("groups.G.transfers.failed", "1", WINDOW, "", "Transfers of which a connection was reset or gave up.").since(2),
    metric(
        "groups.G.transfers.in_progress_mean",
        "1",
        WINDOW,
        "time average, sum over users",
        "Transfers that are started and have not ended.",
    )
    .since(2),
    metric("groups.G.transfers.bytes", "B", WINDOW, "sum over completed transfers", "Application bytes.").since(2),
    metric("groups.G.transfers.first_byte_s_mean", "s", WINDOW, "mean over completed transfers", "Time from the start of a transfer to its first byte: mean.").since(2),
    metric("groups.G.transfers.first_byte_s_sd", "s", WINDOW, "standard deviation over completed transfers", "Time from the start of a transfer to its first byte: spread.").since(2),
    metric("groups.G.transfers.first_byte_s_p50", "s", WINDOW, "50th percentile, within 0.3 % over completed transfers", "Time from the start of a transfer to its first byte: median.").since(2),
    metric("groups.G.transfers.first_byte_s_p95", "s", WINDOW, "95th percentile, within 0.3 % over completed transfers", "Time from the start of a transfer to its first byte: one transfer in twenty takes longer.").since(2),
    metric("groups.G.transfers.first_byte_s_p99", "s", WINDOW, "99th percentile, within 0.3 % over completed transfers", "Time from the start of a transfer to its first byte: one transfer in a hundred takes longer.").since(2),
    metric("groups.G.transfers.first_byte_s_max", "s", WINDOW, "maximum over completed transfers", "Time from the start of a transfer to its first byte: the longest.").since(2),
    metric("groups.G.transfers.completion_s_mean", "s", WINDOW, "mean over completed transfers", "Time from the start of a transfer to its end: mean.").since(2),
    metric("groups.G.transfers.completion_s_sd", "s", WINDOW, "standard deviation over completed transfers", "Time from the start of a transfer to its end: spread.").since(2),
    metric("groups.G.transfers.completion_s_p50", "s", WINDOW, "50th percentile, within 0.3 % over completed transfers", "Time from the start of a transfer to its end: median.").since(2),
    metric("groups.G.transfers.completion_s_p95", "s", WINDOW, "95th percentile, within 0.3 % over completed transfers", "Time from the start of a transfer to its end: one transfer in twenty takes longer.").since(2),
    metric("groups.G.transfers.completion_s_p99", "s", WINDOW, "99th percentile, within 0.3 % over completed transfers", "Time from the start of a transfer to its end: one transfer in a hundred takes longer.").since(2),
    metric("groups.G.transfers.completion_s_max", "s", WINDOW, "maximum over completed transfers", "Time from the start of a transfer to its end: the longest.").since(2),
    metric("groups.G.transfers.users_started", "1", WINDOW, "", "Transfers started, by user.").since(2),
    metric("groups.G.transfers.users_completed", "1", WINDOW, "", "Transfers completed, by user.").since(2),
    metric("groups.G.transfers.users_abandoned", "1", WINDOW, "", "Transfers abandoned, by user.").since(2),
    metric("groups.G.transfers.users_failed", "1", WINDOW, "", "Transfers failed, by user.").since(2),
    metric("groups.G.transfers.users_bytes", "B", WINDOW, "", "Application bytes of completed transfers, by user.").since(2),
    metric(
        "groups.G.transfers.users_completion_s",
        "s",
        WINDOW,
        "sum over completed transfers",
        "Time that completed transfers took in all, by user.",
    )
    .since(2),
    metric("groups.G.video", "", WINDOW, "", "What users of traffic that plays video have seen; only of such groups.").since(2),
    metric("groups.G.video.asked", "1", WINDOW, "", "Videos asked for.").since(2),
    metric("groups.G.video.started", "1", WINDOW, "", "Videos that began to play.").since(2),
    metric("groups.G.video.finished", "1", WINDOW, "", "Videos shown to their end.").since(2),
    metric("groups.G.video.left", "1", WINDOW, "", "Videos given up, or lost with their connection.").since(2),
    metric("groups.G.video.startup_s_mean", "s", WINDOW, "mean over videos that start in the window", "Time from the request for a video to its start: mean.").since(2),
    metric("groups.G.video.startup_s_max", "s", WINDOW, "maximum over the same", "Time from the request for a video to its start: the longest.").since(2),
    metric("groups.G.video.stalls", "1", WINDOW, "", "Stalls that begin in the window; the wait before the start is none.").since(2),
    metric("groups.G.video.stall_s_mean", "s", WINDOW, "mean over stalls that begin in the window", "Length of a stall; one that lasts at the end has the length that it has then.").since(2),
    metric("groups.G.video.stall_s_max", "s", WINDOW, "maximum over the same", "The longest of these.").since(2),
    metric("groups.G.video.played_s", "s", WINDOW, "sum over users", "Time in which video was shown.").since(2),
    metric("groups.G.video.stalled_s", "s", WINDOW, "sum over users", "Time in which it stood still.").since(2),
    metric("groups.G.video.waited_s", "s", WINDOW, "sum over users", "Time in which users waited for a start.").since(2),
    metric("groups.G.video.bitrate_bps", "bit/s", WINDOW, "mean over videos, or over chunks of adaptive video, asked for", "Bitrate of what was asked for.").since(2),
    metric("groups.G.video.users_asked", "1", WINDOW, "", "Videos asked for, by user.").since(2),
    metric("groups.G.video.users_started", "1", WINDOW, "", "Videos that began to play, by user.").since(2),
    metric("groups.G.video.users_finished", "1", WINDOW, "", "Videos shown to their end, by user.").since(2),
    metric("groups.G.video.users_finished_s", "s", WINDOW, "", "When the last video that was shown to its end was, by user; null where none was.").since(2),
    metric("groups.G.video.users_left", "1", WINDOW, "", "Videos given up or lost, by user.").since(2),
    metric("groups.G.video.users_startup_s", "s", WINDOW, "mean over a user's videos that start in the window", "Time from request to start, by user; null where none started.").since(2),
    metric("groups.G.video.users_stalls", "1", WINDOW, "", "Stalls that begin in the window, by user.").since(2),
    metric("groups.G.video.users_stall_s", "s", WINDOW, "sum over the user's stalls that begin in the window", "Length of these stalls in all, by user; over users_stalls it is their mean.").since(2),
    metric("groups.G.video.users_played_s", "s", WINDOW, "", "Time in which video was shown, by user.").since(2),
    metric("groups.G.video.users_stalled_s", "s", WINDOW, "", "Time in which it stood still, by user.").since(2),
    metric("groups.G.video.users_waited_s", "s", WINDOW, "", "Time in which he waited for a start, by user.").since(2),
    metric("groups.G.video.users_bitrate_bps", "bit/s", WINDOW, "as bitrate_bps", "Bitrate of what was asked for, by user; null where nothing was.").since(2),
    metric("groups.G.video.chunks", "1", WINDOW, "", "Chunks asked for; this and what follows only of adaptive video.").since(2),
    metric("groups.G.video.switches", "1", WINDOW, "", "Chunks of another level than the one before.").since(2),
    metric("groups.G.video.users_chunks", "1", WINDOW, "", "Chunks asked for, by user.").since(2),
    metric("groups.G.video.users_switches", "1", WINDOW, "", "Chunks of another level than the one before, by user.").since(2),
    metric("groups.G.video.users_switched_bps", "bit/s", WINDOW, "sum over switches of the difference between the bitrates", "How far the bitrate went up and down in all, by user.").since(2),
    metric("groups.G.video.users_levels", "s, 1", WINDOW, "[instant, level] of each request for another level", "Levels asked for, by user; the first is that at the beginning of the window, where there is one.").since(2),
    metric("stages.S.copies", "1", RUN, "", "Copies of the stage."),
    metric(
        "stages.S.passed_packets",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets that crossed it forward and went on.",
    ),
    metric("stages.S.passed_bytes", "B", WINDOW, "sum over copies", "Bytes of those."),
    metric("stages.S.drops.REASON", "packets", WINDOW, "sum over copies", "Packets dropped, by reason."),
    metric("stages.S.marks.REASON", "packets", WINDOW, "sum over copies", "Packets marked, by reason."),
    metric(
        "stages.S.reverse",
        "",
        WINDOW,
        "as stages.S: passed_packets, passed_bytes, drops, marks",
        "The same for packets that cross it backward, of kinds that act on them.",
    )
    .since(2),
    metric(
        "stages.S.sent_packets",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets of its own that it has sent, of kinds that do.",
    )
    .since(2),
    metric("stages.S.sent_bytes", "B", WINDOW, "sum over copies", "Bytes of those.").since(2),
    metric(
        "stages.S.OBSERVABLE",
        "as declared",
        RUN,
        "value at the end, mean over copies",
        "Each observable of the stage's kind.",
    ),
    metric(
        "stages.S.groups.G.OBSERVABLE",
        "as declared",
        RUN,
        "value at the end, mean over the group's copies",
        "The same of a group's users; only of kinds that keep accounts (congestion-policer, auditor), and not of one that all share.",
    )
    .since(2),
    metric(
        "stages.S.groups.G.users_OBSERVABLE",
        "as declared",
        RUN,
        "value at the end",
        "The same of each copy: of each user with per = \"user\".",
    )
    .since(2),
    metric("links.L.copies", "1", RUN, "", "Copies of the link."),
    metric(
        "links.L.utilisation",
        "1",
        WINDOW,
        "busy time / W, mean over copies",
        "Share of time the transmitter was busy.",
    ),
    metric(
        "links.L.queue_packets_mean",
        "packets",
        WINDOW,
        "time average, mean over copies",
        "Waiting packets, the one in service not counted.",
    ),
    metric(
        "links.L.queue_delay_s_mean",
        "s",
        WINDOW,
        "mean over accepted packets, then over copies",
        "From acceptance to the start of transmission.",
    ),
    metric(
        "links.L.queue_delay_s_sd",
        "s",
        WINDOW,
        "standard deviation over accepted packets, mean over copies",
        "Spread of the waiting time.",
    ),
    metric(
        "links.L.queue_delay_s_p99",
        "s",
        WINDOW,
        "99th percentile over accepted packets of all copies",
        "Waiting time that one packet in a hundred exceeds.",
    ),
    metric(
        "links.L.queue_delay_s_max",
        "s",
        WINDOW,
        "maximum over accepted packets of all copies",
        "The longest wait.",
    ),
    metric("links.L.arrived_packets", "packets", WINDOW, "sum over copies", "Packets offered."),
    metric(
        "links.L.delivered_packets",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets whose transmission ended.",
    ),
    metric(
        "links.L.drops.REASON",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets dropped, by reason; `loss` is the link's random loss, the others are its queue's.",
    ),
    metric(
        "links.L.marks.REASON",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets marked, by reason; one that was marked before is marked again.",
    ),
    metric(
        "links.L.classes.CLASS.queue_delay_s_mean",
        "s",
        WINDOW,
        "mean over accepted packets of the class",
        "Waiting time of a traffic class.",
    ),
    metric(
        "links.L.classes.CLASS.queue_delay_s_sd",
        "s",
        WINDOW,
        "standard deviation over accepted packets of the class",
        "Spread of the waiting time of a traffic class.",
    ),
    metric(
        "links.L.classes.CLASS.delivered_packets",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets of a traffic class whose transmission ended.",
    ),
    metric(
        "links.L.classes.CLASS.arrived_packets",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets of a traffic class offered.",
    )
    .since(2),
    metric(
        "links.L.classes.CLASS.drops.REASON",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets of a traffic class dropped, by reason.",
    )
    .since(2),
    metric(
        "links.L.classes.CLASS.marks.REASON",
        "packets",
        WINDOW,
        "sum over copies",
        "Packets of a traffic class marked, by reason.",
    )
    .since(2),
    metric(
        "links.L.queue.classes.CLASS.OBSERVABLE",
        "as declared",
        WINDOW,
        "counters: sum over copies; others: value at the end, mean over copies",
        "Of a class of `htb`: what its scheduler can observe, `drops` by reason.",
    ),
    metric(
        "links.L.queue.leaves.OBSERVABLE",
        "as declared",
        WINDOW,
        "as links.L.queue.classes",
        "The same of the leaves of users or flows, a list each: groups in the order of their names, their users, their flows.",
    ),
    metric(
        "links.L.queue.OBSERVABLE",
        "as declared",
        WINDOW,
        "counters: sum over copies; others: value at the end, mean over copies",
        "What `sfq` and `fq-codel` can observe.",
    ),
    metric(
        "links.L.reverse",
        "",
        WINDOW,
        "as links.L",
        "The same fields for the direction against the path.",
    ),
    metric(
        "histograms.links.L.queue.packets",
        "1",
        WINDOW,
        "share of time per number of waiting packets",
        "Recorded where the scenario asks for it.",
    ),
    metric(
        "histograms.links.L.queue.at_drop",
        "packets",
        WINDOW,
        "drops per number of packets that waited",
        "Recorded where the scenario asks for it.",
    ),
];
