//! Checks of congestion reports inside a network: reporters, controllers, tunnels, policers, senders.

use evenflow_base::schema::{Mouth, Value};
use evenflow_stage::congestion_controller::{self, Mode};
use evenflow_stage::congestion_policer::{RTT_FROM, RttFrom};
use evenflow_stage::congestion_reporter;
use evenflow_stage::tunnel::Entrance;
use evenflow_transport::profile::Ecn;

use super::drafts::{GroupDraft, StageDraft};
use crate::errors::{Errors, join, quoted};
use crate::model::{Component, Hop};

const REPORTER: &str = congestion_reporter::KIND;
const CONTROLLER: &str = congestion_reporter::PEER;

/// Adds an error for each stage of the loop that could not close it. Said only where all paths and the kinds of all stages are known,
/// whatever else is wrong with these, and after peers were tied.
pub(super) fn check(stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    let gateway = groups.iter().any(|group| group.profiles().any(|(profile, _)| profile.ecn == Ecn::Gateway));
    let kind = |i: usize| stages[i].kind();
    let any = (0..stages.len()).any(|i| [REPORTER, CONTROLLER].contains(&kind(i)) || by_report(&stages[i]));
    if !any && !gateway {
        return;
    }
    let unknown = stages.iter().any(|draft| draft.mechanism.is_none());
    if unknown || groups.iter().any(|group| group.path.is_none()) {
        return;
    }
    let mut sound = true;
    for (i, draft) in stages.iter().enumerate() {
        let wanted = match kind(i) {
            REPORTER => (CONTROLLER, "receives the reports"),
            CONTROLLER => (REPORTER, "counts marks and losses"),
            _ => continue,
        };
        sound &= draft.tied.is_some();
        if draft.tied.is_none() && draft.peer.is_none() {
            let near: Vec<&str> =
                (0..stages.len()).filter(|n| kind(*n) == wanted.0).map(|n| stages[n].name.as_str()).collect();
            let near =
                if let [one] = near[..] { format!(", for example {}", quoted(one)) } else { String::new() };
            let why = format!("is required: the stage of kind {} that {}{near}", wanted.0, wanted.1);
            errors.push(join(&join("stages", &draft.name), "peer"), why);
        }
    }
    if sound {
        let mut said = Vec::new();
        for group in groups {
            on_path(stages, group, &mut said, errors);
        }
        unheard(stages, groups, errors);
    }
}

/// A gateway that sets ECE for TCP senders of which none listens. Sources of datagrams never do, and need not.
fn unheard(stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    let heeds = |ecn: Ecn| matches!(ecn, Ecn::Gateway | Ecn::Classic | Ecn::PerPacket);
    for (i, draft) in stages.iter().enumerate().filter(|(_, draft)| splits(draft) == Some(true)) {
        let here = |hop: &Hop| hop.component == Component::Stage(i);
        let through = groups.iter().filter(|group| group.path.iter().flatten().any(here));
        let heard: Vec<bool> =
            through.flat_map(|group| group.profiles().map(|(profile, _)| heeds(profile.ecn))).collect();
        if !heard.is_empty() && !heard.contains(&true) {
            let why = "\"split\" sets ECE for senders with tcp.ecn = \"gateway\", but no sender on this path \
                       has it; nearest: \"police\"";
            errors.push(join(&join("stages", &draft.name), congestion_controller::Given::mode.name), why);
        }
    }
}

/// Whether a stage is a gateway that sets ECE; `None`: its mode could not be read.
fn splits(draft: &StageDraft) -> Option<bool> {
    if draft.kind() == CONTROLLER {
        draft.says(congestion_controller::Given::mode, Mode::Split)
    } else {
        Some(false)
    }
}

/// Whether a policer has its round-trip time from reports.
fn by_report(draft: &StageDraft) -> bool {
    draft.says(RTT_FROM, RttFrom::Report) == Some(true)
}

fn on_path(stages: &[StageDraft], group: &GroupDraft, said: &mut Vec<String>, errors: &mut Errors) {
    let path: &[Hop] = group.path.as_deref().unwrap_or_default();
    let here = |n: usize| format!("{}.path[{n}]", join("groups", &group.name));
    // Open tunnels, and the places of controllers with their tunnels.
    let mut open: Vec<usize> = Vec::new();
    let mut controllers: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut links, mut any_splits) = (0, false);
    for (n, hop) in path.iter().enumerate() {
        let Component::Stage(i) = hop.component else {
            links += 1;
            continue;
        };
        let draft = &stages[i];
        let Some(mechanism) = draft.mechanism else { continue };
        match mechanism.traits.mouth {
            Some(Mouth::Ingress) if !hop.against => open.push(i),
            Some(Mouth::Egress) if !hop.against => _ = open.pop(),
            _ => {}
        }
        let own = quoted(&draft.name);
        match mechanism.kind {
            CONTROLLER => {
                controllers.push((i, open.last().copied()));
                let split = splits(draft);
                any_splits |= split != Some(false);
                if split == Some(true) && links > 0 {
                    errors.push(
                        here(n),
                        format!(
                            "{own} sets ECE for senders at the gateway, but there are links before it; \
                             nearest: put it first, or mode = \"police\""
                        ),
                    );
                }
            }
            REPORTER => {
                let Some((_, tunnel)) = controllers.iter().find(|(of, _)| Some(*of) == draft.tied) else {
                    let peer = draft.tied.map_or("", |peer| &stages[peer].name);
                    errors.push(
                        here(n),
                        format!(
                            "{own} counts packets that its peer admitted; put {} before it",
                            quoted(peer)
                        ),
                    );
                    unnumbered(stages, open.last().copied(), &own, said, errors);
                    continue;
                };
                if *tunnel != open.last().copied() {
                    errors.push(
                        here(n),
                        format!(
                            "{own} and its peer are not in the same tunnel, so their packet numbers \
                                 differ"
                        ),
                    );
                }
                unnumbered(stages, *tunnel, &own, said, errors);
            }
            _ if by_report(draft) && !controllers.iter().any(|(_, tunnel)| tunnel.is_some()) => {
                errors.push(
                    here(n),
                    format!(
                        "{own} has its round-trip time from reports, but no {CONTROLLER} in a tunnel is \
                         before it; nearest: rtt_from = \"handshake\""
                    ),
                );
            }
            _ => {}
        }
    }
    for (profile, at) in group.profiles() {
        if profile.ecn == Ecn::Gateway && !any_splits {
            let at = join(at, "ecn");
            if !said.contains(&at) {
                let why = format!(
                    "\"gateway\" is for senders whose ACKs pass a {CONTROLLER} with mode = \"split\", and there is none on their path; nearest: \"off\""
                );
                errors.push(&at, why);
                said.push(at);
            }
        }
    }
}

/// A tunnel without sequence numbers whose packets a reporter counts.
fn unnumbered(
    stages: &[StageDraft],
    tunnel: Option<usize>,
    own: &str,
    said: &mut Vec<String>,
    errors: &mut Errors,
) {
    let Some(ingress) = tunnel.filter(|ingress| numbered(&stages[*ingress]) == Some(false)) else { return };
    let at = join(&join("stages", &stages[ingress].name), "overhead");
    if !said.contains(&at) {
        let why = format!(
            "has no sequence numbers, so {own} could detect neither losses nor the flows of marks; nearest: \
             \"gtp-u-sequence\""
        );
        errors.push(&at, why);
        said.push(at);
    }
}

/// Whether a tunnel numbers its packets; `None`: its overhead could not be read.
fn numbered(draft: &StageDraft) -> Option<bool> {
    draft.says(Entrance::overhead, Value::Word("gtp-u-sequence".into()))
}
