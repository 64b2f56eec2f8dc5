//! Jobs: the part of the job controller and of the kubelet that runs a Job's pods to their end.
//!
//! A Job's annotation (or label) `sandbox.drydock.dev/outcome` decides how its pods end: `succeed` (default), `fail`,
//! `fail:N` (the first N pods fail), `hang`; `sandbox.drydock.dev/duration` how long each runs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::agenda::{Agenda, Event};
use super::condition::wire_time;
use super::duration::{Durations, Spread};
use super::release::digest;
use super::{Change, Kind, ObjectRef, Write};

/// Decides how the pods of a Job end.
pub const OUTCOME: &str = "sandbox.drydock.dev/outcome";
/// How long each pod of a Job runs, as a Go duration.
pub const DURATION: &str = "sandbox.drydock.dev/duration";

const FIRST_BACKOFF: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_BACKOFF: SignedDuration = SignedDuration::from_mins(6);

/// Namespace and name of a Job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobKey {
    /// The Job's namespace.
    pub namespace: String,
    /// The Job's name.
    pub name: String,
}

/// What happens to a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobEvent {
    /// A pod's containers have started.
    PodRuns { number: u32 },
    /// A pod has ended.
    PodEnds { number: u32, succeeded: bool },
    /// The wait after a failed pod is over.
    BackedOff,
    /// `activeDeadlineSeconds` have passed.
    Deadline,
    /// `ttlSecondsAfterFinished` have passed.
    Expired,
}

/// How the pods of a Job end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobOutcome {
    Succeed,
    Fail,
    FailFirst(u32),
    Hang,
}

/// What matters of a Job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// Its namespace and name.
    pub key: JobKey,
    uid: String,
    parallelism: u32,
    completions: u32,
    backoff_limit: u32,
    active_deadline: Option<i64>,
    ttl: Option<i64>,
    suspended: bool,
    finished: bool,
    outcome: JobOutcome,
    duration: Option<SignedDuration>,
    template: Value,
    /// Its pods run a real program, which says when and how they end.
    pub runs_program: bool,
}

impl JobSpec {
    /// Reads a Job; absent fields have the defaults of the API.
    pub fn read(object: &Value) -> Self {
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let count = |field: &str, default: u32| spec[field].as_u64().map_or(default, |count| count as u32);
        let hint = |name: &str| {
            let maps = ["annotations", "labels"];
            maps.iter().find_map(|map| metadata[map][name].as_str())
        };
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let parallelism = count("parallelism", 1);
        Self {
            key: JobKey {
                namespace: text(&metadata["namespace"]),
                name: text(&metadata["name"]),
            },
            uid: text(&metadata["uid"]),
            parallelism,
            completions: count("completions", parallelism.max(1)),
            backoff_limit: count("backoffLimit", 6),
            active_deadline: spec["activeDeadlineSeconds"].as_i64(),
            ttl: spec["ttlSecondsAfterFinished"].as_i64(),
            suspended: spec["suspend"].as_bool().unwrap_or_default(),
            finished: conditions.into_iter().any(|condition| {
                matches!(condition["type"].as_str(), Some("Complete" | "Failed"))
                    && condition["status"] == "True"
            }),
            outcome: hint(OUTCOME).map_or(JobOutcome::Succeed, JobOutcome::parse),
            duration: hint(DURATION).and_then(parse_duration),
            template: spec["template"].clone(),
            runs_program: false,
        }
    }
}

fn parse_duration(text: &str) -> Option<SignedDuration> {
    text.parse().ok()
}

impl JobOutcome {
    fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("fail", count)) => count.parse().map_or(Self::Fail, Self::FailFirst),
            _ if text == "fail" => Self::Fail,
            _ if text == "hang" => Self::Hang,
            _ => Self::Succeed,
        }
    }

    fn succeeds(self, number: u32) -> bool {
        match self {
            Self::Succeed | Self::Hang => true,
            Self::Fail => false,
            Self::FailFirst(count) => number >= count,
        }
    }
}

/// Why a Job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    BackoffLimitExceeded,
    DeadlineExceeded,
}

#[derive(Clone, Debug)]
struct Run {
    spec: JobSpec,
    started: Timestamp,
    launched: u32,
    /// The pods that are not finished, and whether each runs.
    active: BTreeMap<u32, bool>,
    succeeded: u32,
    failed: u32,
    backing_off: bool,
    end: Option<(End, Timestamp)>,
}

/// The Jobs of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    runs: BTreeMap<JobKey, Run>,
    dirty: BTreeSet<JobKey>,
    pods: Vec<Write>,
    /// Pods whose programs are to be started.
    to_run: Vec<PodKey>,
}

/// A pod of a Job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodKey {
    /// The Job.
    pub job: JobKey,
    /// Its uid: another Job of the name is another one.
    pub uid: String,
    /// Which of its pods.
    pub number: u32,
}

impl Jobs {
    /// A Job is there, or has changed.
    pub(super) fn seen(&mut self, spec: JobSpec, now: Timestamp, durations: Durations, agenda: &mut Agenda) {
        let known = self
            .runs
            .get(&spec.key)
            .is_some_and(|run| run.spec.uid == spec.uid);
        if known || spec.finished || spec.suspended {
            return;
        }
        let key = spec.key.clone();
        if let Some(seconds) = spec.active_deadline {
            let at = now + SignedDuration::from_secs(seconds);
            agenda.enter(at, Event::Job(key.clone(), JobEvent::Deadline));
        }
        let run = Run {
            spec,
            started: now,
            launched: 0,
            active: BTreeMap::new(),
            succeeded: 0,
            failed: 0,
            backing_off: false,
            end: None,
        };
        self.runs.insert(key.clone(), run);
        self.launch(&key, now, durations, agenda);
        self.dirty.insert(key);
    }

    /// A Job is gone; its pods go with it.
    pub(super) fn gone(&mut self, key: &JobKey) {
        self.runs.remove(key);
        self.dirty.remove(key);
    }

    fn launch(&mut self, key: &JobKey, now: Timestamp, durations: Durations, agenda: &mut Agenda) {
        let Some(run) = self.runs.get_mut(key) else {
            return;
        };
        let wanted = run
            .spec
            .parallelism
            .min(run.spec.completions.saturating_sub(run.succeeded));
        while (run.active.len() as u32) < wanted {
            let number = run.launched;
            run.launched += 1;
            run.active.insert(number, false);
            self.pods.push(run.create_pod(number));
            let delay = durations.sample(&run.spec.key.name, u64::from(number), Spread::seconds(4.0));
            agenda.enter(now + delay, Event::Job(key.clone(), JobEvent::PodRuns { number }));
        }
    }

    /// Something about a Job is due.
    pub(super) fn happen(
        &mut self,
        key: &JobKey,
        event: &JobEvent,
        now: Timestamp,
        durations: Durations,
        agenda: &mut Agenda,
    ) {
        let Some(run) = self.runs.get_mut(key) else {
            return;
        };
        match *event {
            JobEvent::Expired => {
                let object = run.reference();
                self.pods.push(Write {
                    object,
                    change: Change::Delete,
                });
                return;
            }
            _ if run.end.is_some() => return,
            JobEvent::PodRuns { number } => {
                run.pod_runs(number, now, durations, agenda, &mut self.pods);
                if run.spec.runs_program {
                    self.to_run.push(PodKey {
                        job: key.clone(),
                        uid: run.spec.uid.clone(),
                        number,
                    });
                }
            }
            JobEvent::PodEnds { number, succeeded } => {
                run.pod_ends(number, succeeded, now, agenda, &mut self.pods);
            }
            JobEvent::BackedOff => run.backing_off = false,
            JobEvent::Deadline => run.finish(End::DeadlineExceeded, now, agenda, &mut self.pods),
        }
        let relaunch = run.end.is_none() && !run.backing_off;
        if relaunch {
            self.launch(key, now, durations, agenda);
        }
        self.dirty.insert(key.clone());
    }

    /// The pods whose programs are to be started now.
    pub(super) fn take_to_run(&mut self) -> Vec<PodKey> {
        std::mem::take(&mut self.to_run)
    }

    /// Whether a Job is the one that a pod belongs to.
    pub(super) fn has(&self, pod: &PodKey) -> bool {
        self.runs.get(&pod.job).is_some_and(|run| run.spec.uid == pod.uid)
    }

    /// What is to be written: the pods' changes, then the Jobs' status.
    pub(super) fn take_writes(&mut self) -> Vec<Write> {
        let mut writes = std::mem::take(&mut self.pods);
        for key in std::mem::take(&mut self.dirty) {
            if let Some(run) = self.runs.get(&key) {
                writes.push(Write {
                    object: run.reference(),
                    change: Change::Status(run.status()),
                });
            }
        }
        writes
    }
}

impl Run {
    fn reference(&self) -> ObjectRef {
        ObjectRef {
            kind: Kind::Job,
            namespace: self.spec.key.namespace.clone(),
            name: self.spec.key.name.clone(),
        }
    }

    fn pod_name(&self, number: u32) -> String {
        let suffix = digest(&self.spec.uid, &format!("{}-{number}", self.spec.key.name));
        format!("{}-{}", self.spec.key.name, &suffix[..5])
    }

    fn pod(&self, number: u32, change: Change) -> Write {
        Write {
            object: ObjectRef {
                kind: Kind::Pod,
                namespace: self.spec.key.namespace.clone(),
                name: self.pod_name(number),
            },
            change,
        }
    }

    fn create_pod(&self, number: u32) -> Write {
        let JobKey { namespace, name } = &self.spec.key;
        let mut labels = self.spec.template["metadata"]["labels"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        for (label, value) in [("controller-uid", &self.spec.uid), ("job-name", name)] {
            labels.insert(label.to_owned(), json!(value));
            labels.insert(format!("batch.kubernetes.io/{label}"), json!(value));
        }
        let mut metadata = json!({
            "labels": labels,
            "name": self.pod_name(number),
            "namespace": namespace,
            "ownerReferences": [{
                "apiVersion": "batch/v1", "blockOwnerDeletion": true, "controller": true, "kind": "Job",
                "name": name, "uid": self.spec.uid,
            }],
        });
        if let Some(annotations) = self.spec.template["metadata"].get("annotations") {
            metadata["annotations"] = annotations.clone();
        }
        let spec = self.spec.template["spec"].clone();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        self.pod(number, Change::Create(pod))
    }

    fn pod_runs(
        &mut self,
        number: u32,
        now: Timestamp,
        durations: Durations,
        agenda: &mut Agenda,
        pods: &mut Vec<Write>,
    ) {
        if let Some(runs) = self.active.get_mut(&number) {
            *runs = true;
        }
        let state = json!({"running": {"startedAt": wire_time(now)}});
        pods.push(self.pod(
            number,
            Change::Status(self.pod_status("Running", &state, true, now)),
        ));
        if self.spec.outcome == JobOutcome::Hang || self.spec.runs_program {
            return;
        }
        let sampled = || {
            durations.sample(
                &self.spec.key.name,
                1000 + u64::from(number),
                Spread::seconds(40.0),
            )
        };
        let duration = self.spec.duration.unwrap_or_else(sampled);
        agenda.enter(
            now + duration,
            Event::Job(
                self.spec.key.clone(),
                JobEvent::PodEnds {
                    number,
                    succeeded: self.spec.outcome.succeeds(number),
                },
            ),
        );
    }

    fn pod_ends(
        &mut self,
        number: u32,
        succeeded: bool,
        now: Timestamp,
        agenda: &mut Agenda,
        pods: &mut Vec<Write>,
    ) {
        if self.active.remove(&number).is_none() {
            return;
        }
        let (phase, reason, code) = if succeeded {
            ("Succeeded", "Completed", 0)
        } else {
            ("Failed", "Error", 1)
        };
        let state = json!({
            "terminated": {"exitCode": code, "reason": reason, "finishedAt": wire_time(now)},
        });
        pods.push(self.pod(number, Change::Status(self.pod_status(phase, &state, false, now))));
        if succeeded {
            self.succeeded += 1;
            if self.succeeded >= self.spec.completions {
                self.finish(End::Complete, now, agenda, pods);
            }
            return;
        }
        self.failed += 1;
        if self.failed > self.spec.backoff_limit {
            self.finish(End::BackoffLimitExceeded, now, agenda, pods);
        } else {
            let doublings = (self.failed - 1).min(10);
            let backoff = (FIRST_BACKOFF * 2_i32.pow(doublings)).min(LONGEST_BACKOFF);
            self.backing_off = true;
            agenda.enter(
                now + backoff,
                Event::Job(self.spec.key.clone(), JobEvent::BackedOff),
            );
        }
    }

    fn finish(&mut self, end: End, now: Timestamp, agenda: &mut Agenda, pods: &mut Vec<Write>) {
        self.end = Some((end, now));
        for number in std::mem::take(&mut self.active).into_keys() {
            if end == End::DeadlineExceeded {
                self.failed += 1;
            }
            pods.push(self.pod(number, Change::Delete));
        }
        if let Some(seconds) = self.spec.ttl {
            let at = now + SignedDuration::from_secs(seconds);
            agenda.enter(at, Event::Job(self.spec.key.clone(), JobEvent::Expired));
        }
    }

    fn pod_status(&self, phase: &str, state: &Value, ready: bool, now: Timestamp) -> Value {
        let names = self.spec.template["spec"]["containers"].as_array();
        let containers: Vec<Value> = names
            .into_iter()
            .flatten()
            .map(|container| {
                json!({
                    "image": container["image"].as_str().unwrap_or_default(), "imageID": "",
                    "name": container["name"].as_str().unwrap_or_default(), "ready": ready, "restartCount": 0,
                    "started": ready, "state": state,
                })
            })
            .collect();
        let status = if ready { "True" } else { "False" };
        json!({
            "conditions": [{"lastTransitionTime": wire_time(now), "status": status, "type": "Ready"}],
            "containerStatuses": containers,
            "phase": phase,
            "startTime": wire_time(self.started),
        })
    }

    fn status(&self) -> Value {
        let mut status = Map::new();
        let mut count = |field: &str, count: u32| {
            if count > 0 {
                status.insert(field.to_owned(), json!(count));
            }
        };
        count("active", self.active.len() as u32);
        count("failed", self.failed);
        count("succeeded", self.succeeded);
        status.insert(
            "ready".into(),
            json!(self.active.values().filter(|runs| **runs).count()),
        );
        status.insert("terminating".into(), json!(0));
        status.insert("startTime".into(), wire_time(self.started));
        status.insert("uncountedTerminatedPods".into(), json!({}));
        if let Some((end, at)) = self.end {
            status.insert("conditions".into(), end.conditions(at));
            if end == End::Complete {
                status.insert("completionTime".into(), wire_time(at));
            }
        }
        Value::Object(status)
    }
}

impl End {
    /// The condition that announces the end and the one that says it, as Kubernetes 1.31 and later write them.
    fn conditions(self, at: Timestamp) -> Value {
        let (kinds, reason, message) = match self {
            Self::Complete => (
                ["SuccessCriteriaMet", "Complete"],
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            ),
            Self::BackoffLimitExceeded => (
                ["FailureTarget", "Failed"],
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            ),
            Self::DeadlineExceeded => (
                ["FailureTarget", "Failed"],
                "DeadlineExceeded",
                "Job was active longer than specified deadline",
            ),
        };
        let time = wire_time(at);
        let condition = |kind: &str| {
            json!({
                "lastProbeTime": time, "lastTransitionTime": time, "message": message, "reason": reason,
                "status": "True", "type": kind,
            })
        };
        kinds.map(condition).into_iter().collect()
    }
}
