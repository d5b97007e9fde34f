//! What does not go together where senders report congestion (ConEx): senders, queues on their paths, and each other.

use evenflow_base::schema::Value;
use evenflow_transport::exposure::{Encoding, Reports, Settings};
use evenflow_transport::profile::Ecn;

use super::drafts::{GroupDraft, LinkDraft, StageDraft};
use crate::errors::{Errors, join};
use crate::model::{Component, Hop};

/// Adds an error for each ConEx sender that would report what nobody tells it, or whose packets are marked for nobody.
pub(super) fn check(links: &[LinkDraft], stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    for group in groups {
        let senders: Vec<_> = group.conex().collect();
        one_unit(&senders.iter().map(|(_, settings, at)| (*settings, *at)).collect::<Vec<_>>(), errors);
        let Some(path) = &group.path else { continue };
        let Some(marker) = first_marker(path, links, stages) else { continue };
        let mut said: Vec<&str> = Vec::new();
        for (profile, settings, at) in senders {
            if said.contains(&at) {
                continue;
            }
            said.push(at);
            let here = join(at, "conex");
            let over_ipv4 = settings.encoding == Encoding::Ipv4;
            match marker {
                Some(link) if profile.ecn == Ecn::Off && over_ipv4 => errors.push(
                    join(&here, "encoding"),
                    format!(
                        "over IPv4 its data is ECT(1), which links.{link} marks, and with ecn = \"off\" nobody hears of it; \
                         nearest: action = \"drop\" there, ecn = \"accurate\", or encoding = \"ipv6\""
                    ),
                ),
                None if settings.report == Reports::LossAndEcn && profile.ecn != Ecn::Off => errors.push(
                    join(&here, "report"),
                    "nothing on its path marks: the queues there only drop; nearest: report = \"loss\", or a queue that marks \
                     (kind = \"red\" with action = \"mark\")",
                ),
                _ => {}
            }
        }
    }
}

/// Flows of one user count alike: what one of them leaves to the next has one unit, and so has what records sum up.
fn one_unit(senders: &[(&Settings, &str)], errors: &mut Errors) {
    let Some((first, _)) = senders.first() else { return };
    if let Some((other, at)) = senders.iter().find(|(settings, _)| settings.unit != first.unit) {
        errors.push(
            join(&join(at, "conex"), "unit"),
            format!(
                "is {}, and other traffic of these users counts {}; a user has one unit",
                other.unit.word(),
                first.unit.word()
            ),
        );
    }
}

/// The first link on a path whose queue marks data; `Some(None)`: none does. Absent where that is not known, because something has
/// errors or a stage may mark as well.
fn first_marker<'a>(path: &[Hop], links: &'a [LinkDraft], stages: &[StageDraft]) -> Option<Option<&'a str>> {
    let mut unsure = false;
    for hop in path {
        match hop.component {
            Component::Link(i) => {
                let link = links[i].link.as_ref()?;
                let direction = if hop.against { link.reverse.as_ref() } else { Some(&link.forward) };
                let Some(queue) = direction.and_then(|direction| direction.queue.as_ref()) else { continue };
                let specs = [Some(&queue.rule), queue.scheduler.as_ref()].into_iter().flatten();
                if specs.into_iter().any(|spec| evenflow_queue::may_mark(&spec.values)) {
                    return Some(Some(&link.name));
                }
            }
            Component::Stage(i) => {
                let stage = stages[i].stage.as_ref()?;
                let marks = stage.spec.values.get("action") == Some(&Value::Word("mark".into()));
                unsure |= marks || stage.spec.mechanism.kind == "rewriter";
            }
        }
    }
    if unsure { None } else { Some(None) }
}
