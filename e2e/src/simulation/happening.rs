//! What people and the world do while rollouts run, drawn from a seed: any edit that the API takes, several at once, and what
//! becomes of clusters, namespaces, clocks and connections.

use std::time::Duration;

use drydock_api::names::{
    KIND_LABEL, REVISION_ANNOTATION, STATE_LABEL, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL,
};
use kube_sandbox::server::Verb;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::acceptances;
use super::draw::{self, ALL, FIELDS, NAMESPACES, PLACEMENTS, SETS, TARGETS, Which, below, chance, pick};
use super::scenario::Scenario;

/// By how much a clock is off at most.
pub(super) const SKEW: Duration = Duration::from_mins(3);
/// For how long the hub is cut off at most.
const CUT: Duration = Duration::from_hours(3);

/// Writes of the hub that are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The plural of the kind.
    pub kind: &'static str,
    pub verb: Verb,
    /// Only in this namespace.
    pub namespace: Option<String>,
}

/// How somebody edits a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tamper {
    /// Takes a label off.
    Label(&'static str),
    /// Takes an annotation off.
    Annotation(&'static str),
    /// Takes all labels and annotations off.
    Everything,
    /// Deletes it.
    Delete,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Happening {
    /// Somebody creates an upgrade.
    Create(Which, Value),
    /// Somebody edits some fields of an upgrade in one write; a null takes one away.
    Edit(Which, Vec<(&'static str, Value)>),
    /// Somebody retries all clusters, or one, with this token.
    Retry(Which, Option<String>, String),
    /// Somebody deletes an upgrade, and perhaps makes another of that name at once.
    Delete(Which, Option<Value>),
    /// The hub's objects are lost, and restored some minutes later as a backup of this many minutes before has them.
    Restore { backup: u64, down: u64 },
    /// Somebody accepts findings with the object of this namespace and name, or deletes it.
    Accept(&'static str, &'static str, Option<Value>),
    /// A Placement requires this of clusters, or is deleted.
    Placement(&'static str, &'static str, Option<Value>),
    /// A Placement is deleted and created again.
    PlacementAnew(&'static str, &'static str, Value),
    /// A cluster set is there, or is not.
    Set(&'static str, bool),
    /// A cluster set is bound to a namespace, or is not.
    Bound(&'static str, &'static str, bool),
    /// A cluster has these labels.
    Labels(String, Value),
    /// The admin accepts a cluster, or does not.
    Accepted(String, bool),
    /// A cluster leaves the hub with its namespace.
    Leaves(String),
    /// A cluster joins the hub.
    Joins(String),
    /// The namespace of a cluster is deleted, or created again.
    Namespace(String, bool),
    /// The namespace of upgrades is deleted with all that is in it, or created again.
    Team(bool),
    /// Somebody edits a work of a cluster: which of them a number says.
    Tampered(String, u64, Tamper),
    /// The hub's writes are refused, or not any more.
    Refusals(Vec<Refused>),
    /// Something else upgrades a cluster.
    Drift(String, &'static str),
    /// Users correct the specs that are invalid.
    Corrected,
    /// A cluster is cut off from the hub, or comes back.
    Connected(String, bool),
    /// The replicas are cut off from their API server, or come back.
    Partition(bool),
    /// The clocks of the replicas are ahead by this many milliseconds.
    Clock(i64),
}

/// What happens, and after which time.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(pub Vec<(Duration, Happening)>);

struct Drawing<'a> {
    rng: &'a mut ChaCha8Rng,
    scenario: &'a Scenario,
    fault_period: Duration,
    events: Vec<(Duration, Happening)>,
}

impl Events {
    /// Draws what happens within `fault_period`; at its end everything works again that is not the user's wish.
    pub fn draw(rng: &mut ChaCha8Rng, scenario: &Scenario, fault_period: Duration) -> Self {
        let mut drawing = Drawing {
            rng,
            scenario,
            fault_period,
            events: Vec::new(),
        };
        let count = 4 + below(drawing.rng, 28);
        for _ in 0..count {
            drawing.one();
        }
        drawing.accept_at_begin();
        let mut events = drawing.events;
        events.push((fault_period, Happening::Refusals(Vec::new())));
        events.push((fault_period, Happening::Partition(false)));
        events.push((fault_period, Happening::Corrected));
        events.sort_by_key(|(at, _)| *at);
        Self(events)
    }

    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Drawing<'_> {
    fn moment(&mut self) -> Duration {
        let minutes = self.fault_period.as_secs() / 60;
        Duration::from_secs(60 * below(self.rng, minutes - 1) + below(self.rng, 60))
    }

    fn cluster(&mut self) -> String {
        let names = self.scenario.names();
        pick(self.rng, &names)
    }

    fn which(&mut self) -> Which {
        pick(self.rng, &ALL)
    }

    fn spec(&mut self) -> Value {
        draw::spec(self.rng, self.scenario.clusters.len(), self.scenario.real)
    }

    /// Until when something lasts that begins at a moment, at most this many minutes.
    fn until(&mut self, at: Duration, minutes: u64) -> Duration {
        let lasts = Duration::from_secs(60 * (1 + below(self.rng, minutes)));
        (at + lasts).min(self.fault_period)
    }

    fn push(&mut self, at: Duration, happening: Happening) {
        self.events.push((at, happening));
    }

    fn one(&mut self) {
        let at = self.moment();
        match below(self.rng, 110) {
            0..25 => self.edit(at),
            25..32 => self.narrow(at),
            32..40 => self.retry(at),
            40..46 => {
                let (which, spec) = (self.which(), self.spec());
                self.push(at, Happening::Create(which, spec));
            }
            46..52 => {
                let recreated = chance(self.rng, 50).then(|| self.spec());
                let which = self.which();
                self.push(at, Happening::Delete(which, recreated));
            }
            52..58 => self.partition(at),
            58..62 => self.clock(at),
            62..67 => self.connected(at),
            _ if self.scenario.real => {}
            67..69 => {
                let (backup, down) = (below(self.rng, 90), 1 + below(self.rng, 60));
                self.push(at, Happening::Restore { backup, down });
            }
            69..75 => self.selection(at),
            75..80 => self.labels(at),
            80..84 => self.leaves(at),
            84..86 => self.namespaces(at),
            86..92 => self.tampered(at),
            92..97 => self.refusals(at),
            97..100 => {
                let (cluster, version) = (self.cluster(), pick(self.rng, &TARGETS));
                self.push(at, Happening::Drift(cluster, version));
            }
            _ => self.accept(at),
        }
    }

    fn edit(&mut self, at: Duration) {
        let which = self.which();
        let mut spec = self.spec();
        let Some(spec) = spec.as_object_mut() else { return };
        let clusters = self.scenario.clusters.len();
        let mut edits = Vec::new();
        for _ in 0..=below(self.rng, 3) {
            let field = pick(self.rng, &FIELDS);
            draw::set_field(self.rng, spec, field, clusters, self.scenario.real);
            let fields: &[&'static str] = match field {
                "selection" => &["clusterSelector", "placement"],
                "maxConcurrency" => &["upgradeStrategy"],
                _ => std::slice::from_ref(&field),
            };
            for field in fields {
                edits.retain(|(known, _)| known != field);
                edits.push((*field, spec.get(*field).cloned().unwrap_or_default()));
            }
        }
        self.push(at, Happening::Edit(which, edits));
    }

    /// Findings are accepted, and perhaps not any more later.
    fn accept(&mut self, at: Duration) {
        let (namespace, spec) = acceptances::draw(self.rng, self.scenario, at);
        let name = pick(self.rng, &acceptances::NAMES);
        self.accepted(at, namespace, name, spec);
    }

    /// The first upgrades often have acceptances from the begin.
    fn accept_at_begin(&mut self) {
        for (which, spec) in &self.scenario.upgrades {
            if chance(self.rng, 50) {
                let at = Duration::from_secs(below(self.rng, 60));
                let (namespace, spec) = acceptances::of_upgrade(self.rng, self.scenario, (which, spec), at);
                self.accepted(at, namespace, which.name, spec);
            }
        }
    }

    fn accepted(&mut self, at: Duration, namespace: &'static str, name: &'static str, spec: Value) {
        self.push(at, Happening::Accept(namespace, name, Some(spec)));
        if chance(self.rng, 40) {
            let until = self.until(at, 300);
            self.push(until, Happening::Accept(namespace, name, None));
        }
    }

    /// An upgrade is paused, and resumed by the write that narrows its selection, often together with another target: then every
    /// cluster that it had selected would start again, were the former selection still followed.
    fn narrow(&mut self, at: Duration) {
        let (which, until) = (self.which(), self.until(at, 240));
        let selector = serde_json::json!({"matchExpressions": [
            {"key": "name", "operator": "In", "values": [self.cluster()]},
        ]});
        let mut resume = vec![
            ("paused", Value::Bool(false)),
            ("clusterSelector", selector),
            ("placement", Value::Null),
        ];
        if chance(self.rng, 70) {
            resume.push(("clusterVersion", draw::release(self.rng, self.scenario.real)));
        }
        self.push(
            at,
            Happening::Edit(which.clone(), vec![("paused", Value::Bool(true))]),
        );
        self.push(until, Happening::Edit(which, resume));
    }

    fn retry(&mut self, at: Duration) {
        let which = self.which();
        let cluster = chance(self.rng, 40).then(|| self.cluster());
        // A time of the user's clock, which may be wrong, the same word as before, or anything.
        let token = match below(self.rng, 3) {
            0 => format!(
                "2026-01-0{}T0{}:00:00Z",
                1 + below(self.rng, 9),
                below(self.rng, 9)
            ),
            1 => "again".to_owned(),
            _ => format!("{}", below(self.rng, 1_000_000)),
        };
        self.push(at, Happening::Retry(which, cluster, token));
    }

    fn partition(&mut self, at: Duration) {
        let until = self.until(at, CUT.as_secs() / 60);
        self.push(at, Happening::Partition(true));
        self.push(until, Happening::Partition(false));
    }

    fn clock(&mut self, at: Duration) {
        let most = SKEW.as_millis() as u64;
        let ahead = below(self.rng, 2 * most) as i64 - most as i64;
        self.push(at, Happening::Clock(ahead));
    }

    fn connected(&mut self, at: Duration) {
        let (cluster, until) = (self.cluster(), self.until(at, 300));
        self.push(at, Happening::Connected(cluster.clone(), false));
        self.push(until, Happening::Connected(cluster, true));
    }

    fn selection(&mut self, at: Duration) {
        let until = self.until(at, 240);
        let (namespace, set) = (pick(self.rng, &NAMESPACES), pick(self.rng, &SETS));
        let name = pick(self.rng, &PLACEMENTS);
        let required = draw::selector(self.rng, self.scenario.clusters.len());
        match below(self.rng, 5) {
            0 => self.push(at, Happening::Placement(namespace, name, Some(required))),
            1 => self.push(at, Happening::PlacementAnew(namespace, name, required)),
            2 => {
                self.push(at, Happening::Placement(namespace, name, None));
                self.push(until, Happening::Placement(namespace, name, Some(required)));
            }
            3 => {
                self.push(at, Happening::Set(set, false));
                self.push(until, Happening::Set(set, true));
            }
            _ => {
                self.push(at, Happening::Bound(namespace, set, false));
                self.push(until, Happening::Bound(namespace, set, true));
            }
        }
    }

    fn labels(&mut self, at: Duration) {
        let cluster = self.cluster();
        if chance(self.rng, 25) {
            let until = self.until(at, 240);
            self.push(at, Happening::Accepted(cluster.clone(), false));
            self.push(until, Happening::Accepted(cluster, true));
        } else {
            let labels = draw::labels(self.rng);
            self.push(at, Happening::Labels(cluster, labels));
        }
    }

    fn leaves(&mut self, at: Duration) {
        let (cluster, until) = (self.cluster(), self.until(at, 400));
        self.push(at, Happening::Leaves(cluster.clone()));
        if chance(self.rng, 70) {
            self.push(until, Happening::Joins(cluster));
        }
    }

    fn namespaces(&mut self, at: Duration) {
        let until = self.until(at, 240);
        let (gone, back) = if chance(self.rng, 60) {
            let cluster = self.cluster();
            (
                Happening::Namespace(cluster.clone(), false),
                Happening::Namespace(cluster, true),
            )
        } else {
            (Happening::Team(false), Happening::Team(true))
        };
        self.push(at, gone);
        self.push(until, back);
    }

    fn tampered(&mut self, at: Duration) {
        let labels = [KIND_LABEL, UPGRADE_UID_LABEL, STATE_LABEL];
        let how = match below(self.rng, 8) {
            0..3 => Tamper::Label(pick(self.rng, &labels)),
            3..5 => Tamper::Annotation(pick(self.rng, &[REVISION_ANNOTATION, UPGRADE_ANNOTATION])),
            5 => Tamper::Everything,
            _ => Tamper::Delete,
        };
        let (cluster, number) = (self.cluster(), below(self.rng, 4));
        self.push(at, Happening::Tampered(cluster, number, how));
    }

    fn refusals(&mut self, at: Duration) {
        let verbs = [Verb::Create, Verb::Patch, Verb::Delete];
        let refused = (0..=below(self.rng, 1)).map(|_| {
            let is_record = chance(self.rng, 25);
            Refused {
                kind: if is_record {
                    "managedclustersupgraderecords"
                } else {
                    "manifestworks"
                },
                verb: pick(self.rng, &verbs),
                namespace: (!is_record && chance(self.rng, 50)).then(|| self.scenario.names()[0].clone()),
            }
        });
        let refused = refused.collect();
        let until = self.until(at, 360);
        self.push(at, Happening::Refusals(refused));
        self.push(until, Happening::Refusals(Vec::new()));
    }
}
