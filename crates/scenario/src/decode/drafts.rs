//! Drafts of sections during decoding. `None`: a part was wrong, and its error was reported.

use evenflow_base::params::{Key, Parameter};
use evenflow_base::schema::{Mechanism, Mouth, Value, Values};
use evenflow_traffic::{Common, Poisson};
use evenflow_transport::Profile;
use evenflow_transport::exposure::{Cheat, Encoding, Reports, Unit};
use evenflow_transport::profile::Ecn;

use crate::copies::copies_of;
use crate::errors::{At, quoted};
use crate::model::{Arrivals, Component, Group, Hop, Link, Loss, Per, Queue, Spec, Stage, Tcp, Traffic};
use crate::quantity;

/// Links, stages and groups as far as they could be decoded, each sorted by name.
pub struct Network<'a> {
    /// The file.
    pub at: At<'a>,
    pub links: Vec<LinkDraft>,
    pub stages: Vec<StageDraft>,
    pub groups: Vec<GroupDraft>,
}

impl<'a> Network<'a> {
    /// The link or stage of this name.
    pub fn component_named(&self, name: &str) -> Option<Component> {
        let link = self.links.binary_search_by(|link| link.name.as_str().cmp(name)).map(Component::Link);
        let stage =
            || self.stages.binary_search_by(|stage| stage.name.as_str().cmp(name)).map(Component::Stage);
        link.or_else(|_| stage()).ok()
    }

    /// The place of a stage in the file.
    pub fn stage(&self, stage: usize) -> At<'a> {
        self.at.key("stages").key(&self.stages[stage].name)
    }

    /// The place of a component on a group's path.
    pub fn hop(&self, group: &GroupDraft, hop: usize) -> At<'a> {
        self.at.key("groups").key(&group.name).key("path").item(hop)
    }

    /// Reports that a stage needs a peer of this kind.
    pub fn needs_peer(&self, stage: usize, kind: &str, purpose: &str) {
        let mut near = self.stages.iter().filter(|other| other.kind() == kind);
        let near = match (near.next(), near.next()) {
            (Some(one), None) => format!(", for example {}", quoted(&one.name)),
            _ => String::new(),
        };
        let why = format!("is required: the stage of kind {kind} that {purpose}{near}");
        self.stage(stage).key("peer").error(why);
    }

    /// All paths; `None` if one is unknown.
    pub fn paths(&self) -> Option<Vec<&[Hop]>> {
        self.groups.iter().map(|group| group.path.as_deref()).collect()
    }

    /// The groups whose path is known and has this component.
    pub fn crossing_groups(&self, component: Component) -> impl Iterator<Item = &GroupDraft> {
        self.groups.iter().filter(move |group| group.hops().any(|hop| hop.component == component))
    }

    /// Which end of a tunnel a stage is.
    pub fn mouth(&self, stage: usize) -> Option<Mouth> {
        self.stages[stage].mechanism?.traits.mouth
    }

    /// How many copies of a component there are; `None` where a path, a number of users or of flows is unknown.
    pub fn copies(&self, component: Component, per: Per) -> Option<u64> {
        if per == Per::Shared {
            return Some(1);
        }
        let count =
            |group: &GroupDraft| match group.path.as_ref()?.iter().any(|hop| hop.component == component) {
                true => Some(copies_of(per, group.users?, group.lasting_flows()?)),
                false => Some(0),
            };
        self.groups.iter().map(count).sum()
    }
}

/// A process as far as it could be decoded.
pub struct ArrivalsDraft {
    /// Its name.
    pub name: String,
    /// All of it, if nothing was wrong.
    pub arrivals: Option<Arrivals>,
}

/// A link as far as it could be decoded.
#[derive(Default)]
pub struct LinkDraft {
    /// Its name.
    pub name: String,
    /// For whom there are copies.
    pub per: Option<Per>,
    /// Its queues, forward and against it; absent: none, or wrong.
    pub queues: [Option<Queue>; 2],
    /// Whether its queue marks packets, there and back. `None`: what decides that has errors.
    pub marks: [Option<bool>; 2],
    /// Its losses; absent: none, or wrong.
    pub loss: Option<Loss>,
    /// All of it, if nothing was wrong.
    pub link: Option<Link>,
}

/// A stage as far as it could be decoded.
#[derive(Default)]
pub struct StageDraft {
    /// Its name.
    pub name: String,
    /// For whom there are copies.
    pub per: Option<Per>,
    /// Its kind.
    pub mechanism: Option<&'static Mechanism>,
    /// Those of its parameters that could be read, and the names of those that could not.
    pub values: Values,
    pub unread: Vec<&'static str>,
    /// Names of its peer and of what it controls, as they are written.
    pub peer: Option<String>,
    pub controls: Option<String>,
    /// The number of its peer, once peers are tied.
    pub tied: Option<usize>,
    /// All of it, if nothing was wrong.
    pub stage: Option<Stage>,
}

impl StageDraft {
    /// Its kind, where that is known.
    pub fn kind(&self) -> &'static str {
        self.mechanism.map_or("", |mechanism| mechanism.kind)
    }

    /// Whether it is tied to no peer and names none.
    pub fn lacks_peer(&self) -> bool {
        self.tied.is_none() && self.peer.is_none()
    }

    /// Whether a parameter has this value; `None`: that could not be read.
    pub fn says<T: Parameter<One: PartialEq>>(&self, key: Key<T>, one: T::One) -> Option<bool> {
        let read = !self.unread.contains(&key.name);
        read.then(|| self.values.is(key, one))
    }

    /// Whether it is known which classes it gives: quantities decide nothing about that.
    pub fn classes_are_known(&self) -> bool {
        let quantity = |name: &str| {
            let params = self.mechanism.iter().flat_map(|own| own.params);
            params.into_iter().any(|param| param.name == name && quantity::is_quantity(param.ty))
        };
        self.mechanism.is_some() && self.unread.iter().all(|name| quantity(name))
    }
}

/// A group as far as it could be decoded.
#[derive(Default)]
pub struct GroupDraft {
    /// Its name.
    pub name: String,
    /// How many users.
    pub users: Option<u32>,
    /// Its path.
    pub path: Option<Vec<Hop>>,
    /// Its traffic.
    pub classes: Option<Vec<Sends>>,
    /// Its flows per user, in order: whether each block is TCP, and how many flows it has.
    pub flows: Option<Vec<(bool, u32)>>,
    pub traffic: Option<Vec<TrafficDraft>>,
    pub processing: Option<Option<Value>>,
    pub weight: Option<Value>,
}

/// The class of what a group sends.
pub struct Sends {
    pub class: String,
    /// Over TCP.
    pub tcp: bool,
    /// Packets of the class come back: acknowledgements, replies.
    pub answered: bool,
}

/// A ConEx sender as far as its stack could be decoded: `None` is a line that has errors.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    pub ecn: Option<Ecn>,
    pub report: Option<Reports>,
    pub unit: Option<Unit>,
    pub encoding: Option<Encoding>,
    pub cheat: Option<Cheat>,
}

impl Sender {
    /// Of a sound stack.
    pub fn of(profile: &Profile) -> Option<Sender> {
        let conex = profile.conex?;
        Some(Sender {
            ecn: Some(profile.ecn),
            report: Some(conex.report),
            unit: Some(conex.unit),
            encoding: Some(conex.encoding),
            cheat: Some(conex.cheat),
        })
    }
}

/// One kind of a group's traffic as far as it could be decoded.
#[derive(Default)]
pub struct TrafficDraft {
    pub spec: Option<Spec>,
    pub class: Option<String>,
    /// The outer `None` means errors.
    pub dscp: Option<Option<u8>>,
    pub kind: Option<&'static str>,
    /// Whether it goes over TCP; unknown where the kind is.
    pub needs_tcp: Option<bool>,
    /// It lasts for the whole run, and its connections are those of an application all the same.
    pub talks: bool,
    /// The outer `None` means errors.
    pub tcp: Option<Option<Tcp>>,
    /// Its ConEx settings, if it has a key `conex`.
    pub sender: Option<Sender>,
    /// Where that stands, or would.
    pub tcp_at: String,
    /// The process that its flows come from; the outer `None` means errors.
    pub arrivals: Option<Option<usize>>,
}

impl TrafficDraft {
    /// Its traffic, if kind and class are known.
    pub fn sends(&self) -> Option<Sends> {
        let answered = evenflow_traffic::is_answered(self.kind?);
        Some(Sends { class: self.class.clone()?, tcp: self.needs_tcp?, answered })
    }

    /// The kind of an application, which opens flows during the run.
    fn opens(&self) -> Option<&'static str> {
        let spec = self.spec.as_ref()?;
        let kind = spec.mechanism.kind;
        (self.talks || evenflow_traffic::opens(kind, &spec.values)).then_some(kind)
    }

    /// How many flows a user has of it from the beginning.
    pub fn flows(&self) -> Option<u32> {
        let spec = self.spec.as_ref()?;
        Some(if self.talks { 0 } else { evenflow_traffic::flows(spec.mechanism.kind, &spec.values) })
    }

    /// Something on the path reads or writes receive windows, which only the connections of applications announce.
    pub fn announce_windows(&mut self) {
        self.talks = self.needs_tcp == Some(true) && self.flows().is_some_and(|lasting| lasting > 0);
    }
}

impl GroupDraft {
    /// The components on its path, as far as it is known.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.path.iter().flatten()
    }

    /// How many flows each user has from the beginning.
    pub fn lasting_flows(&self) -> Option<u64> {
        Some(self.flows.as_ref()?.iter().map(|(_, n)| u64::from(*n)).sum())
    }

    /// Bytes of the largest packet that its users send, as far as that is known.
    pub fn largest_packet(&self) -> Option<f64> {
        let of = |traffic: &TrafficDraft| match traffic.tcp.as_ref()? {
            Some(tcp) => Some((tcp.profile.mss + tcp.profile.header) as f64),
            None => Some(traffic.spec.as_ref()?.values.raw(Poisson::packet)?.bounds().1),
        };
        let sizes = self.traffic.iter().flatten().filter_map(of);
        sizes.filter(|size| size.is_finite()).max_by(f64::total_cmp)
    }

    /// The stacks, and where each stands.
    pub fn profiles(&self) -> impl Iterator<Item = (&Profile, &str)> {
        let drafts = self.traffic.iter().flatten();
        drafts.filter_map(|draft| Some((&draft.tcp.as_ref()?.as_ref()?.profile, draft.tcp_at.as_str())))
    }

    /// The stacks that are ConEx senders, and where each stands.
    pub fn conex(&self) -> impl Iterator<Item = (&Sender, &str)> {
        let drafts = self.traffic.iter().flatten();
        drafts.filter_map(|draft| Some((draft.sender.as_ref()?, draft.tcp_at.as_str())))
    }

    /// The group, if nothing was wrong; `classes` are those of all groups.
    pub fn finish(self, classes: &[String]) -> Option<Group> {
        let finish = |draft: TrafficDraft| {
            let class = draft.class?;
            let class = u8::try_from(classes.iter().position(|c| *c == class)?).ok()?;
            let talks = draft.talks;
            let (dscp, tcp, arrivals) = (draft.dscp?, draft.tcp?, draft.arrivals?);
            Some(Traffic { spec: draft.spec?, class, dscp, talks, tcp, arrivals })
        };
        Some(Group {
            name: self.name,
            users: self.users?,
            path: self.path?,
            traffic: self.traffic?.into_iter().map(finish).collect::<Option<_>>()?,
            processing: self.processing?,
            weight: self.weight?,
        })
    }

    /// Which of its traffic takes its flows from which process, and which share of them; `None` where some is unknown.
    pub fn arrivals(&self) -> Option<Vec<(usize, usize, f64)>> {
        let mut uses = Vec::new();
        for (number, draft) in self.traffic.as_ref()?.iter().enumerate() {
            let spec = draft.spec.as_ref()?;
            uses.extend(draft.arrivals?.map(|process| {
                (number, process, spec.values.raw(Common::share).and_then(Value::number).unwrap_or(1.0))
            }));
        }
        Some(uses)
    }

    /// The kind of its traffic that opens flows during the run, if any.
    pub fn opens(&self) -> Option<&'static str> {
        self.traffic.as_ref()?.iter().find_map(TrafficDraft::opens)
    }
}
