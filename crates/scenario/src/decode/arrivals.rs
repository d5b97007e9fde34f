//! `[arrivals]`: processes by which flows arrive that groups share.

use evenflow_traffic::Leaving;

use super::drafts::{ArrivalsDraft, GroupDraft};
use super::network::span;
use super::table::unknown_keys;
use super::{Table, by_name, plain, typed};
use crate::errors::At;
use crate::model::{Arrivals, Share};
use crate::sections::{ARRIVALS, arrivals};

/// By how much shares may miss 1: they are written in decimals.
const ROUNDING: f64 = 1e-9;

/// `[arrivals.NAME]`.
pub(super) fn arrivals(root: &Table, at: &At) -> Vec<ArrivalsDraft> {
    let draft = |(name, at, table): (&str, At, Option<&Table>)| ArrivalsDraft {
        name: name.into(),
        arrivals: table.and_then(|table| process(name, table, &at)),
    };
    by_name(root, "arrivals", at).into_iter().map(draft).collect()
}

fn process(name: &str, table: &Table, at: &At) -> Option<Arrivals> {
    let before = at.count();
    unknown_keys(table, ARRIVALS.names(), at);
    let interval = plain(table, &arrivals::interval, at);
    let (start, until) = span(table, &arrivals::start, &arrivals::until, at);
    let end = typed::<Leaving>(table, &arrivals::end, at);
    if end.is_some() && !table.contains_key("until") {
        at.key("end").error("requires until");
    }
    let ending = until.map(|until| (until, end == Some(Leaving::Abort)));
    let (name, interval, start) = (name.into(), interval?, start?);
    (at.count() == before).then(|| Arrivals { name, interval, start, ending, shares: Vec::new() })
}

/// Gives each process the shares of its groups, which must add up to 1. Said only where all traffic is known, so that one
/// mistake does not make two errors.
pub(super) fn shares(drafts: &mut [ArrivalsDraft], groups: &[GroupDraft], at: &At) {
    let Some(uses) = groups.iter().map(GroupDraft::arrivals).collect::<Option<Vec<_>>>() else { return };
    for (number, draft) in drafts.iter_mut().enumerate() {
        let mut shares = Vec::new();
        let mut names = Vec::new();
        for (group, of_group) in uses.iter().enumerate() {
            for (traffic, _, share) in of_group.iter().filter(|(_, process, _)| *process == number) {
                shares.push(Share { group, traffic: *traffic, share: *share });
                names.push(format!("{} ({share})", groups[group].name));
            }
        }
        let sum: f64 = shares.iter().map(|share| share.share).sum();
        // An unused process is allowed, like a link on no path.
        if !shares.is_empty() && (sum - 1.0).abs() > ROUNDING {
            let groups = names.join(", ");
            at.key("arrivals")
                .key(&draft.name)
                .error(format!("the shares of its groups must add up to 1, not {sum}: {groups}"));
        }
        if let Some(arrivals) = &mut draft.arrivals {
            arrivals.shares = shares;
        }
    }
}
