//! `[arrivals]`: processes by which flows arrive that groups share.

use evenflow_base::Duration;
use evenflow_traffic::Leaving;

use super::drafts::{ArrivalsDraft, GroupDraft};
use super::table::unknown_keys;
use super::{Table, by_name, fixed_number, plain, typed};
use crate::errors::{Errors, join};
use crate::model::{Arrivals, Share};
use crate::sections::{ARRIVALS, arrivals};

/// By how much shares may miss 1: they are written in decimals.
const ROUNDING: f64 = 1e-9;

/// `[arrivals.NAME]`.
pub(super) fn arrivals(root: &Table, errors: &mut Errors) -> Vec<ArrivalsDraft> {
    let named = by_name(root, "arrivals", errors);
    let draft = |(name, path, table): (&str, String, Option<&Table>)| ArrivalsDraft {
        name: name.into(),
        arrivals: table.and_then(|table| process(name, table, &path, errors)),
    };
    named.into_iter().map(draft).collect()
}

fn process(name: &str, table: &Table, path: &str, errors: &mut Errors) -> Option<Arrivals> {
    let before = errors.len();
    unknown_keys(table, ARRIVALS.names(), path, errors);
    let interval = plain(table, &arrivals::interval, path, errors);
    let start = fixed_number(table, &arrivals::start, path, errors);
    let until = fixed_number(table, &arrivals::until, path, errors);
    let end = typed::<Leaving>(table, &arrivals::end, path, errors);
    if let (Some(start), Some(until)) = (start, until)
        && until <= start
    {
        errors
            .push(join(path, "until"), format!("must be later than start: {until} s is not after {start} s"));
    }
    if end.is_some() && !table.contains_key("until") {
        errors.push(join(path, "end"), "requires until");
    }
    if errors.len() > before {
        return None;
    }
    Some(Arrivals {
        name: name.into(),
        interval: interval?,
        start: Duration::from_seconds(start?),
        ending: until.map(|until| (Duration::from_seconds(until), end == Some(Leaving::Abort))),
        shares: Vec::new(),
    })
}

/// Gives each process the shares of its groups, which must add up to 1. Said only where all traffic is known, so that one
/// mistake does not make two errors.
pub(super) fn shares(drafts: &mut [ArrivalsDraft], groups: &[GroupDraft], errors: &mut Errors) {
    let Some(uses) = groups.iter().map(GroupDraft::arrivals).collect::<Option<Vec<_>>>() else { return };
    for (number, draft) in drafts.iter_mut().enumerate() {
        let path = join("arrivals", &draft.name);
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
            errors.push(path, format!("the shares of its groups must add up to 1, not {sum}: {groups}"));
        }
        if let Some(arrivals) = &mut draft.arrivals {
            arrivals.shares = shares;
        }
    }
}
