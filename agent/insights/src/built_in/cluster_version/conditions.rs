//! What the conditions of ClusterVersion say (insights.md, section 2.2).

use drydock_api::conditions::{AnyCondition, ForeignCondition, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::names::cause;

use super::{Draft, draft, said};

pub(super) fn failing(conditions: &[ForeignCondition]) -> Option<Draft> {
    let failing = find(conditions, "Failing");
    let summary = match failing {
        Some(failing) if failing.is_false() => return None,
        Some(failing) if failing.is_true() => "The cluster's update is failing",
        Some(_) => "The cluster's update may be failing",
        None => "The cluster does not say whether its update is failing",
    };
    let action = "Correct what the condition Failing of ClusterVersion names";
    Some(Draft {
        description: failing.map(said).unwrap_or_default(),
        ..draft(
            "failing",
            Level::Warning,
            ImpactType::UpdateStalled,
            summary.to_owned(),
            action,
        )
    })
}

/// While it is not known, the release is being downloaded and verified, as each is.
pub(super) fn not_accepted(conditions: &[ForeignCondition]) -> Option<Draft> {
    let accepted = find(conditions, "ReleaseAccepted").filter(|accepted| accepted.is_false())?;
    let action = "Correct what the condition ReleaseAccepted of ClusterVersion names, or take the request back with oc adm upgrade --clear";
    let summary = format!("The requested release is not accepted: {}", accepted.reason());
    Some(Draft {
        description: said(accepted),
        ..draft(
            "release-not-accepted",
            Level::Error,
            ImpactType::UpdateStalled,
            summary,
            action,
        )
    })
}

/// What was asked for cannot be done: another request is refused until it is taken back.
pub(super) fn invalid(conditions: &[ForeignCondition]) -> Option<Draft> {
    let invalid = find(conditions, "Invalid").filter(|invalid| invalid.is_true())?;
    let action = "Correct what the condition Invalid of ClusterVersion names, or take the request back with oc adm upgrade --clear";
    let summary = format!("What the cluster is asked for is invalid: {}", invalid.reason());
    Some(Draft {
        description: said(invalid),
        ..draft(
            "update-invalid",
            Level::Error,
            ImpactType::UpdateStalled,
            summary,
            action,
        )
    })
}

pub(super) fn unavailable(conditions: &[ForeignCondition]) -> Option<Draft> {
    let available = find(conditions, "Available");
    let (level, summary) = match available {
        Some(available) if available.is_true() => return None,
        Some(available) if available.is_false() => (
            Level::Error,
            format!("The cluster is not available: {}", available.reason()),
        ),
        _ => (
            Level::Unknown,
            "The cluster does not say whether it is available".to_owned(),
        ),
    };
    let action = "Correct what the condition Available of ClusterVersion names";
    Some(Draft {
        description: available.map(said).unwrap_or_default(),
        ..draft(
            "cluster-unavailable",
            level,
            ImpactType::ApiAvailability,
            summary,
            action,
        )
    })
}

pub(super) fn not_retrieved(conditions: &[ForeignCondition]) -> Option<Draft> {
    let retrieved = find(conditions, "RetrievedUpdates").filter(|retrieved| !retrieved.is_true())?;
    let action = "Make the update service reachable, or choose a channel that it knows";
    let summary = "Whether the target is recommended is not known: the update service does not answer";
    Some(Draft {
        description: said(retrieved),
        ..draft(
            "updates-not-retrieved",
            Level::Warning,
            ImpactType::Unknown,
            summary.to_owned(),
            action,
        )
    })
}

/// Upgradeable=False holds updates to another minor release, and no others.
pub(super) fn not_upgradeable(conditions: &[ForeignCondition]) -> Option<Draft> {
    let upgradeable = find(conditions, "Upgradeable").filter(|upgradeable| !upgradeable.is_true())?;
    if !upgradeable.is_false() {
        let summary = "The cluster does not say whether it may be updated to another minor release";
        let action = "Correct what the condition Upgradeable of ClusterVersion names";
        return Some(Draft {
            description: said(upgradeable),
            ..draft(
                "not-upgradeable",
                Level::Unknown,
                ImpactType::UpdateStalled,
                summary.to_owned(),
                action,
            )
        });
    }
    let is_ack = upgradeable.reason().contains("AdminAck");
    let (uid, action) = if is_ack {
        let action = "Read what has to be acknowledged, and acknowledge it in ConfigMap admin-acks of openshift-config";
        ("admin-ack-required", action)
    } else {
        (
            "not-upgradeable",
            "Correct what the condition Upgradeable of ClusterVersion names",
        )
    };
    let summary = format!(
        "The cluster may not be updated to another minor release: {}",
        upgradeable.reason()
    );
    let draft = draft(uid, Level::Error, ImpactType::UpdateStalled, summary, action);
    // One reason stands for several, such as MultipleReasons.
    let said = format!("{}: {}", upgradeable.reason(), upgradeable.message());
    Some(Draft {
        description: upgradeable.message().to_owned(),
        ..draft.because(cause::CONDITION, Some(&said))
    })
}
