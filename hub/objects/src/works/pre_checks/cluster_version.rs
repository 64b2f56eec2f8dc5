//! What the hub itself reads in a ClusterVersion, where no agent answers.

use std::cmp::Reverse;
use std::sync::Arc;

use drydock_api::names::{CLUSTER_VERSION, cause};
use drydock_api::ocm::manifest_work::ManifestStatus;
use drydock_api::openshift::release_request::{
    KnownRelease, ReleaseRequest, is_request_of, replaces_a_refused_one,
};
use drydock_api::{image_digest, is_same_image};
use drydock_rollout::{Finding, FindingAcceptance, FindingLevel, bounded};
use semver::Version;

use super::GROUP;
use super::answer::{TEXT, printable};
use crate::works::feedback::{self, text};

/// The agent's informer that reads ClusterVersion: what the hub reads there itself has its names.
const CLUSTER_VERSION_INFORMER: &str = "drydock.cluster-version";

/// What ClusterVersion says would be a problem, in the agent's words (its informer `drydock.cluster-version`).
pub(super) fn by_cluster_version(
    status: &ManifestStatus,
    running: &Version,
    target: Option<&Version>,
    image: Option<&str>,
) -> Vec<Finding> {
    let is = |name, value| feedback::is(status, name, value);
    let completed = completed(status);
    let running = completed.as_ref().unwrap_or(running);
    let mut findings = of_the_cluster(status);
    let is_minor = target.is_none_or(|target| (target.major, target.minor) != (running.major, running.minor));
    if is("upgradeable", "Unknown") && is_minor {
        let summary = "The cluster does not say whether it may be updated to another minor release";
        findings.push(own_finding(
            "not-upgradeable",
            Cause::None,
            FindingLevel::Unknown,
            summary,
        ));
    }
    if is("upgradeable", "False") && is_minor {
        let reason = said(status, "upgradeableReason");
        // One reason stands for several.
        let message = text(status, "upgradeableMessage").unwrap_or_default();
        let reason_said = text(status, "upgradeableReason").unwrap_or_default();
        let cause = format!("{reason_said}: {message}");
        let uid = if reason.contains("AdminAck") {
            "admin-ack-required"
        } else {
            "not-upgradeable"
        };
        let summary = format!("The cluster may not be updated to another minor release: {reason}");
        let cause = Cause::Said(cause::CONDITION, &cause);
        findings.push(own_finding(uid, cause, FindingLevel::Error, &summary));
    }
    findings.extend(of_the_request(status, target, image));
    let mut add =
        |uid: &str, level, summary: &str| findings.push(own_finding(uid, Cause::None, level, summary));
    if let Some(target) = target
        && target.major == running.major
        && target.minor > running.minor.saturating_add(1)
    {
        let summary = format!("{target} is more than one minor release ahead of {running}");
        add("not-a-next-release", FindingLevel::Error, &summary);
    }
    let is_silent = text(status, "retrievedUpdates").is_some_and(|retrieved| retrieved != "True");
    if is_silent {
        let summary = "Whether the target is recommended is not known: the update service does not answer";
        add("updates-not-retrieved", FindingLevel::Warning, summary);
    }
    // What was known before the service fell silent counts.
    let by_image = || short(image.unwrap_or_default());
    let release = target.map_or_else(by_image, ToString::to_string);
    findings.extend(not_recommended(status, &release));
    findings.extend(not_offered(status, &release, image, is_silent));
    findings.sort_by_key(|found| Reverse(found.level));
    findings
}

/// An image in few words: those of a digest leave no room for what is said of it.
fn short(image: &str) -> String {
    match image_digest(image).strip_prefix("sha256:") {
        Some(digest) => format!("image sha256:{}…", bounded(digest, 12)),
        None => image.to_owned(),
    }
}

/// What the cluster runs in full: it has not arrived where an update leads that is not complete.
fn completed(status: &ManifestStatus) -> Option<Version> {
    Version::parse(&text(status, "completed")?).ok()
}

/// What speaks against a release that the update service offers with its risks alone.
fn not_recommended(status: &ManifestStatus, target: &str) -> Option<Finding> {
    let recommended = text(status, "recommended").filter(|recommended| recommended != "True")?;
    let level = if recommended == "False" {
        FindingLevel::Warning
    } else {
        FindingLevel::Unknown
    };
    let reason = said(status, "recommendedReason");
    // Which risks those are is in the words: who has accepted one has accepted no other.
    let risks = format!(
        "{reason}: {}",
        text(status, "recommendedMessage").unwrap_or_default()
    );
    let summary = format!("{target} is not recommended: {reason}");
    Some(own_finding(
        "not-recommended",
        Cause::Words(&risks),
        level,
        &summary,
    ))
}

/// What speaks against a request of the release by its version alone, if anything does: one that is offered with its risks alone has to be
/// requested by its image.
pub(super) fn image_required(status: &ManifestStatus, target: &str) -> Option<Finding> {
    let recommended = text(status, "recommended").filter(|recommended| recommended != "True");
    if recommended.is_none() || text(status, "offered").is_some() {
        return None;
    }
    let summary = format!("The cluster takes {target} by its image alone, as it is not recommended");
    Some(own_finding(
        "image-required",
        Cause::None,
        FindingLevel::Error,
        &summary,
    ))
}

/// Whether the update service offers the release: under its version, and with the image that is asked for, if one is.
fn not_offered(
    status: &ManifestStatus,
    target: &str,
    image: Option<&str>,
    is_silent: bool,
) -> Option<Finding> {
    let is_offered = text(status, "offered").is_some() || text(status, "recommended").is_some();
    let summary = match image {
        // Of a release that is in both lists the conditional one counts.
        Some(image) if is_offered => {
            let offered = text(status, "conditionalImage").or_else(|| text(status, "offeredImage"));
            if offered.is_some_and(|offered| is_same_image(&offered, image)) {
                return None;
            }
            format!("The update service offers {target} with another image than the one that is asked for")
        }
        _ if is_offered || is_silent => return None,
        _ => format!("{target} is not among the updates that the update service offers"),
    };
    let cause = image.map_or(Cause::None, |image| {
        Cause::Said(cause::IMAGE, image_digest(image))
    });
    Some(own_finding("not-offered", cause, FindingLevel::Error, &summary))
}

/// A value that is fed back, for people.
fn said(status: &ManifestStatus, name: &str) -> Arc<str> {
    text(status, name)
        .map(|said| printable(&said))
        .unwrap_or_default()
}

/// What ClusterVersion says in so many words against an update now, whoever asks: its agent may have collected its answer hours ago.
pub(super) fn against_a_start(
    status: &ManifestStatus,
    target: Option<&Version>,
    image: Option<&str>,
) -> Vec<Finding> {
    let is = |name, value| feedback::is(status, name, value);
    let is_said = |found: &Finding| match found.uid.as_deref() {
        Some("failing") => is("failing", "True"),
        Some("update-in-progress") => is("progressing", "True"),
        Some("cluster-unavailable") => is("available", "False"),
        _ => true,
    };
    let of_the_cluster = of_the_cluster(status).into_iter().filter(is_said);
    of_the_cluster
        .chain(of_the_request(status, target, image))
        .collect()
}

/// What is so whatever the target. What is not known is no reason to begin.
fn of_the_cluster(status: &ManifestStatus) -> Vec<Finding> {
    let is = |name, value| feedback::is(status, name, value);
    let mut findings = Vec::new();
    let mut add = |uid: &str, level, summary: String, (kind, name): (&'static str, &str)| {
        let said = text(status, name).filter(|said| !said.is_empty());
        let cause = said
            .as_deref()
            .map_or(Cause::None, |said| Cause::Said(kind, said));
        findings.push(own_finding(uid, cause, level, &summary));
    };
    let failing = (cause::CONDITION, "failingMessage");
    if is("failing", "True") {
        let summary = format!(
            "The cluster's update is failing: {}",
            said(status, "failingMessage")
        );
        add("failing", FindingLevel::Warning, summary, failing);
    } else if text(status, "failing").is_none() {
        let summary = "The cluster does not say whether its update is failing".to_owned();
        add("failing", FindingLevel::Warning, summary, failing);
    } else if !is("failing", "False") {
        let summary = format!(
            "The cluster's update may be failing: {}",
            said(status, "failingMessage")
        );
        add("failing", FindingLevel::Warning, summary, failing);
    }
    if let Some((level, summary)) = under_way(status) {
        let desired = (cause::DESIRED, "desired");
        add("update-in-progress", level, summary, desired);
    }
    let available = (cause::CONDITION, "availableReason");
    if is("available", "False") {
        let summary = format!(
            "The cluster is not available: {}",
            said(status, "availableReason")
        );
        add("cluster-unavailable", FindingLevel::Error, summary, available);
    } else if !is("available", "True") {
        let summary = "The cluster does not say whether it is available".to_owned();
        add("cluster-unavailable", FindingLevel::Unknown, summary, available);
    }
    if is("accepted", "False") {
        let summary = format!(
            "The requested release is not accepted: {}",
            said(status, "acceptedReason")
        );
        add(
            "release-not-accepted",
            FindingLevel::Error,
            summary,
            (cause::CONDITION, "acceptedReason"),
        );
    }
    findings
}

/// What is known of an update that has begun.
fn under_way(status: &ManifestStatus) -> Option<(FindingLevel, String)> {
    let is = |name, value| feedback::is(status, name, value);
    if is("progressing", "True") {
        let desired = text(status, "desired").filter(|desired| !desired.is_empty());
        let to = desired.map(|desired| format!(", to {}", printable(&desired)));
        let to = to.unwrap_or_default();
        Some((FindingLevel::Warning, format!("Another update is under way{to}")))
    } else if is("state", "Partial") {
        let summary = "The update before it has not been completed";
        Some((FindingLevel::Warning, summary.to_owned()))
    } else if is("progressing", "False") {
        None
    } else {
        let summary = "The cluster does not say whether an update is under way";
        Some((FindingLevel::Unknown, summary.to_owned()))
    }
}

/// What speaks against the update in that which is requested already; nothing where it takes the place of what the cluster refuses.
fn of_the_request(status: &ManifestStatus, target: Option<&Version>, image: Option<&str>) -> Vec<Finding> {
    let other = other_request(status, target, image);
    let is_invalid = feedback::is(status, "invalid", "True");
    let (message, wanted) = (text(status, "invalidMessage"), text(status, "wantedImage"));
    let message = message.filter(|_| is_invalid).unwrap_or_default();
    if replaces_a_refused_one(&message, other.is_some(), wanted.as_deref(), image) {
        return Vec::new();
    }
    let invalid = is_invalid.then(|| {
        let reason = text(status, "invalidReason").unwrap_or_default();
        own_finding(
            "update-invalid",
            Cause::Said(cause::CONDITION, &reason),
            FindingLevel::Error,
            &format!("What the cluster is asked for is invalid: {}", printable(&reason)),
        )
    });
    other.into_iter().chain(invalid).collect()
}

/// Somebody has asked for another release, which the cluster has not begun to take: a request now would replace it.
fn other_request(status: &ManifestStatus, target: Option<&Version>, image: Option<&str>) -> Option<Finding> {
    let target = target.map(ToString::to_string);
    let requested = requested(status, target.clone(), image)?;
    if is_request_of(&requested, &target.unwrap_or_default(), image) {
        return None;
    }
    let summary = format!(
        "An update to {} has been requested, and has not begun",
        printable(&requested)
    );
    Some(own_finding(
        "other-update-requested",
        Cause::Said(cause::REQUESTED, &requested),
        FindingLevel::Warning,
        &summary,
    ))
}

/// What is requested and has not begun. Of the releases that are offered only the target is fed back.
fn requested(status: &ManifestStatus, target: Option<String>, image: Option<&str>) -> Option<String> {
    let said = |name: &str| text(status, name);
    let of_target = [
        said("offeredImage"),
        said("conditionalImage"),
        image.map(str::to_owned),
    ];
    let newest = said("version");
    let request = ReleaseRequest {
        version: said("wanted"),
        image: said("wantedImage"),
        architecture: said("wantedArchitecture"),
        desired: KnownRelease {
            version: said("desired"),
            images: said("desiredImage").into_iter().collect(),
        },
        desired_architecture: said("desiredArchitecture"),
        has_kept_version: feedback::is(status, "state", "Completed")
            && newest.is_some()
            && newest == said("versionBefore"),
        offered: vec![KnownRelease {
            version: target,
            images: of_target.into_iter().flatten().collect(),
        }],
    };
    request.pending()
}

/// What makes a finding about ClusterVersion another one.
#[derive(Clone, Copy, Debug)]
enum Cause<'a> {
    /// Nothing.
    None,
    /// What is said about this kind of thing, as the agent tells it apart.
    Said(&'static str, &'a str),
    /// What these words say: the agent does not have such a finding.
    Words(&'a str),
}

/// A finding about ClusterVersion, under the identity that the agent gives it (insights.md, section 1.4).
fn own_finding(uid: &str, cause: Cause<'_>, level: FindingLevel, summary: &str) -> Finding {
    let (cause, words) = match cause {
        Cause::None => (String::new(), ""),
        Cause::Said(kind, said) => {
            let said: String = digest(said).chars().take(cause::DIGITS).collect();
            (format!(",{GROUP}:{kind}::{said}"), "")
        }
        Cause::Words(words) => (String::new(), words),
    };
    let identity = format!(
        "{CLUSTER_VERSION_INFORMER}/ControlPlane//{GROUP}:ClusterVersion::{CLUSTER_VERSION}{cause}/{uid}{words}"
    );
    let uuid = digest(&identity);
    let (impact, remedy) = advice(uid);
    Finding {
        uuid: Some(uuid.into()),
        informer: CLUSTER_VERSION_INFORMER.into(),
        uid: Some(uid.into()),
        level,
        summary: bounded(summary, TEXT).into(),
        impact: impact.into(),
        remedy: remedy.into(),
        acceptance: FindingAcceptance::None,
        accepted_by: None,
    }
}

/// As the agent makes them: 32 hexadecimal digits.
fn digest(text: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a finding means, and what to do about it.
fn advice(uid: &str) -> (&'static str, &'static str) {
    match uid {
        "failing" => (
            "Update Stalled",
            "Correct what the condition Failing of ClusterVersion names",
        ),
        "update-in-progress" => (
            "Update Stalled",
            "Wait until the update that is under way has ended",
        ),
        "cluster-unavailable" => (
            "API Availability",
            "Correct what the condition Available of ClusterVersion names",
        ),
        "update-invalid" => (
            "Update Stalled",
            "Correct what the condition Invalid of ClusterVersion names, or take the request back with oc adm upgrade --clear",
        ),
        "not-a-next-release" => ("Update Stalled", "Update to the minor release between them first"),
        "release-not-accepted" => (
            "Update Stalled",
            "Correct what the condition ReleaseAccepted of ClusterVersion names, or take the request back with oc adm upgrade --clear",
        ),
        "other-update-requested" => (
            "Update Stalled",
            "Wait until that update has ended, or take the request back with oc adm upgrade --clear",
        ),
        "admin-ack-required" => (
            "Update Stalled",
            "Read what has to be acknowledged, and acknowledge it in ConfigMap admin-acks of openshift-config",
        ),
        "not-upgradeable" => (
            "Update Stalled",
            "Correct what the condition Upgradeable of ClusterVersion names",
        ),
        "updates-not-retrieved" => (
            "Unknown",
            "Make the update service reachable, or choose a channel that it knows",
        ),
        "image-required" => (
            "Update Stalled",
            "Give spec.clusterVersion.image, which status.conditionalUpdates of ClusterVersion names, or let drydock-agent request it: with \
             a channel, where it is Available, and upgradeVia Auto or Agent",
        ),
        "not-recommended" => (
            "Unknown",
            "Read what the risk is, and whether it applies to this cluster",
        ),
        _ => (
            "Unknown",
            "Choose a version of oc adm upgrade, or another channel",
        ),
    }
}
