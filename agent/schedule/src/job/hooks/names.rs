//! Names and labels of the Jobs of hooks. The names of pods, and of all labels, have at most 63 characters.

use drydock_api::names::HOOK_UPGRADE_JOB_LABEL;
use drydock_api::schedule::{HookEvent, UpgradeJob};
use kube::ResourceExt;
use sha2::{Digest, Sha256};

/// How many characters a label, or the name of a pod's owner, may have.
const LONGEST: usize = 63;
/// How much of a longer text is kept, before a hyphen and a hash.
const KEPT: usize = 52;

/// The name of the Job for an event of a hook: the original's where it has one. What happens for several pools has a name for each.
pub(super) fn job_name(job: &str, event: HookEvent, hook: &str, key: &str) -> String {
    let name = format!("{job}-hook-{}-{hook}", event.as_str()).to_lowercase();
    if key.is_empty() {
        return within_limit(&name);
    }
    // Hyphens do not tell where one name ends: the hash is over the parts.
    let parts = [job, event.as_str(), hook, key].join("/");
    cut(&format!("{name}-{key}"), &parts)
}

/// A label's value, shortened if it is too long for one.
pub(super) fn label(text: &str) -> String {
    within_limit(text)
}

/// The label selector of the Jobs of an UpgradeJob's hooks. After a name that is too long for a label it may select those of others:
/// the owner reference decides.
pub fn job_selector(job: &UpgradeJob) -> String {
    format!("{HOOK_UPGRADE_JOB_LABEL}={}", label(&job.name_any()))
}

fn within_limit(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    cut(text, text)
}

fn cut(text: &str, hashed: &str) -> String {
    let digest = Sha256::digest(hashed.as_bytes());
    let hash: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let kept: String = text.chars().take(KEPT).collect();
    // A hyphen cannot follow a dot.
    format!("{}-{hash}", kept.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_original_up_to_63_characters() {
        assert_eq!(
            job_name("weekly-4-16-5-1", HookEvent::UpgradeComplete, "notify", ""),
            "weekly-4-16-5-1-hook-upgradecomplete-notify"
        );
        let hook = "h".repeat(63 - "job-hook-start-".len());
        assert_eq!(job_name("job", HookEvent::Start, &hook, "").len(), 63);
        let long = job_name("job", HookEvent::Start, &format!("{hook}h"), "");
        assert_eq!(long.len(), 63);
        assert!(long.starts_with("job-hook-start-hhhh"), "{long}");
        assert_ne!(long, job_name("job", HookEvent::Start, &format!("{hook}x"), ""));
    }

    /// A diverging point: two pools, one hook, two Jobs.
    #[test]
    fn names_have_the_tracking_key_and_are_not_ambiguous() {
        let name = |hook: &str, pool: &str| job_name("job", HookEvent::MachineConfigPoolUnpause, hook, pool);
        assert_ne!(name("silence", "worker"), name("silence", "infra"));
        assert_ne!(name("a", "b-c"), name("a-b", "c"));
        assert!(name("silence", "worker").len() <= 63);
        assert!(name("silence", "worker").starts_with("job-hook-machineconfigpoolunpause-silence-worker"));
    }

    #[test]
    fn labels_of_long_names_stay_labels() {
        assert_eq!(label("worker"), "worker");
        let dotted = format!("{}.{}", "a".repeat(51), "b".repeat(80));
        let label = label(&dotted);
        assert!(label.len() <= 63 && !label.contains(".-"), "{label}");
    }
}
