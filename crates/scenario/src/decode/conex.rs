//! Checks of ConEx: senders, queues and stages on their paths, and their combinations.

use evenflow_base::schema::{Mouth, Param, Type, Value};
use evenflow_queue::action;
use evenflow_stage::Reads;
use evenflow_transport::exposure::{Cheat, Encoding, Reports};
use evenflow_transport::profile::Ecn;

use super::drafts::{GroupDraft, Network, Sender, StageDraft};
use crate::model::{Component, Hop};

/// Adds an error for each ConEx sender that receives no congestion signal, or that a stage on its path cannot
/// read. A table with errors is checked by its valid keys.
pub(super) fn check(network: &Network) {
    for group in &network.groups {
        one_unit(network, group);
        let Some(marker) = group.path.as_ref().and_then(|path| first_marker(network, path)) else { continue };
        for (sender, at) in group.conex() {
            let at = network.at.elsewhere(at).key("conex");
            let silent = sender.ecn == Some(Ecn::Off)
                && sender.report == Some(Reports::Loss)
                && sender.encoding == Some(Encoding::Ipv4);
            let hears = sender.ecn.is_some_and(|ecn| !matches!(ecn, Ecn::Off | Ecn::Gateway));
            match marker {
                Some(link) if silent => at.key("encoding").error(format!(
                    "over IPv4 its data is ECT(1), which links.{link} marks, and with ecn = \"off\" marks have \
                     no effect. Nearest: action = \"drop\" there, ecn = \"accurate\", or encoding = \"ipv6\""
                )),
                None if sender.report == Some(Reports::LossAndEcn) && hears => at.key("report").error(
                    "nothing on its path marks: the queues there only drop; nearest: report = \"loss\", or a \
                     queue that marks (kind = \"red\" with action = \"mark\")",
                ),
                _ => {}
            }
        }
    }
    for number in 0..network.stages.len() {
        one_encoding(network, number);
    }
}

/// Flows of one user count alike: what one of them leaves to the next has one unit, and so has what records sum up.
fn one_unit(network: &Network, group: &GroupDraft) {
    let mut units = group.conex().filter_map(|(sender, at)| Some((sender.unit?, at)));
    let Some((first, _)) = units.next() else { return };
    if let Some((other, at)) = units.find(|(unit, _)| *unit != first) {
        let (own, first) = (other.word(), first.word());
        network
            .at
            .elsewhere(at)
            .key("conex")
            .key("unit")
            .error(format!("is {own}, and other traffic of these users counts {first}; a user has one unit"));
    }
}

/// A stage must read its senders' encoding: codes of ECN field and RE flag over IPv4, bits of RFC 7837's
/// option over IPv6. Inside a tunnel it reads the outer header, which senders do not write.
fn one_encoding(network: &Network, number: usize) {
    let stage = &network.stages[number];
    let reads = stage.mechanism.and_then(|own| evenflow_stage::reads(own.kind, &stage.values));
    let Some(Reads { ipv6, either }) = reads else { return };
    let read = if ipv6 { Encoding::Ipv6 } else { Encoding::Ipv4 };
    let met = network.groups.iter().filter(|group| meets(network, group, number));
    let met = met.flat_map(|group| group.conex().map(move |(sender, at)| (group, sender, at)));
    // A sender without ConEx writes neither.
    let speaks = |sender: &Sender| sender.cheat.is_some_and(|cheat| cheat != Cheat::Legacy);
    let (alike, others): (Vec<_>, Vec<_>) = met
        .filter(|(_, sender, _)| speaks(sender))
        .filter_map(|(group, sender, at)| Some((group.name.as_str(), sender.encoding?, at)))
        .partition(|(_, written, _)| *written == read);
    let Some((group, written, _)) = others.first() else { return };
    let (own, written) = (read.word(), written.word());
    if let (true, []) = (either, &alike[..]) {
        let (why, writes, then) = match read {
            Encoding::Ipv4 => ("reads IPv4's codes", "IPv6's bits", "it would see no report"),
            Encoding::Ipv6 => {
                let then = "one code for losses and marks is no bit for either";
                ("reads IPv6's bits", "IPv4's codes", then)
            }
        };
        network.stage(number).key("encoding").error(format!(
            "is \"{own}\" and {why}, and groups.{group} writes {writes}: {then}; write encoding = \"{written}\""
        ));
        return;
    }
    for (_, _, at) in others {
        let whose = match alike.first() {
            Some((group, ..)) if either => format!(" and must, for groups.{group}"),
            _ => ", and nothing else".to_owned(),
        };
        let codes = if ipv6 { "IPv6's bits" } else { "IPv4's codes" };
        let apart =
            if either { ", or give each a separate stage" } else { ", or leave that stage off its path" };
        let stage = &stage.name;
        network.at.elsewhere(at).key("conex").key("encoding").error(format!(
            "is \"{written}\", and stages.{stage} on its path reads {codes}{whose}; write encoding = \
             \"{own}\"{apart}"
        ));
    }
}

/// Whether a group's path has the stage outside of its tunnels.
fn meets(network: &Network, group: &GroupDraft, number: usize) -> bool {
    let mut open = 0;
    for hop in group.hops() {
        let Component::Stage(i) = hop.component else { continue };
        if i == number {
            return open == 0;
        }
        match network.mouth(i) {
            Some(Mouth::Ingress) if !hop.against => open += 1,
            Some(Mouth::Egress) if !hop.against => open -= 1,
            _ => {}
        }
    }
    false
}

/// The first link on a path whose queue marks data; `Some(None)`: none does. Absent where that is not known, because a stage may mark as
/// well, or because of errors.
fn first_marker<'n>(network: &'n Network, path: &[Hop]) -> Option<Option<&'n str>> {
    let mut unsure = false;
    for hop in path {
        match hop.component {
            Component::Link(i) => {
                let link = &network.links[i];
                match link.marks[usize::from(hop.against)] {
                    Some(true) => return Some(Some(&link.name)),
                    marks => unsure |= marks.is_none(),
                }
            }
            Component::Stage(i) => unsure |= may_mark(&network.stages[i]),
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
