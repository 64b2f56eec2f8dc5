//! An UpgradeConfig and what it depends on.
#![allow(dead_code, reason = "not every test that shares this file needs all of it")]

use drydock_api::openshift::cluster_version::Release;
use drydock_api::schedule::{
    Schedule, UpgradeConfig, UpgradeConfigSpec, UpgradeJob, UpgradeSuspensionWindow,
    UpgradeSuspensionWindowSpec,
};
use drydock_schedule::config::{InvalidConfig, Observed, Outlook, Plan, decide, outlook};
use drydock_schedule::selector::Labels;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition, LabelSelector, LabelSelectorRequirement, Time,
};
use serde_json::Value;

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// An UpgradeConfig, and what it depends on.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub config: UpgradeConfig,
    pub jobs: Vec<UpgradeJob>,
    pub windows: Vec<UpgradeSuspensionWindow>,
    /// Versions and images.
    pub available: Option<Vec<(&'static str, &'static str)>>,
}

impl Cluster {
    /// An UpgradeConfig with a schedule in UTC, created on 2026-11-18 at 09:00.
    pub fn new(cron: &str) -> Self {
        let mut config = UpgradeConfig::new("nights", UpgradeConfigSpec::default());
        config.metadata.namespace = Some("maintenance".to_owned());
        config.metadata.uid = Some("config-1".to_owned());
        config.metadata.creation_timestamp = Some(Time(at("2026-11-18T09:00:00Z")));
        config.spec.schedule = Schedule {
            cron: cron.to_owned(),
            location: "UTC".to_owned(),
            ..Schedule::default()
        };
        Self {
            config,
            jobs: Vec::new(),
            windows: Vec::new(),
            available: Some(Vec::new()),
        }
    }

    /// Changes fields of the spec.
    pub fn change(&mut self, change: &Value) {
        fn merge(target: &mut Value, change: &Value) {
            match change {
                Value::Object(fields) => fields
                    .iter()
                    .for_each(|(name, field)| merge(&mut target[name], field)),
                _ => *target = change.clone(),
            }
        }
        let mut spec = serde_json::to_value(&self.config.spec).unwrap();
        merge(&mut spec, change);
        self.config.spec = serde_json::from_value(spec).unwrap();
    }

    /// What is decided.
    pub fn plan(&self, now: &str) -> Plan {
        self.plan_at(at(now))
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        self.observed(|observed| decide(observed, now))
    }

    /// What is known of the next maintenances.
    pub fn outlook(&self, now: &str, count: usize) -> Result<Outlook, InvalidConfig> {
        self.observed(|observed| outlook(observed, at(now), count))
    }

    fn observed<T>(&self, look: impl FnOnce(&Observed<'_>) -> T) -> T {
        let available = self.available.as_ref().map(|available| {
            let releases = available.iter().map(|(version, image)| Release {
                version: Some((*version).to_owned()),
                image: Some((*image).to_owned()),
                ..Release::default()
            });
            releases.collect::<Vec<_>>()
        });
        look(&Observed {
            config: &self.config,
            jobs: self.jobs.iter().collect(),
            windows: self.windows.iter().collect(),
            available_updates: available.as_deref(),
            local_zone: &TimeZone::UTC,
        })
    }

    /// What is decided, and done.
    pub fn decide(&mut self, now: &str) -> Plan {
        let plan = self.plan(now);
        self.jobs.extend(plan.create.clone());
        self.config.status = Some(plan.status.clone());
        let is_pruned = |job: &UpgradeJob| {
            let mut pruned = plan.prune.iter();
            pruned.any(|pruned| Some(&pruned.name) == job.metadata.name.as_ref())
        };
        self.jobs.retain(|job| !is_pruned(job));
        plan
    }
}

/// Ends an UpgradeJob, with this condition.
pub fn end(job: &mut UpgradeJob, how: &str) {
    let condition = Condition {
        type_: how.to_owned(),
        status: "True".to_owned(),
        reason: how.to_owned(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: job.spec.start_after.clone(),
    };
    job.status.get_or_insert_default().conditions = Some(vec![condition]);
}

/// A window for all UpgradeConfigs of the namespace.
pub fn window(name: &str, start: &str, end: &str) -> UpgradeSuspensionWindow {
    let spec = UpgradeSuspensionWindowSpec {
        start: Time(at(start)),
        end: Time(at(end)),
        reason: "Holidays".to_owned(),
        config_selector: Some(LabelSelector::default()),
        job_selector: None,
    };
    let mut window = UpgradeSuspensionWindow::new(name, spec);
    window.metadata.namespace = Some("maintenance".to_owned());
    window
}

pub fn selector(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: (!values.is_empty()).then_some(values),
        }]),
        match_labels: None,
    }
}

pub fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}
