//! `[groups]`: users, paths, traffic, TCP.

use std::collections::BTreeSet;

use evenflow_base::dscp::NAMES;
use evenflow_base::schema::{Law, Mechanism, Room, Value, Values, Way};
use evenflow_traffic::Common;
use evenflow_transport::congestion_control::{adopt, contradictions, multcp, wtp};
use evenflow_transport::exposure::{CONEX, Settings};
use evenflow_transport::profile::{self, STACK, TCP, line};
use evenflow_transport::{CongestionControl, Profile};
use serde_json::Value as Json;

use super::drafts::{ArrivalsDraft, GroupDraft, LinkDraft, Sender, StageDraft, TrafficDraft};
use super::table::{self, Table, name_problem, unknown_keys};
use super::{as_table, by_name, fixed_number, list, mechanism_in, nothing, plain, text};
use crate::catalogue;
use crate::errors::{Errors, join, quoted, shown, suggestion};
use crate::model::{Component, Hop, Spec, Stage, Tcp};
use crate::sections::{CONGESTION_CONTROL, GROUP, TRAFFIC, group};

/// Components on a path: a packet counts its hops, there and back, in eight bits.
const MOST_COMPONENTS: usize = 100;

/// Maximum number of flows of a scenario, by the memory of current machines.
const MOST_FLOWS: u64 = 64_000_000;

/// The traffic classes of all groups and those that stages assign, in the order of their names.
pub(super) fn classes(
    groups: &[GroupDraft],
    given: Option<&BTreeSet<String>>,
    errors: &mut Errors,
) -> Vec<String> {
    let mut all: BTreeSet<&String> =
        groups.iter().flat_map(|g| &g.classes).flatten().map(|sends| &sends.class).collect();
    all.extend(given.into_iter().flatten());
    if all.len() > usize::from(u8::MAX) + 1 {
        errors.push("groups", format!("{} traffic classes; there can be 256", all.len()));
    }
    all.into_iter().cloned().collect()
}

/// `[groups.NAME]`.
pub(super) fn groups(
    root: &Table,
    links: &[LinkDraft],
    stages: &[StageDraft],
    arrivals: &[ArrivalsDraft],
    errors: &mut Errors,
) -> Vec<GroupDraft> {
    let named = by_name(root, "groups", errors);
    if named.is_empty() && root.get("groups").is_none_or(Json::is_object) {
        errors.push("groups", "at least one group of users is needed");
    }
    let mut drafts = Vec::new();
    for (name, path, table) in named {
        drafts.push(match table {
            Some(table) => group(name, table, &path, (links, stages), arrivals, errors),
            None => GroupDraft {
                name: name.into(),
                users: None,
                path: None,
                classes: None,
                flows: None,
                traffic: None,
                processing: None,
                weight: None,
            },
        });
    }
    let flows = |g: &GroupDraft| {
        let each: u64 = g.flows.as_ref()?.iter().map(|(_, n)| u64::from(*n)).sum();
        Some(u64::from(g.users?) * each)
    };
    let flows: u64 = drafts.iter().filter_map(flows).fold(0, u64::saturating_add);
    if flows > MOST_FLOWS {
        errors.push("groups", format!("{flows} flows in all; at most {MOST_FLOWS} are possible"));
    }
    drafts
}

fn group(
    name: &str,
    table: &Table,
    path: &str,
    (links, stages): (&[LinkDraft], &[StageDraft]),
    arrivals: &[ArrivalsDraft],
    errors: &mut Errors,
) -> GroupDraft {
    unknown_keys(table, GROUP.names(), path, errors);
    let users = if table.get("users").is_some_and(|json| json.as_f64() == Some(0.0)) {
        errors
            .push(join(path, "users"), "a group needs at least one user; leave the group out if it has none");
        None
    } else {
        fixed_number(table, &group::users, path, errors).map(|n| n as u32)
    };
    let hops = hops(table, links, stages, path, errors);
    let group_class = class(table, path, errors).map(|class| class.unwrap_or_else(|| "be".into()));
    let group_dscp = dscp(table, path, errors);
    let mut traffic = traffic(table, path, arrivals, errors, group_class.as_ref(), group_dscp);
    let needs_windows = |hop: &Hop| match hop.component {
        Component::Stage(i) => stages[i].stage.as_ref().is_some_and(Stage::needs_windows),
        Component::Link(_) => false,
    };
    if hops.iter().flatten().any(needs_windows) {
        traffic.iter_mut().flatten().for_each(TrafficDraft::announce_windows);
    }
    let classes = traffic
        .as_ref()
        .and_then(|traffic| traffic.iter().map(TrafficDraft::sends).collect::<Option<Vec<_>>>());
    let flows = traffic.as_ref().and_then(|traffic| {
        let flows = |t: &TrafficDraft| Some((t.needs_tcp?, t.flows()?));
        traffic.iter().map(flows).collect::<Option<Vec<_>>>()
    });
    let before = errors.len();
    let processing = plain(table, &group::processing, path, errors);
    let processing = (errors.len() == before).then_some(processing);
    let weight = plain(table, &group::weight, path, errors);
    let drafts: Vec<&TrafficDraft> = traffic.iter().flatten().collect();
    weights(table, weight.as_ref(), &drafts, path, errors);
    GroupDraft { name: name.into(), users, path: hops, classes, flows, traffic, processing, weight }
}

/// `path`.
fn hops(
    group: &Table,
    links: &[LinkDraft],
    stages: &[StageDraft],
    path: &str,
    errors: &mut Errors,
) -> Option<Vec<Hop>> {
    let path = join(path, "path");
    let Some(json) = group.get("path") else {
        return errors.none(
            path,
            "is required: the links and stages that data meets, for example [\"access\", \"bottleneck\"]",
        );
    };
    let items = list(json, "links and stages", &path, errors)?;
    let before = errors.len();
    if items.len() > MOST_COMPONENTS {
        return errors.none(
            &path,
            format!("has {} components; {MOST_COMPONENTS} is the most that a path may have", items.len()),
        );
    }
    let mut hops: Vec<Hop> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let here = format!("{path}[{i}]");
        let Json::String(written) = item else {
            errors.push(here, format!("the name of a link or stage is needed, not {}", shown(item)));
            continue;
        };
        let (name, against) = match written.strip_prefix('-') {
            Some(name) => (name, true),
            None => (written.as_str(), false),
        };
        // Both are in the order of their names.
        let link = links.binary_search_by(|l| l.name.as_str().cmp(name)).map(Component::Link);
        let stage = || stages.binary_search_by(|s| s.name.as_str().cmp(name)).map(Component::Stage);
        let Ok(component) = link.or_else(|_| stage()) else {
            let valid = links.iter().map(|l| l.name.as_str()).chain(stages.iter().map(|s| s.name.as_str()));
            errors.push(
                here,
                format!("no link or stage is called {}{}", quoted(name), suggestion(name, valid)),
            );
            continue;
        };
        let one_way = match component {
            Component::Stage(i) if against => {
                // The reverse path has separate tunnels.
                let traits = |mechanism: &&Mechanism| mechanism.traits;
                stages[i]
                    .mechanism
                    .filter(|m| !traits(m).ways.has(Way::Backward) && traits(m).mouth.is_none())
            }
            _ => None,
        };
        if let Some(mechanism) = one_way {
            let kind = mechanism.kind;
            errors.push(
                here,
                format!(
                    "{kind} acts forward only: data that crosses {} against its direction would not meet it",
                    quoted(name)
                ),
            );
        } else if hops.iter().any(|hop| hop.component == component) {
            errors.push(here, format!("{} is on this path twice", quoted(name)));
        } else {
            hops.push(Hop { component, against });
        }
    }
    if errors.len() > before {
        return None;
    }
    // A packet counts its hops in eight bits: forward, reverse, and routes of packets from stages.
    let sends = |hop: &&Hop| match hop.component {
        Component::Stage(i) => stages[i].mechanism.is_some_and(|mechanism| mechanism.traits.sends),
        Component::Link(_) => false,
    };
    let senders = hops.iter().filter(sends).count();
    if 2 * hops.len() + 3 + senders * (2 * hops.len() + 3) > usize::from(u8::MAX) {
        return errors.none(
            path,
            format!(
                "has {} components, of which {senders} send packets; that is more than a packet can count: \
                 use fewer of either",
                hops.len()
            ),
        );
    }
    let crossed = |hop: &Hop| match hop.component {
        Component::Link(i) => Some((&links[i], hop.against)),
        Component::Stage(_) => None,
    };
    let mut crossed = hops.iter().filter_map(crossed).peekable();
    if crossed.peek().is_none() {
        return errors.none(path, "a path needs at least one link");
    }
    // A transport without any delay would send indefinitely at one instant.
    if crossed.all(|(draft, against)| takes_no_time(draft, against)) {
        return errors
            .none(path, "packets would take no time at all: one link needs a rate or a delay above 0");
    }
    Some(hops)
}

/// Conflicts with the group's weight: a congestion control with separate weights, and MulTCP with fewer than
/// one connection.
fn weights(
    table: &Table,
    weight: Option<&Value>,
    traffic: &[&TrafficDraft],
    path: &str,
    errors: &mut Errors,
) {
    let given = table.contains_key("weight");
    let here = join(path, "weight");
    let controls: Vec<&Spec> =
        traffic.iter().filter_map(|t| t.tcp.as_ref()?.as_ref()).map(|tcp| &tcp.congestion_control).collect();
    for name in
        [multcp::Given::weight.name, wtp::Given::increase_weight.name, wtp::Given::decrease_weight.name]
    {
        if let (true, Some(spec)) = (given, controls.iter().find(|spec| spec.values.get(name).is_some())) {
            let kind = spec.mechanism.kind;
            errors.push(
                &here,
                format!("excludes {name} of the congestion control {kind}; give one of the two"),
            );
        }
    }
    let stands_for_n = |spec: &&Spec| is_multcp(spec) && !spec.values.has(multcp::Given::weight);
    if controls.iter().any(stands_for_n) && weight.is_some_and(|w| w.bounds().0 < 1.0) {
        errors.push(here, "is N of multcp, which must be at least 1 for every draw");
    }
}

/// Whether data crosses a link at the instant it arrives; a link with errors gets the benefit of the doubt.
fn takes_no_time(draft: &LinkDraft, against: bool) -> bool {
    let Some(link) = &draft.link else { return false };
    let direction = if against { link.reverse.as_ref().unwrap_or(&link.forward) } else { &link.forward };
    let zero = |v: &Value| v.number() == Some(0.0);
    let no_delay = match &direction.delay {
        Value::Random(Law::Dealt(values)) => values.iter().any(zero),
        other => other.bounds().1 == 0.0,
    };
    no_delay && direction.rate.is_none()
}

/// `class`; the outer `None` means errors.
fn class(table: &Table, path: &str, errors: &mut Errors) -> Option<Option<String>> {
    let Some(json) = table.get("class") else { return Some(None) };
    let path = join(path, "class");
    let name = text(json, &path, errors)?;
    match name_problem(name) {
        None => Some(Some(name.into())),
        Some(problem) => errors.none(path, problem),
    }
}

/// `dscp`; the outer `None` means errors.
fn dscp(table: &Table, path: &str, errors: &mut Errors) -> Option<Option<u8>> {
    let Some(json) = table.get("dscp") else { return Some(None) };
    let number = json.as_u64().and_then(|code| u8::try_from(code).ok()).filter(|code| *code < 64);
    let code = number.or_else(|| NAMES.iter().find(|(name, _)| json == name).map(|(_, code)| *code));
    if code.is_some() {
        return Some(code);
    }
    let near = json.as_str().map(|name| suggestion(name, NAMES.map(|(name, _)| name)));
    let near = near.unwrap_or_else(|| "; write a number from 0 to 63, or a name such as \"EF\"".into());
    errors.none(join(path, "dscp"), format!("{} is no DSCP{near}", shown(json)))
}

/// `traffic`, with the group's `tcp` for those without one.
fn traffic(
    group: &Table,
    path: &str,
    arrivals: &[ArrivalsDraft],
    errors: &mut Errors,
    group_class: Option<&String>,
    group_dscp: Option<Option<u8>>,
) -> Option<Vec<TrafficDraft>> {
    // The group's TCP is decoded once, however many kinds of traffic share it.
    let mut shared: Option<Option<Tcp>> = group.get("tcp").map(|json| tcp(json, &join(path, "tcp"), errors));
    let here = join(path, "traffic");
    let Some(json) = group.get("traffic") else {
        return errors.none(here, "is required: the traffic of each user, for example { kind = \"bulk\" }");
    };
    let items: Vec<(&Json, String)> = match json {
        Json::Array(list) => list.iter().enumerate().map(|(i, t)| (t, format!("{here}[{i}]"))).collect(),
        one => vec![(one, here.clone())],
    };
    if items.is_empty() {
        return errors.none(here, "must not be empty");
    }
    let mut drafts = Vec::new();
    for (json, here) in items {
        let Some(table) = as_table(json, &here, errors) else {
            drafts.push(TrafficDraft::UNKNOWN);
            continue;
        };
        let (mechanism, spec) = mechanism_in(table, &TRAFFIC, Room::Traffic, &here, errors);
        let class = match class(table, &here, errors) {
            Some(None) => group_class.cloned(),
            own => own.flatten(),
        };
        let dscp = match dscp(table, &here, errors) {
            Some(None) => group_dscp,
            own => own,
        };
        let needs_tcp = mechanism.map(|m| evenflow_traffic::needs_tcp(m.kind));
        let own = join(&here, "tcp");
        let tcp_at = if table.contains_key("tcp") { own.clone() } else { join(path, "tcp") };
        let tcp = match (table.get("tcp"), needs_tcp) {
            (Some(_), Some(false)) => {
                let kind = mechanism.map_or("", |m| m.kind);
                errors.none(own, format!("{kind} sends datagrams, which have no TCP"))
            }
            (Some(json), _) => tcp(json, &own, errors).map(Some),
            (None, Some(false)) => Some(None),
            (None, Some(true)) => {
                let default = || tcp(&Json::Object(nothing().clone()), &join(path, "tcp"), errors);
                shared.get_or_insert_with(default).clone().map(Some)
            }
            (None, None) => None,
        };
        let sender = match (&tcp, needs_tcp) {
            (Some(tcp), _) => tcp.as_ref().and_then(|tcp| Sender::of(&tcp.profile)),
            (None, Some(false)) => None,
            (None, _) => table.get("tcp").or(group.get("tcp")).and_then(sender),
        };
        let arrivals = spec.as_ref().and_then(|spec| process(table, spec, &here, arrivals, errors));
        let kind = mechanism.map(|own| own.kind);
        drafts.push(TrafficDraft {
            spec,
            class,
            dscp,
            kind,
            needs_tcp,
            talks: false,
            tcp,
            sender,
            tcp_at,
            arrivals,
        });
    }
    if group.contains_key("tcp") && drafts.iter().all(|t| t.needs_tcp == Some(false)) {
        errors.push(join(path, "tcp"), "all traffic of this group is datagrams, which have no TCP");
    }
    Some(drafts)
}

/// The process that traffic takes its flows from; the outer `None` means errors.
fn process(
    table: &Table,
    spec: &Spec,
    path: &str,
    arrivals: &[ArrivalsDraft],
    errors: &mut Errors,
) -> Option<Option<usize>> {
    let Some(name) = spec.values.at(Common::arrivals) else { return Some(None) };
    let before = errors.len();
    for key in [Common::start.name, Common::until.name, Common::end.name]
        .into_iter()
        .filter(|key| table.contains_key(*key))
    {
        errors.push(
            join(path, key),
            format!("excludes arrivals; write it in [arrivals.{name}], for all groups"),
        );
    }
    let found = arrivals.iter().position(|draft| draft.name == name);
    if found.is_none() {
        let near = suggestion(&name, arrivals.iter().map(|draft| draft.name.as_str()));
        errors.push(join(path, "arrivals"), format!("there is no [arrivals.{name}]{near}"));
    }
    (errors.len() == before).then_some(found)
}

/// A `tcp` table: a profile, any line of which may be overridden, and a congestion control.
pub(super) fn tcp(json: &Json, path: &str, errors: &mut Errors) -> Option<Tcp> {
    let table = as_table(json, path, errors)?;
    let before = errors.len();
    let values = table::decode_table(table, &TCP, &[CONGESTION_CONTROL.name], path, errors);
    undrawn(&values, path, errors);
    let lines_sound = errors.len() == before;
    let congestion_control = congestion_control(table.get(CONGESTION_CONTROL.name), path, errors);
    let stack = values.at(STACK)?;
    let Some(mut profile) = Profile::named(&stack) else {
        errors
            .push(join(path, "stack"), format!("stack {}: planned, not built; nearest: rfc", quoted(&stack)));
        return None;
    };
    if !lines_sound {
        return None;
    }
    if let Some(control) = &congestion_control {
        adopt(control.mechanism.kind, &mut profile);
    }
    for (name, message) in profile.apply(&values) {
        let place = name.split('.').fold(path.to_owned(), |path, name| join(&path, name));
        errors.push(place, message);
    }
    let congestion_control = congestion_control?;
    let spec @ Spec { mechanism, values } = &congestion_control;
    let here = join(path, CONGESTION_CONTROL.name);
    for message in contradictions(mechanism.kind, values, &profile) {
        errors.push(&here, message);
    }
    if (profile.pacing || profile.gso > 0)
        && let Ok(control) = CongestionControl::build(mechanism.kind, values, &profile, 1.0)
    {
        let paces = control.needs().pacing;
        if profile.pacing && paces {
            errors.push(join(path, "pacing"), format!("{} paces itself; leave pacing out", mechanism.kind));
        } else if profile.gso > 0 && !profile.pacing && !paces {
            let why = format!("{} does not pace; add pacing = true, or leave gso out", mechanism.kind);
            errors.push(join(path, "gso"), why);
        }
    }
    if is_multcp(spec) && values.raw(multcp::Given::weight).is_some_and(|w| w.bounds().0 < 1.0) {
        errors.push(join(&here, "weight"), "is N, which must be at least 1 for every draw");
    }
    (errors.len() == before).then_some(Tcp { profile, congestion_control })
}

/// The ConEx settings of a `tcp` table with errors.
fn sender(json: &Json) -> Option<Sender> {
    let table = json.as_object()?;
    let conex = table.get(profile::CONEX.name)?.as_object()?;
    let said = &mut Errors::default(); // already reported
    let lines = table::decode_table(table, &TCP, &[CONGESTION_CONTROL.name], "", said);
    let values = table::decode_params(conex, CONEX.params, &[], "", said);
    let stack = || Profile::named(&lines.at(STACK)?).map(|profile| profile.ecn);
    Some(Sender {
        ecn: if table.contains_key(line::ecn.name) { lines.at(line::ecn) } else { stack() },
        report: values.at(Settings::report),
        unit: values.at(Settings::unit),
        encoding: values.at(Settings::encoding),
        cheat: values.at(Settings::cheat),
    })
}

/// Whether a congestion control is MulTCP, which acts like several connections.
fn is_multcp(spec: &Spec) -> bool {
    spec.mechanism.kind == multcp::TABLE.kind
}

/// A TCP profile is common to all users of a group: it has no draws.
fn undrawn(values: &Values, path: &str, errors: &mut Errors) {
    for (name, value) in &values.0 {
        let here = join(path, name);
        match value {
            Value::Random(_) => errors.push(here, "cannot be drawn; a plain value is needed"),
            Value::Table(table) => undrawn(table, &here, errors),
            _ => {}
        }
    }
}

fn congestion_control(json: Option<&Json>, path: &str, errors: &mut Errors) -> Option<Spec> {
    let path = join(path, CONGESTION_CONTROL.name);
    let default = Json::String(catalogue::default(Room::CongestionControl).kind.into());
    match json.unwrap_or(&default) {
        Json::Object(table) => {
            let mechanism = table::kind(table, Room::CongestionControl, &path, errors)?;
            table::spec(table, mechanism, &["kind"], &path, errors)
        }
        name => {
            let mechanism = table::named(name, Room::CongestionControl, &path, errors)?;
            table::spec(nothing(), mechanism, &[], &path, errors)
        }
    }
}
