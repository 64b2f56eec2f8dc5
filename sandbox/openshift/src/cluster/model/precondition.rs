//! The preconditions of an update.

use semver::Version;

use super::history::History;
use super::release::Release;

/// Why an update is refused, or a warning that is recorded with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    check: &'static str,
    reason: String,
    message: String,
    blocks: bool,
}

/// What is known of the recommendation of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recommendation {
    Recommended,
    /// The conditional update's reason and message.
    NotRecommended(String, String),
    /// Likewise, when its risk could not be evaluated.
    Undecided(String, String),
    NoChannel,
    /// The target is not offered; what the condition RetrievedUpdates says.
    NotOffered(&'static str, String),
}

/// What the checks look at.
pub(super) struct Case<'a> {
    pub(super) current: &'a Release,
    pub(super) target: &'a Version,
    pub(super) history: &'a History,
    /// Reason and message of the condition `Upgradeable=False`.
    pub(super) not_upgradeable: Option<(String, String)>,
    pub(super) recommendation: Recommendation,
}

/// What the checks came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PreconditionOutcome {
    /// The update may begin; the text is recorded as `acceptedRisks`.
    Accepted(String),
    /// The update is refused with this message.
    Refused(String),
}

/// Runs the checks in their order.
pub(super) fn check(case: &Case<'_>, force: bool) -> PreconditionOutcome {
    let objections: Vec<Objection> = [
        rollback(case),
        giant_hop(case),
        upgradeable(case),
        recommended(case),
    ]
    .into_iter()
    .flatten()
    .collect();
    if objections.is_empty() {
        return PreconditionOutcome::Accepted(String::new());
    }
    let texts: Vec<String> = objections.iter().map(Objection::text).collect();
    let summary = match texts.as_slice() {
        [only] => only.clone(),
        several => format!("Multiple precondition checks failed:\n* {}", several.join("\n* ")),
    };
    match (objections.iter().any(|objection| objection.blocks), force) {
        (true, false) => PreconditionOutcome::Refused(summary),
        (true, true) => PreconditionOutcome::Accepted(format!("Forced through blocking failures: {summary}")),
        (false, _) => PreconditionOutcome::Accepted(summary),
    }
}

impl Objection {
    fn blocking(check: &'static str, reason: &str, message: String) -> Self {
        Self {
            check,
            reason: reason.to_owned(),
            message,
            blocks: true,
        }
    }

    fn text(&self) -> String {
        let Self {
            check,
            reason,
            message,
            ..
        } = self;
        format!("Precondition \"{check}\" failed because of \"{reason}\": {message}")
    }
}

fn rollback(case: &Case<'_>) -> Option<Objection> {
    let (current, target) = (&case.current.version, case.target);
    if target >= current {
        return None;
    }
    let previous = case
        .history
        .entries()
        .iter()
        .map(|entry| &entry.release)
        .find(|release| *release != case.current);
    let less = format!("{target} is less than the current target {current}");
    let message = match previous {
        None => format!("{less}, and the cluster has no previous Semantic Version"),
        Some(previous) if previous.version != *target => format!(
            "{less}, and the only supported rollback is to the cluster's previous version {} ({})",
            previous.version, previous.image
        ),
        Some(previous) if previous.version.minor == current.minor => return None,
        Some(_) => format!(
            "{less} and matches the cluster's previous version, but rollbacks that change major or minor versions \
             are not recommended"
        ),
    };
    Some(Objection::blocking(
        "ClusterVersionRollback",
        "LowDesiredVersion",
        message,
    ))
}

fn giant_hop(case: &Case<'_>) -> Option<Objection> {
    let check = "ClusterVersionGiantHop";
    let (current, target) = (&case.current.version, case.target);
    if target.major > current.major {
        if current.major == 4 && (target.major, target.minor) == (5, 0) {
            return None;
        }
        let message = format!(
            "{target} has a larger major version than the current target {current} ({} > {}), and only updates \
             within the current major version are supported.",
            target.major, current.major
        );
        return Some(Objection::blocking(check, "MajorVersionUpdate", message));
    }
    if target.minor <= current.minor + 1 {
        return None;
    }
    let message = format!(
        "{target} is more than one minor version beyond the current target {current} ({}.{} > {}.({}+1)), and only \
         updates within the current minor version or to the next minor version are supported.",
        target.major, target.minor, current.major, current.minor
    );
    Some(Objection::blocking(check, "MultipleMinorVersionsUpdate", message))
}

fn upgradeable(case: &Case<'_>) -> Option<Objection> {
    let current = &case.current.version;
    if (case.target.major, case.target.minor) <= (current.major, current.minor) {
        return None;
    }
    let (reason, message) = case.not_upgradeable.as_ref()?;
    Some(Objection::blocking(
        "ClusterVersionUpgradeable",
        reason,
        message.clone(),
    ))
}

fn recommended(case: &Case<'_>) -> Option<Objection> {
    let (current, target) = (&case.current.version, case.target);
    let (reason, message) = match &case.recommendation {
        Recommendation::Recommended => return None,
        Recommendation::NotRecommended(reason, message) => (
            reason.clone(),
            format!("Update from {current} to {target} is not recommended:\n\n{message}"),
        ),
        Recommendation::Undecided(reason, message) => (
            reason.clone(),
            format!("Update from {current} to {target} is Recommended=Unknown: {reason}: {message}"),
        ),
        Recommendation::NoChannel => (
            "NoChannel".to_owned(),
            format!(
                "Configured channel is unset, so the recommended status of updating from {current} to {target} is \
                 unknown."
            ),
        ),
        Recommendation::NotOffered(status, why) => {
            let end = if *status == "True" {
                format!(
                    "so the update from {current} to {target} is probably neither recommended nor supported."
                )
            } else {
                format!("so the recommended status of updating from {current} to {target} is unknown.")
            };
            (
                "UnknownUpdate".to_owned(),
                format!("RetrievedUpdates={status} ({why}), {end}"),
            )
        }
    };
    Some(Objection {
        check: "ClusterVersionRecommendedUpdate",
        reason,
        message,
        blocks: false,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn outcome(current: &str, previous: Option<&str>, target: &str, force: bool) -> PreconditionOutcome {
        let now = Timestamp::UNIX_EPOCH;
        let current = Release::of(current.parse().unwrap());
        let first = previous.map_or_else(
            || current.clone(),
            |version| Release::of(version.parse().unwrap()),
        );
        let mut history = History::installed(first.clone(), now, now);
        if first != current {
            history.begin(current.clone(), true, String::new(), now);
            history.complete(now);
        }
        let case = Case {
            current: &current,
            target: &target.parse().unwrap(),
            history: &history,
            not_upgradeable: Some(("AdminAckRequired".into(), "ask first".into())),
            recommendation: Recommendation::Recommended,
        };
        check(&case, force)
    }

    #[test]
    fn updates_are_refused_for_the_reasons_of_the_real_checks() {
        let table = [
            ("4.14.9", None, "4.14.12", None),
            ("4.14.9", Some("4.14.8"), "4.14.8", None),
            ("4.14.9", Some("4.14.8"), "4.14.7", Some("LowDesiredVersion")),
            ("4.14.9", Some("4.13.8"), "4.13.8", Some("LowDesiredVersion")),
            ("4.14.9", None, "4.14.8", Some("LowDesiredVersion")),
            ("4.14.9", None, "4.16.0", Some("MultipleMinorVersionsUpdate")),
            ("4.14.9", None, "6.0.0", Some("MajorVersionUpdate")),
            ("4.14.9", None, "4.15.10", Some("AdminAckRequired")),
        ];
        for (current, previous, target, reason) in table {
            let result = outcome(current, previous, target, false);
            match (reason, &result) {
                (None, PreconditionOutcome::Accepted(risks)) => assert!(risks.is_empty(), "{risks}"),
                (Some(reason), PreconditionOutcome::Refused(message)) => {
                    assert!(message.contains(reason), "{message}");
                }
                _ => panic!("{current} to {target}: {result:?}"),
            }
        }
    }

    #[test]
    fn a_forced_update_records_what_it_was_forced_through() {
        let PreconditionOutcome::Accepted(risks) = outcome("4.14.9", None, "4.15.10", true) else {
            panic!("a forced update is accepted");
        };
        assert_eq!(
            risks,
            "Forced through blocking failures: Precondition \"ClusterVersionUpgradeable\" failed because of \
             \"AdminAckRequired\": ask first"
        );
    }
}
