//! Checks of congestion reports inside a network: reporters, controllers, tunnels, policers, senders.

use evenflow_base::schema::{Mouth, Value};
use evenflow_stage::congestion_controller::{self, Mode};
use evenflow_stage::congestion_policer::{RTT_FROM, RttFrom};
use evenflow_stage::congestion_reporter;
use evenflow_stage::tunnel::Entrance;
use evenflow_transport::profile::Ecn;

use super::drafts::{GroupDraft, Network, StageDraft};
use crate::errors::quoted;
use crate::model::Component;

const REPORTER: &str = congestion_reporter::KIND;
const CONTROLLER: &str = congestion_reporter::PEER;

/// Adds an error for each stage of the loop that could not close it. Said only where all paths and the kinds of all stages are known,
/// whatever else is wrong with these, and after peers were tied.
pub(super) fn check(network: &Network) {
    let Network { stages, groups, .. } = network;
    let gateway = groups.iter().any(|group| group.profiles().any(|(profile, _)| profile.ecn == Ecn::Gateway));
    let any = stages.iter().any(|stage| [REPORTER, CONTROLLER].contains(&stage.kind()) || by_report(stage));
    let unknown = stages.iter().any(|draft| draft.mechanism.is_none());
    if !(any || gateway) || unknown || network.paths().is_none() {
        return;
    }
    let mut sound = true;
    for (i, draft) in stages.iter().enumerate() {
        let (kind, purpose) = match draft.kind() {
            REPORTER => (CONTROLLER, "receives the reports"),
            CONTROLLER => (REPORTER, "counts marks and losses"),
            _ => continue,
        };
        sound &= draft.tied.is_some();
        if draft.lacks_peer() {
            network.needs_peer(i, kind, purpose);
        }
    }
    if sound {
        groups.iter().for_each(|group| on_path(network, group));
        unheard(network);
    }
}

/// A gateway that sets ECE for TCP senders of which none listens. Sources of datagrams never do, and need not.
fn unheard(network: &Network) {
    let heeds = |ecn: Ecn| matches!(ecn, Ecn::Gateway | Ecn::Classic | Ecn::PerPacket);
    for (i, _) in network.stages.iter().enumerate().filter(|(_, draft)| splits(draft) == Some(true)) {
        let through = network.crossing_groups(Component::Stage(i));
        let heard: Vec<bool> =
            through.flat_map(|group| group.profiles().map(|(profile, _)| heeds(profile.ecn))).collect();
        if !heard.is_empty() && !heard.contains(&true) {
            network.stage(i).key(congestion_controller::Params::mode.name).error(
                "\"split\" sets ECE for senders with tcp.ecn = \"gateway\", but no sender on this path has it; \
                 nearest: \"police\"",
            );
        }
    }
}

/// Whether a stage is a gateway that sets ECE; `None`: its mode could not be read.
fn splits(draft: &StageDraft) -> Option<bool> {
    if draft.kind() == CONTROLLER {
        draft.says(congestion_controller::Params::mode, Mode::Split)
    } else {
        Some(false)
    }
}

/// Whether a policer has its round-trip time from reports.
fn by_report(draft: &StageDraft) -> bool {
    draft.says(RTT_FROM, RttFrom::Report) == Some(true)
}

fn on_path(network: &Network, group: &GroupDraft) {
    // Open tunnels, and the places of controllers with their tunnels.
    let mut open: Vec<usize> = Vec::new();
    let mut controllers: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut links, mut any_splits) = (0, false);
    for (n, hop) in group.hops().enumerate() {
        let Component::Stage(i) = hop.component else {
            links += 1;
            continue;
        };
        let draft = &network.stages[i];
        match network.mouth(i) {
            Some(Mouth::Ingress) if !hop.against => open.push(i),
            Some(Mouth::Egress) if !hop.against => _ = open.pop(),
            _ => {}
        }
        let (here, own, inside) = (network.hop(group, n), quoted(&draft.name), open.last().copied());
        match draft.kind() {
            CONTROLLER => {
                controllers.push((i, inside));
                let split = splits(draft);
                any_splits |= split != Some(false);
                if split == Some(true) && links > 0 {
                    here.error(format!(
                        "{own} sets ECE for senders at the gateway, but there are links before it; nearest: \
                         put it first, or mode = \"police\""
                    ));
                }
            }
            REPORTER => {
                let controller = controllers.iter().find(|(of, _)| Some(*of) == draft.tied);
                let tunnel = controller.map_or(inside, |(_, tunnel)| *tunnel);
                if controller.is_none() {
                    let peer = quoted(draft.tied.map_or("", |peer| &network.stages[peer].name));
                    here.error(format!("{own} counts packets that its peer admitted; put {peer} before it"));
                } else if tunnel != inside {
                    here.error(format!(
                        "{own} and its peer are not in the same tunnel, so their packet numbers differ"
                    ));
                }
                // A tunnel without sequence numbers whose packets a reporter counts.
                if let Some(ingress) = tunnel.filter(|ingress| !may_number(&network.stages[*ingress])) {
                    let at = network.stage(ingress).key("overhead");
                    if !at.has_error() {
                        at.error(format!(
                            "has no sequence numbers, so {own} could detect neither losses nor the flows of \
                             marks; nearest: \"gtp-u-sequence\""
                        ));
                    }
                }
            }
            _ if by_report(draft) && !controllers.iter().any(|(_, tunnel)| tunnel.is_some()) => {
                here.error(format!(
                    "{own} has its round-trip time from reports, but no {CONTROLLER} in a tunnel is before \
                     it; nearest: rtt_from = \"handshake\""
                ));
            }
            _ => {}
        }
    }
    for (_, at) in group.profiles().filter(|(profile, _)| profile.ecn == Ecn::Gateway && !any_splits) {
        network.at.elsewhere(at).key("ecn").error(format!(
            "\"gateway\" is for senders whose ACKs pass a {CONTROLLER} with mode = \"split\", and there is \
             none on their path; nearest: \"off\""
        ));
    }
}

/// Whether a tunnel numbers its packets, or its overhead could not be read.
fn may_number(draft: &StageDraft) -> bool {
    draft.says(Entrance::overhead, Value::Word("gtp-u-sequence".into())) != Some(false)
}
