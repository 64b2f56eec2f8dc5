//! The UpgradeJob of a maintenance (Maintenance schedules, section 2.4).

use drydock_api::schedule::{DesiredVersion, UpgradeConfig, UpgradeJob, UpgradeJobConfig, UpgradeJobSpec};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use sha2::{Digest, Sha256};

use super::Settings;
use crate::instants::later;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// How many hexadecimal digits of a digest stand for the end of a name that is too long.
const DIGEST_DIGITS: usize = 10;

/// The UpgradeJob of a maintenance, whole. Its name is the same however often it is created, as long as the version is.
pub fn upgrade_job(
    config: &UpgradeConfig,
    settings: &Settings,
    start: Timestamp,
    version: Option<DesiredVersion>,
) -> UpgradeJob {
    let template = config.spec.job_template.metadata.clone().unwrap_or_default();
    let metadata = ObjectMeta {
        name: Some(name(config, version.as_ref(), start)),
        namespace: config.metadata.namespace.clone(),
        labels: template.labels,
        annotations: template.annotations,
        owner_references: Some(vec![owner(config)]),
        ..ObjectMeta::default()
    };
    let spec = UpgradeJobSpec {
        start_after: Time(start),
        start_before: Time(later(start, settings.max_upgrade_start_delay)),
        desired_version: version,
        desired_version_check_availability: None,
        config: job_config(config),
    };
    UpgradeJob {
        metadata,
        spec,
        status: None,
    }
}

/// An UpgradeJob that a person wants beside the schedule, to start at `start`.
///
/// It belongs to the UpgradeConfig, so that it is deleted with it, but is not controlled by it: for the schedule, of ours and of the
/// original, it does not exist. It neither moves the moment from which on maintenances are looked for, from which `@every` counts, nor
/// keeps a maintenance from being decided, nor is it deleted beyond `successfulJobsHistoryLimit`. If the UpgradeJob of a maintenance starts
/// meanwhile, that one waits for the lock of the cluster.
pub fn manual_job(
    config: &UpgradeConfig,
    settings: &Settings,
    start: Timestamp,
    version: Option<DesiredVersion>,
) -> UpgradeJob {
    let mut job = upgrade_job(config, settings, start, version);
    for owner in job.metadata.owner_references.iter_mut().flatten() {
        owner.controller = None;
        // To block the deletion of an object takes the right to change its finalizers.
        owner.block_owner_deletion = None;
    }
    job
}

/// The UpgradeJobs that belong to an UpgradeConfig, those that [`manual_job`] has made included.
pub fn asked_by<'a>(
    config: &UpgradeConfig,
    jobs: impl IntoIterator<Item = &'a UpgradeJob>,
) -> impl Iterator<Item = &'a UpgradeJob> {
    let (namespace, uid) = (config.metadata.namespace.clone(), config.metadata.uid.clone());
    jobs.into_iter().filter(move |job| {
        let mut owners = job.metadata.owner_references.iter().flatten();
        job.metadata.namespace == namespace && owners.any(|owner| Some(&owner.uid) == uid.as_ref())
    })
}

/// A copy of the template's, with the receivers of the UpgradeConfig's notifications beside its own.
fn job_config(config: &UpgradeConfig) -> UpgradeJobConfig {
    let mut job = config.spec.job_template.spec.config.clone();
    if let Some(receivers) = &config.spec.notifications {
        let all = job.notifications.get_or_insert_default();
        let others: Vec<_> = receivers
            .iter()
            .filter(|receiver| !all.contains(receiver))
            .cloned()
            .collect();
        all.extend(others);
    }
    job
}

fn owner(config: &UpgradeConfig) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/v1beta1", drydock_api::schedule::GROUP),
        kind: "UpgradeConfig".to_owned(),
        name: config.metadata.name.clone().unwrap_or_default(),
        uid: config.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// `<config>-<version>-<seconds of the start>`, with `noop` where there is no version.
fn name(config: &UpgradeConfig, version: Option<&DesiredVersion>, start: Timestamp) -> String {
    let version = version.map_or("noop", |version| version.version.as_deref().unwrap_or("image"));
    let version = version.to_ascii_lowercase();
    let version = version.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let end = format!("-{version}-{}", start.as_second());
    let config = config.metadata.name.as_deref().unwrap_or_default();
    if config.len() + end.len() <= LONGEST_NAME {
        return format!("{config}{end}");
    }
    let digest = Sha256::digest(format!("{config}{end}"));
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = drop_end(&digest, DIGEST_DIGITS);
    let seconds = start.as_second().to_string();
    // Names of objects are ASCII, so that they can be cut anywhere.
    let config = drop_end(config, LONGEST_NAME - DIGEST_DIGITS - seconds.len() - 2);
    format!("{config}-{digest}-{seconds}")
}

fn drop_end(text: &str, length: usize) -> &str {
    text.get(..length).unwrap_or(text).trim_end_matches(['-', '.'])
}
