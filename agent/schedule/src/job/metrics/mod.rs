//! The series that follow from UpgradeJobs, machine config pools and ClusterVersion (Maintenance schedules, section 5). They are computed
//! from the objects that there are: an object that is missing makes none, and breaks none of the others.

use drydock_api::conditions;
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{UpgradeJob, UpgradeJobHook};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::condition::{self, JobCondition};
use super::{hooks, pools, update};
use crate::instants::whole_seconds;
use crate::metrics::{Family, FamilyKind, Sample, key, number, seconds};

/// 1 while the cluster is being upgraded.
pub const CLUSTER_UPGRADING: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_cluster_upgrading",
    help: "1 while the desired update is not completed, or nodes of pools that are not paused are not updated.",
    labels: &[],
};
/// 1 while a pool is being upgraded.
pub const POOLS_UPGRADING: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_config_pools_upgrading",
    help: "1 while nodes of the pool are not updated and it is not paused.",
    labels: &["pool"],
};
/// 1 while a pool is paused.
pub const POOLS_PAUSED: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_config_pools_paused",
    help: "1 while the pool is paused.",
    labels: &["pool"],
};
/// The state of an UpgradeJob. The namespace is ours: two of the same name would make the same series.
pub const STATE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_state",
    help: "1: the UpgradeJob is in this state, for this reason if it has ended.",
    labels: &[
        "upgradejob",
        "start_after",
        "start_before",
        "desired_version_force",
        "desired_version_image",
        "desired_version_version",
        "state",
        "reason",
        "matches_disruptive_hooks",
        "namespace",
    ],
};
/// When an UpgradeJob starts.
pub const START_AFTER: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_start_after_timestamp_seconds",
    help: "When the UpgradeJob starts, in seconds since 1970.",
    labels: &["upgradejob", "namespace"],
};
/// Until when an UpgradeJob may start.
pub const START_BEFORE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_start_before_timestamp_seconds",
    help: "Until when the UpgradeJob may start, in seconds since 1970.",
    labels: &["upgradejob", "namespace"],
};

/// The samples of the cluster and its pools.
pub fn of_cluster(cluster: Option<&ClusterVersion>, all: &[MachineConfigPool]) -> Vec<Sample> {
    let is_updating = |pool: &MachineConfigPool| pools::is_outdated(pool) && !pools::is_paused(pool);
    let mut samples = Vec::new();
    if let Some(cluster) = cluster {
        let upgrading = !update::is_settled(cluster) || all.iter().any(is_updating);
        samples.push(Sample::new(&CLUSTER_UPGRADING, &[], number(upgrading)));
    }
    for pool in all {
        let name = pool.name_any();
        samples.push(Sample::new(&POOLS_UPGRADING, &[&name], number(is_updating(pool))));
        samples.push(Sample::new(
            &POOLS_PAUSED,
            &[&name],
            number(pools::is_paused(pool)),
        ));
    }
    samples
}

/// The samples of UpgradeJobs; of the hooks those count that are in the namespace of the UpgradeJob.
pub fn of_jobs(jobs: &[UpgradeJob], all_hooks: &[UpgradeJobHook]) -> Vec<Sample> {
    jobs.iter()
        .flat_map(|job| {
            let near: Vec<UpgradeJobHook> = all_hooks
                .iter()
                .filter(|hook| hook.namespace() == job.namespace())
                .cloned()
                .collect();
            let labels = key(&job.metadata);
            let (after, before) = (job.spec.start_after.0, job.spec.start_before.0);
            [
                of_state(job, &near),
                Sample::new(&START_AFTER, &labels, seconds(after)),
                Sample::new(&START_BEFORE, &labels, seconds(before)),
            ]
        })
        .collect()
}

fn of_state(job: &UpgradeJob, near: &[UpgradeJobHook]) -> Sample {
    let [name, namespace] = key(&job.metadata);
    let (state, reason) = state(job);
    let time = |time: &Time| whole_seconds(time.0).to_string();
    let desired = job.spec.desired_version.clone().unwrap_or_default();
    let force = job.spec.desired_version.is_some();
    let force = force.then(|| desired.force.unwrap_or(false).to_string());
    let labels = [
        name,
        &time(&job.spec.start_after),
        &time(&job.spec.start_before),
        &force.unwrap_or_default(),
        &desired.image.unwrap_or_default(),
        &desired.version.unwrap_or_default(),
        state,
        &reason,
        &hooks::matches_disruptive(near, job).to_string(),
        namespace,
    ];
    Sample::new(&STATE, &labels, 1.0)
}

/// The state of an UpgradeJob, and its reason if it has ended.
fn state(job: &UpgradeJob) -> (&'static str, String) {
    let status = job.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    let is = |type_: JobCondition| conditions::is_true(conditions, type_.name());
    if let Some(end) = condition::end(conditions) {
        let state = if is(JobCondition::Succeeded) {
            "succeeded"
        } else {
            "failed"
        };
        return (state, end.reason.clone());
    }
    let state = if is(JobCondition::Paused) {
        "paused"
    } else if is(JobCondition::Started) {
        "active"
    } else {
        "pending"
    };
    (state, String::new())
}

#[cfg(test)]
mod tests {
    use drydock_api::schedule::HookEvent;
    use serde_json::json;

    use super::*;
    use crate::job::tests::fixture::{
        NEW, START, cluster_version, history, hook, hours, image, job, outdated, paused, pool,
    };
    use crate::job::tests::world::World;

    fn value(samples: &[Sample], family: &Family, labels: &[&str]) -> Option<f64> {
        let mut found = samples
            .iter()
            .filter(|sample| sample.family == family && sample.labels == labels);
        found.next().map(|sample| sample.value)
    }

    #[test]
    fn the_state_of_an_upgrade_job_with_all_its_labels() {
        let mut world = World::new([job("j")]);
        let samples = |world: &World| of_jobs(&[world.jobs["j"].clone()], &[]);
        let state = |world: &World| {
            let samples = samples(world);
            let sample = samples
                .into_iter()
                .find(|sample| *sample.family == STATE)
                .unwrap();
            assert_eq!(sample.labels.len(), STATE.labels.len());
            sample.labels
        };
        let expected = |state: &str, reason: &str| {
            let image = image(NEW);
            [
                "j",
                "2026-01-13T21:00:00Z",
                "2026-01-13T22:00:00Z",
                "false",
                &image,
                NEW,
                state,
                reason,
                "false",
                "maintenance",
            ]
            .map(str::to_owned)
            .to_vec()
        };
        assert_eq!(state(&world), expected("pending", ""));
        world.pools.insert("w".to_owned(), paused(pool("w")));
        world.settle("j");
        assert_eq!(state(&world), expected("active", ""));
        world.update();
        world.settle("j");
        assert_eq!(state(&world), expected("paused", ""));
        world.now = START + hours(13);
        world.settle("j");
        assert_eq!(state(&world), expected("failed", "TimedOut"));
        let start = seconds(START);
        let labels = ["j", "maintenance"];
        assert_eq!(value(&samples(&world), &START_AFTER, &labels), Some(start));
        assert_eq!(
            value(&samples(&world), &START_BEFORE, &labels),
            Some(start + 3600.0)
        );
    }

    #[test]
    fn an_upgrade_job_matches_disruptive_hooks_of_its_namespace() {
        let mut disruptive = hook("h", &[HookEvent::Start]);
        disruptive.spec.disruptive = Some(true);
        let label = |hook: &UpgradeJobHook| {
            let samples = of_jobs(&[job("j")], std::slice::from_ref(hook));
            samples[0].labels[8].clone()
        };
        assert_eq!(label(&disruptive), "true");
        assert_eq!(label(&hook("h", &[HookEvent::Start])), "false");
        disruptive.metadata.namespace = Some("other".to_owned());
        assert_eq!(label(&disruptive), "false");
    }

    #[test]
    fn the_cluster_is_upgrading_while_the_release_or_a_pool_is_not_completed() {
        let upgrading = |asked: Option<&str>, pools: &[MachineConfigPool]| {
            let mut cluster = cluster_version();
            cluster.spec.desired_update = asked.map(|version| {
                serde_json::from_value(json!({ "version": version, "image": image(version) })).unwrap()
            });
            let status = cluster.status.get_or_insert_default();
            status.history.insert(0, history("4.16.9", "Completed", START));
            value(&of_cluster(Some(&cluster), pools), &CLUSTER_UPGRADING, &[])
        };
        assert_eq!(upgrading(None, &[]), Some(0.0), "never upgraded");
        assert_eq!(upgrading(Some("4.16.9"), &[]), Some(0.0));
        assert_eq!(upgrading(Some(NEW), &[]), Some(1.0));
        assert_eq!(upgrading(None, &[outdated(pool("w"))]), Some(1.0));
        assert_eq!(upgrading(None, &[paused(outdated(pool("w")))]), Some(0.0));
    }

    /// A diverging point: without the object the original answers the whole scrape with an error.
    #[test]
    fn a_missing_object_makes_no_series_and_breaks_none() {
        let samples = of_cluster(None, &[outdated(pool("a")), paused(outdated(pool("b")))]);
        assert_eq!(value(&samples, &CLUSTER_UPGRADING, &[]), None);
        assert_eq!(value(&samples, &POOLS_UPGRADING, &["a"]), Some(1.0));
        assert_eq!(value(&samples, &POOLS_UPGRADING, &["b"]), Some(0.0));
        assert_eq!(value(&samples, &POOLS_PAUSED, &["b"]), Some(1.0));
    }
}
