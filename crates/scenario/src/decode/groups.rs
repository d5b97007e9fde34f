//! `[groups]`: users, paths, traffic, TCP.

use std::cell::RefCell;
use std::collections::BTreeSet;

use evenflow_base::dscp::NAMES;
use evenflow_base::schema::{Law, Mechanism, Room, Value, Values, Way};
use evenflow_traffic::Common;
use evenflow_transport::congestion_control::{adopt, contradictions, multcp, wtp};
use evenflow_transport::exposure::{CONEX, Settings};
use evenflow_transport::profile::{self, STACK, TCP, line};
use evenflow_transport::{CongestionControl, Profile};
use serde_json::Value as Json;

use super::drafts::{ArrivalsDraft, GroupDraft, LinkDraft, Network, Sender, TrafficDraft};
use super::table::{self, Table, unknown_keys};
use super::{TABLE, TEXT, by_name, mechanism_in, number, plain};
use crate::catalogue;
use crate::errors::{At, quoted, shown, suggestion};
use crate::model::{Component, Hop, Spec, Stage, Tcp};
use crate::sections::{CONGESTION_CONTROL, GROUP, TRAFFIC, group};

/// Components on a path: a packet counts its hops, there and back, in eight bits.
const MOST_COMPONENTS: usize = 100;

/// Maximum number of flows of a scenario, by the memory of current machines.
const MOST_FLOWS: u64 = 64_000_000;

/// The traffic classes of all groups and those that stages assign, in the order of their names.
pub(super) fn classes(groups: &[GroupDraft], given: Option<&BTreeSet<String>>, at: &At) -> Vec<String> {
    let mut all: BTreeSet<&String> =
        groups.iter().flat_map(|g| &g.classes).flatten().map(|sends| &sends.class).collect();
    all.extend(given.into_iter().flatten());
    if all.len() > usize::from(u8::MAX) + 1 {
        at.key("groups").error(format!("{} traffic classes; there can be 256", all.len()));
    }
    all.into_iter().cloned().collect()
}

/// `[groups.NAME]`.
pub(super) fn groups(
    root: &Table,
    network: &Network,
    arrivals: &[ArrivalsDraft],
    at: &At,
) -> Vec<GroupDraft> {
    let named = by_name(root, "groups", at);
    if named.is_empty() && root.get("groups").is_none_or(Json::is_object) {
        at.key("groups").error("at least one group of users is needed");
    }
    let draft = |(name, at, table): (&str, At, Option<&Table>)| {
        let draft = table.map_or_else(GroupDraft::default, |table| group(table, network, arrivals, &at));
        GroupDraft { name: name.into(), ..draft }
    };
    let drafts: Vec<GroupDraft> = named.into_iter().map(draft).collect();
    let flows = |g: &GroupDraft| Some(u64::from(g.users?) * g.lasting_flows()?);
    let flows: u64 = drafts.iter().filter_map(flows).fold(0, u64::saturating_add);
    if flows > MOST_FLOWS {
        at.key("groups").error(format!("{flows} flows in all; at most {MOST_FLOWS} are possible"));
    }
    drafts
}

fn group(table: &Table, network: &Network, arrivals: &[ArrivalsDraft], at: &At) -> GroupDraft {
    unknown_keys(table, GROUP.names(), at);
    let users = match table.get("users").and_then(Json::as_f64) {
        Some(0.0) => {
            at.key("users").none("a group needs at least one user; leave the group out if it has none")
        }
        _ => number(table, &group::users, at).map(|n| n as u32),
    };
    let path = hops(table, network, at);
    let group_class = class(table, at).map(|class| class.unwrap_or_else(|| "be".into()));
    let group_dscp = dscp(table, at);
    let mut traffic = traffic(table, arrivals, group_class.as_ref(), group_dscp, at);
    let needs_windows = |hop: &Hop| match hop.component {
        Component::Stage(i) => network.stages[i].stage.as_ref().is_some_and(Stage::needs_windows),
        Component::Link(_) => false,
    };
    if path.iter().flatten().any(needs_windows) {
        traffic.iter_mut().flatten().for_each(TrafficDraft::announce_windows);
    }
    let classes = traffic.as_ref().and_then(|all| all.iter().map(TrafficDraft::sends).collect());
    let flows = |t: &TrafficDraft| Some((t.needs_tcp?, t.flows()?));
    let flows = traffic.as_ref().and_then(|all| all.iter().map(flows).collect());
    let before = at.count();
    let processing = plain(table, &group::processing, at);
    let processing = (at.count() == before).then_some(processing);
    let weight = plain(table, &group::weight, at);
    let draft =
        GroupDraft { users, path, classes, flows, traffic, processing, weight, ..GroupDraft::default() };
    check_weight(&draft, table.contains_key("weight"), &at.key("weight"));
    draft
}

/// `path`.
fn hops(group: &Table, network: &Network, at: &At) -> Option<Vec<Hop>> {
    let at = &at.key("path");
    let Some(json) = group.get("path") else {
        return at.none(
            "is required: the links and stages that data meets, for example [\"access\", \"bottleneck\"]",
        );
    };
    let items = at.list(json, "a list of links and stages is needed")?;
    let before = at.count();
    if items.len() > MOST_COMPONENTS {
        let count = items.len();
        return at
            .none(format!("has {count} components; {MOST_COMPONENTS} is the most that a path may have"));
    }
    let mechanism = |component| match component {
        Component::Stage(i) => network.stages[i].mechanism,
        Component::Link(_) => None,
    };
    let mut hops: Vec<Hop> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let here = at.item(i);
        let Some(written) = here.text(item, "the name of a link or stage is needed") else { continue };
        let (name, against) = written.strip_prefix('-').map_or((written, false), |name| (name, true));
        let shown = quoted(name);
        let Some(component) = network.component_named(name) else {
            let links = network.links.iter().map(|l| l.name.as_str());
            let near = suggestion(name, links.chain(network.stages.iter().map(|s| s.name.as_str())));
            here.error(format!("no link or stage is called {shown}{near}"));
            continue;
        };
        // The reverse path has separate tunnels.
        let is_one_way = |m: &&Mechanism| !m.traits.ways.has(Way::Backward) && m.traits.mouth.is_none();
        if let Some(Mechanism { kind, .. }) = mechanism(component).filter(|m| against && is_one_way(m)) {
            here.error(format!(
                "{kind} acts forward only: data that crosses {shown} against its direction would not meet it"
            ));
        } else if hops.iter().any(|hop| hop.component == component) {
            here.error(format!("{shown} is on this path twice"));
        } else {
            hops.push(Hop { component, against });
        }
    }
    if at.count() > before {
        return None;
    }
    // A packet counts its hops in eight bits: forward, reverse, and routes of packets from stages.
    let sends = |hop: &&Hop| mechanism(hop.component).is_some_and(|mechanism| mechanism.traits.sends);
    let (count, senders) = (hops.len(), hops.iter().filter(sends).count());
    if 2 * count + 3 + senders * (2 * count + 3) > usize::from(u8::MAX) {
        return at.none(format!(
            "has {count} components, of which {senders} send packets; that is more than a packet can count: \
             use fewer of either"
        ));
    }
    let crossed = |hop: &Hop| match hop.component {
        Component::Link(i) => Some(takes_no_time(&network.links[i], hop.against)),
        Component::Stage(_) => None,
    };
    let mut crossed = hops.iter().filter_map(crossed).peekable();
    if crossed.peek().is_none() {
        return at.none("a path needs at least one link");
    }
    // A transport without any delay would send indefinitely at one instant.
    if crossed.all(|no_time| no_time) {
        return at.none("packets would take no time at all: one link needs a rate or a delay above 0");
    }
    Some(hops)
}

/// Conflicts with the group's weight: a congestion control with separate weights, and MulTCP with fewer than
/// one connection.
fn check_weight(group: &GroupDraft, is_given: bool, at: &At) {
    let tcps = || group.traffic.iter().flatten().filter_map(|t| t.tcp.as_ref()?.as_ref());
    let controls = || tcps().map(|tcp| &tcp.congestion_control);
    for name in
        [multcp::Given::weight.name, wtp::Given::increase_weight.name, wtp::Given::decrease_weight.name]
    {
        if let (true, Some(spec)) = (is_given, controls().find(|spec| spec.values.get(name).is_some())) {
            let kind = spec.mechanism.kind;
            at.error(format!("excludes {name} of the congestion control {kind}; give one of the two"));
        }
    }
    let stands_for_n = |spec: &Spec| is_multcp(spec) && !spec.values.has(multcp::Given::weight);
    if controls().any(stands_for_n) && group.weight.as_ref().is_some_and(|w| w.bounds().0 < 1.0) {
        at.error("is N of multcp, which must be at least 1 for every draw");
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
fn class(table: &Table, at: &At) -> Option<Option<String>> {
    let Some(json) = table.get("class") else { return Some(None) };
    let at = &at.key("class");
    at.name(at.text(json, TEXT)?).map(|name| Some(name.into()))
}

/// `dscp`; the outer `None` means errors.
fn dscp(table: &Table, at: &At) -> Option<Option<u8>> {
    let Some(json) = table.get("dscp") else { return Some(None) };
    let number = json.as_u64().and_then(|code| u8::try_from(code).ok()).filter(|code| *code < 64);
    let code = number.or_else(|| NAMES.iter().find(|(name, _)| json == name).map(|(_, code)| *code));
    if code.is_some() {
        return Some(code);
    }
    let near = json.as_str().map(|name| suggestion(name, NAMES.map(|(name, _)| name)));
    let near = near.unwrap_or_else(|| "; write a number from 0 to 63, or a name such as \"EF\"".into());
    at.key("dscp").none(format!("{} is no DSCP{near}", shown(json)))
}

/// `traffic`, with the group's `tcp` for those without one.
fn traffic(
    group: &Table,
    arrivals: &[ArrivalsDraft],
    group_class: Option<&String>,
    group_dscp: Option<Option<u8>>,
    at: &At,
) -> Option<Vec<TrafficDraft>> {
    // The group's TCP is decoded once, however many kinds of traffic share it.
    let (here, group_at) = (at.key("traffic"), at.key("tcp"));
    let mut shared: Option<Option<Tcp>> = group.get("tcp").map(|json| tcp(json, &group_at));
    let Some(json) = group.get("traffic") else {
        return here.none("is required: the traffic of each user, for example { kind = \"bulk\" }");
    };
    let items: Vec<(&Json, At)> = match json {
        Json::Array(list) => list.iter().enumerate().map(|(i, t)| (t, here.item(i))).collect(),
        one => vec![(one, here.clone())],
    };
    if items.is_empty() {
        return here.none("must not be empty");
    }
    let draft = |(json, here): (&Json, At)| {
        let Some(table) = here.table(json, TABLE) else { return TrafficDraft::default() };
        let (mechanism, spec) = mechanism_in(table, &TRAFFIC, Room::Traffic, &here);
        let class = class(table, &here).and_then(|own| own.or_else(|| group_class.cloned()));
        let dscp = dscp(table, &here).and_then(|own| if own.is_some() { Some(own) } else { group_dscp });
        let kind = mechanism.map(|m| m.kind);
        let needs_tcp = kind.map(evenflow_traffic::needs_tcp);
        let own = here.key("tcp");
        let tcp_at = if table.contains_key("tcp") { &own } else { &group_at }.path().to_owned();
        let tcp = match (table.get("tcp"), needs_tcp) {
            (Some(_), Some(false)) => {
                own.none(format!("{} sends datagrams, which have no TCP", kind.unwrap_or_default()))
            }
            (Some(json), _) => tcp(json, &own).map(Some),
            (None, Some(false)) => Some(None),
            (None, Some(true)) => {
                let default = || tcp(&Json::Object(Table::new()), &group_at);
                shared.get_or_insert_with(default).clone().map(Some)
            }
            (None, None) => None,
        };
        let sender = match (&tcp, needs_tcp) {
            (Some(tcp), _) => tcp.as_ref().and_then(|tcp| Sender::of(&tcp.profile)),
            (None, Some(false)) => None,
            (None, _) => table.get("tcp").or(group.get("tcp")).and_then(sender),
        };
        let arrivals = spec.as_ref().and_then(|spec| process(table, spec, arrivals, &here));
        TrafficDraft { spec, class, dscp, kind, needs_tcp, talks: false, tcp, sender, tcp_at, arrivals }
    };
    let drafts: Vec<TrafficDraft> = items.into_iter().map(draft).collect();
    if group.contains_key("tcp") && drafts.iter().all(|t| t.needs_tcp == Some(false)) {
        group_at.error("all traffic of this group is datagrams, which have no TCP");
    }
    Some(drafts)
}

/// The process that traffic takes its flows from; the outer `None` means errors.
fn process(table: &Table, spec: &Spec, arrivals: &[ArrivalsDraft], at: &At) -> Option<Option<usize>> {
    let Some(name) = spec.values.at(Common::arrivals) else { return Some(None) };
    let before = at.count();
    for key in [Common::start.name, Common::until.name, Common::end.name] {
        if table.contains_key(key) {
            at.key(key).error(format!("excludes arrivals; write it in [arrivals.{name}], for all groups"));
        }
    }
    let found = arrivals.iter().position(|draft| draft.name == name);
    if found.is_none() {
        let near = suggestion(&name, arrivals.iter().map(|draft| draft.name.as_str()));
        at.key("arrivals").error(format!("there is no [arrivals.{name}]{near}"));
    }
    (at.count() == before).then_some(found)
}

/// A `tcp` table: a profile, any line of which may be overridden, and a congestion control.
pub(super) fn tcp(json: &Json, at: &At) -> Option<Tcp> {
    let table = at.table(json, TABLE)?;
    let before = at.count();
    let values = table::decode_params(table, TCP.params, &[CONGESTION_CONTROL.name], at);
    undrawn(&values, at);
    let lines_sound = at.count() == before;
    let here = at.key(CONGESTION_CONTROL.name);
    let default = Json::String(catalogue::default(Room::CongestionControl).kind.into());
    let control = table.get(CONGESTION_CONTROL.name).unwrap_or(&default);
    let congestion_control = table::mechanism(control, Room::CongestionControl, &here);
    let stack = values.at(STACK)?;
    let Some(mut profile) = Profile::named(&stack) else {
        return at.key("stack").none(format!("stack {}: planned, not built; nearest: rfc", quoted(&stack)));
    };
    if !lines_sound {
        return None;
    }
    if let Some(control) = &congestion_control {
        adopt(control.mechanism.kind, &mut profile);
    }
    for (name, message) in profile.apply(&values) {
        name.split('.').fold(at.clone(), |at, name| at.key(name)).error(message);
    }
    let congestion_control = congestion_control?;
    let spec @ Spec { mechanism, values } = &congestion_control;
    for message in contradictions(mechanism.kind, values, &profile) {
        here.error(message);
    }
    if (profile.pacing || profile.gso > 0)
        && let Ok(control) = CongestionControl::build(mechanism.kind, values, &profile, 1.0)
    {
        let paces = control.needs().pacing;
        if profile.pacing && paces {
            at.key("pacing").error(format!("{} paces itself; leave pacing out", mechanism.kind));
        } else if profile.gso > 0 && !profile.pacing && !paces {
            let why = format!("{} does not pace; add pacing = true, or leave gso out", mechanism.kind);
            at.key("gso").error(why);
        }
    }
    if is_multcp(spec) && values.raw(multcp::Given::weight).is_some_and(|w| w.bounds().0 < 1.0) {
        here.key("weight").error("is N, which must be at least 1 for every draw");
    }
    (at.count() == before).then_some(Tcp { profile, congestion_control })
}

/// The ConEx settings of a `tcp` table with errors.
fn sender(json: &Json) -> Option<Sender> {
    let table = json.as_object()?;
    let conex = table.get(profile::CONEX.name)?.as_object()?;
    let reported = RefCell::default();
    let at = &At::root(&reported);
    let lines = table::decode_params(table, TCP.params, &[CONGESTION_CONTROL.name], at);
    let values = table::decode_params(conex, CONEX.params, &[], at);
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
fn undrawn(values: &Values, at: &At) {
    for (name, value) in &values.0 {
        let here = at.key(name);
        match value {
            Value::Random(_) => here.error("cannot be drawn; a plain value is needed"),
            Value::Table(table) => undrawn(table, &here),
            _ => {}
        }
    }
}
