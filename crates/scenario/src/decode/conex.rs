//! Checks of ConEx: senders, queues and stages on their paths, and their combinations.

use evenflow_base::schema::{Mouth, Param, Type, Value};
use evenflow_queue::action;
use evenflow_stage::Reads;
use evenflow_transport::exposure::{Cheat, Encoding, Reports};
use evenflow_transport::profile::Ecn;

use super::drafts::{GroupDraft, LinkDraft, Sender, StageDraft};
use crate::errors::{Errors, join};
use crate::model::{Component, Hop};

/// Adds an error for each ConEx sender that receives no congestion signal, or that a stage on its path cannot
/// read. A table with errors is checked by its valid keys.
pub(super) fn check(links: &[LinkDraft], stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    for group in groups {
        one_unit(group, errors);
        let Some(path) = &group.path else { continue };
        let Some(marker) = first_marker(path, links, stages) else { continue };
        for (sender, at) in senders(group) {
            let here = join(at, "conex");
            let silent = sender.ecn == Some(Ecn::Off)
                && sender.report == Some(Reports::Loss)
                && sender.encoding == Some(Encoding::Ipv4);
            let hears = sender.ecn.is_some_and(|ecn| !matches!(ecn, Ecn::Off | Ecn::Gateway));
            match marker {
                Some(link) if silent => errors.push(
                    join(&here, "encoding"),
                    format!(
                        "over IPv4 its data is ECT(1), which links.{link} marks, and with ecn = \"off\" \
                         marks have no effect. Nearest: action = \"drop\" there, ecn = \"accurate\", or \
                         encoding = \"ipv6\""
                    ),
                ),
                None if sender.report == Some(Reports::LossAndEcn) && hears => errors.push(
                    join(&here, "report"),
                    "nothing on its path marks: the queues there only drop; nearest: report = \"loss\", or a queue that marks \
                     (kind = \"red\" with action = \"mark\")",
                ),
                _ => {}
            }
        }
    }
    for (number, stage) in stages.iter().enumerate() {
        one_encoding(number, stage, stages, groups, errors);
    }
}

/// The ConEx senders of a group, each table once, and where it stands.
fn senders(group: &GroupDraft) -> Vec<(&Sender, &str)> {
    let mut senders: Vec<(&Sender, &str)> = Vec::new();
    for (sender, at) in group.conex() {
        if senders.iter().all(|(_, said)| *said != at) {
            senders.push((sender, at));
        }
    }
    senders
}

/// Flows of one user count alike: what one of them leaves to the next has one unit, and so has what records sum up.
fn one_unit(group: &GroupDraft, errors: &mut Errors) {
    let mut units = group.conex().filter_map(|(sender, at)| Some((sender.unit?, at)));
    let Some((first, _)) = units.next() else { return };
    if let Some((other, at)) = units.find(|(unit, _)| *unit != first) {
        errors.push(
            join(&join(at, "conex"), "unit"),
            format!(
                "is {}, and other traffic of these users counts {}; a user has one unit",
                other.word(),
                first.word()
            ),
        );
    }
}

/// A stage must read its senders' encoding: codes of ECN field and RE flag over IPv4, bits of RFC 7837's
/// option over IPv6. Inside a tunnel it reads the outer header, which senders do not write.
fn one_encoding(
    number: usize,
    stage: &StageDraft,
    stages: &[StageDraft],
    groups: &[GroupDraft],
    errors: &mut Errors,
) {
    let Some(Reads { ipv6, either }) =
        stage.mechanism.and_then(|own| evenflow_stage::reads(own.kind, &stage.values))
    else {
        return;
    };
    let read = if ipv6 { Encoding::Ipv6 } else { Encoding::Ipv4 };
    let here = |group: &&GroupDraft| group.path.as_ref().is_some_and(|path| meets(path, number, stages));
    let met =
        groups.iter().filter(here).flat_map(|group| senders(group).into_iter().map(move |of| (group, of)));
    // A sender without ConEx writes neither.
    let speaks = |sender: &Sender| sender.cheat.is_some_and(|cheat| cheat != Cheat::Legacy);
    let (alike, others): (Vec<_>, Vec<_>) = met
        .filter(|(_, (sender, _))| speaks(sender))
        .filter_map(|(group, (sender, at))| Some((group.name.as_str(), sender.encoding?, at)))
        .partition(|(_, written, _)| *written == read);
    let Some((group, written, _)) = others.first() else { return };
    if let (true, []) = (either, &alike[..]) {
        let why = match read {
            Encoding::Ipv4 => "reads IPv4's codes",
            Encoding::Ipv6 => "reads IPv6's bits",
        };
        let (writes, then) = match written {
            Encoding::Ipv4 => ("IPv4's codes", "one code for losses and marks is no bit for either"),
            Encoding::Ipv6 => ("IPv6's bits", "it would see no report"),
        };
        errors.push(
            join(&join("stages", &stage.name), "encoding"),
            format!(
                "is \"{}\" and {why}, and groups.{group} writes {writes}: {then}; write encoding = \"{}\"",
                read.word(),
                written.word()
            ),
        );
        return;
    }
    for (_, written, at) in others {
        let whose = match alike.first() {
            Some((group, ..)) if either => format!(" and must, for groups.{group}"),
            _ => ", and nothing else".to_owned(),
        };
        let codes = if ipv6 { "IPv6's bits" } else { "IPv4's codes" };
        let apart =
            if either { ", or give each a separate stage" } else { ", or leave that stage off its path" };
        errors.push(
            join(&join(at, "conex"), "encoding"),
            format!(
                "is \"{}\", and stages.{} on its path reads {codes}{whose}; write encoding = \"{}\"{apart}",
                written.word(),
                stage.name,
                read.word()
            ),
        );
    }
}

/// Whether a path has the stage outside of its tunnels.
fn meets(path: &[Hop], number: usize, stages: &[StageDraft]) -> bool {
    let mut open = 0;
    for hop in path {
        let Component::Stage(i) = hop.component else { continue };
        if i == number {
            return open == 0;
        }
        match stages[i].mechanism.and_then(|own| own.traits.mouth) {
            Some(Mouth::Ingress) if !hop.against => open += 1,
            Some(Mouth::Egress) if !hop.against => open -= 1,
            _ => {}
        }
    }
    false
}

/// The first link on a path whose queue marks data; `Some(None)`: none does. Absent where that is not known, because a stage may mark as
/// well, or because of errors.
fn first_marker<'a>(path: &[Hop], links: &'a [LinkDraft], stages: &[StageDraft]) -> Option<Option<&'a str>> {
    let mut unsure = false;
    for hop in path {
        match hop.component {
            Component::Link(i) => match links[i].marks[usize::from(hop.against)] {
                Some(true) => return Some(Some(&links[i].name)),
                marks => unsure |= marks.is_none(),
            },
            Component::Stage(i) => unsure |= may_mark(&stages[i]),
        }
    }
    if unsure { None } else { Some(None) }
}

/// Whether a stage may mark, as far as its lines say.
fn may_mark(stage: &StageDraft) -> bool {
    let Some(mechanism) = stage.mechanism else { return true };
    let marks = |param: &Param| {
        param.name == action::KEY.name && matches!(param.ty, Type::Choice(words) if words.contains(&"mark"))
    };
    mechanism.traits.marks
        || match stage.values.raw(action::KEY) {
            Some(action) => *action == Value::Word("mark".into()),
            None => stage.stage.is_none() && mechanism.params.iter().any(marks),
        }
}
