//! Which updates a cluster may have, as a text.

use std::collections::BTreeSet;

use semver::Version;

use super::escape::{indented, line};
use super::releases;
use crate::recommend::{
    Channel, Choice, Concern, FAILING, Failing, PROGRESSING, RISK, Recommendation, Statement, TargetRelease,
    Unreadable, choose,
};

/// What is said of a release that nothing speaks against.
pub const NO_ISSUES: &str = "no known issues relevant to this cluster";

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct RecommendationView {
    /// One release; else all.
    pub version: Option<Version>,
    /// Also older releases.
    pub with_outdated: bool,
    /// Only the names of what speaks against the release and was not accepted.
    pub quiet: bool,
    /// The names of what was accepted.
    pub accepted: BTreeSet<String>,
}

/// A text, and what comes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// What was asked for.
    pub text: String,
    /// What could not be looked at.
    pub warnings: String,
    /// Whether the release that was asked for may be updated to as it is.
    pub is_refused: bool,
}

/// The text, as `oc adm upgrade recommend` prints it.
pub fn recommendation(recommendation: &Recommendation, view: &RecommendationView) -> Rendered {
    let mut rendered = Rendered::default();
    if !view.quiet {
        rendered.text = of_cluster(recommendation, &view.accepted);
        rendered.warnings = warnings(recommendation, &view.accepted);
    }
    match &view.version {
        Some(version) => {
            let (text, refusal) = of_release(recommendation, version, view);
            rendered.text.push_str(&text);
            rendered.is_refused = refusal.is_some();
            match (refusal, view.quiet) {
                (None, _) => {}
                (Some(Refusal::Issues(names)), true) => {
                    rendered.text.push_str(&names);
                    rendered.text.push('\n');
                }
                // Scripts take what is printed for names.
                (Some(refusal), true) => rendered.warnings.push_str(error(&refusal).trim_start()),
                (Some(refusal), false) => rendered.text.push_str(&error(&refusal)),
            }
        }
        None => rendered
            .text
            .push_str(&releases::of_groups(&recommendation.groups, view.with_outdated)),
    }
    rendered
}

fn of_cluster(recommendation: &Recommendation, accepted: &BTreeSet<String>) -> String {
    let failing = match &recommendation.failing {
        Failing::Says(says) => accepted_before(accepted, FAILING).to_owned() + &block(FAILING, says),
        Failing::No | Failing::Missing => String::new(),
    };
    let progressing = recommendation.progressing.as_ref().map(|message| {
        format!(
            "{}info: An update is in progress.  You may wish to let this update complete before requesting a new update.\n  {}\n\n",
            accepted_before(accepted, PROGRESSING),
            indented(message, "  ")
        )
    });
    let precheck_error = recommendation.precheck_error.as_ref().map(|why| {
        let why = line(why);
        format!("Failed to check for at least some preconditions: {why}\n")
    });
    [
        failing,
        progressing.unwrap_or_default(),
        precheck_error.unwrap_or_default(),
        of_concerns(&recommendation.concerns, accepted),
        recommendation
            .channel
            .as_ref()
            .map(of_channel)
            .unwrap_or_default(),
    ]
    .concat()
}

fn accepted_before(accepted: &BTreeSet<String>, issue: &str) -> &'static str {
    if accepted.contains(issue) { "accepted " } else { "" }
}

fn block(type_: &str, says: &Statement) -> String {
    format!(
        "{}={}:\n\n  Reason: {}\n  Message: {}\n\n",
        line(type_),
        line(&says.status),
        line(&says.reason),
        indented(&says.message, "  ")
    )
}

fn of_concerns(concerns: &[Concern], accepted: &BTreeSet<String>) -> String {
    let (well, concerning): (Vec<_>, Vec<_>) = concerns.iter().partition(|concern| concern.is_well());
    let (fine, open): (Vec<&Concern>, Vec<&Concern>) = concerning
        .iter()
        .partition(|concern| accepted.contains(&concern.acceptance_name));
    let well = well
        .iter()
        .map(|concern| format!("{} ({})", concern.type_, concern.reason));
    let type_ = |concern: &&Concern| concern.type_.clone();
    let mut text = String::new();
    text.push_str(&sentence("no cause for concern", "", well.collect()));
    text.push_str(&sentence(
        "cause for concern",
        ", but were explicitly accepted via --accept",
        fine.iter().map(type_).collect(),
    ));
    text.push_str(&sentence(
        "cause for concern",
        "",
        open.iter().map(type_).collect(),
    ));
    if open.is_empty() {
        return text;
    }
    for concern in concerning {
        let says = Statement {
            status: concern.status.as_str().to_owned(),
            reason: concern.reason.clone(),
            message: concern.message.clone(),
        };
        text.push_str(&block(&concern.type_, &says));
    }
    text
}

fn sentence(found: &str, but: &str, mut conditions: Vec<String>) -> String {
    if conditions.is_empty() {
        return String::new();
    }
    conditions.sort_unstable();
    format!(
        "The following conditions found {found} in updating this cluster to later releases{but}: {}\n\n",
        line(&conditions.join(", "))
    )
}

fn of_channel(channel: &Channel) -> String {
    let upstream = match &channel.upstream {
        Some(upstream) => format!("Upstream update service: {}\n", line(upstream)),
        None => {
            "Upstream update service is unset, so the cluster will use an appropriate default.\n".to_owned()
        }
    };
    let available = if channel.available.is_empty() {
        String::new()
    } else {
        format!(" (available channels: {})", channel.available.join(", "))
    };
    format!(
        "{upstream}Channel: {}\n",
        line(&format!("{}{available}", channel.name))
    )
}

fn warnings(recommendation: &Recommendation, accepted: &BTreeSet<String>) -> String {
    let failing = (recommendation.failing == Failing::Missing).then(|| {
        format!(
            "{}warning: No current Failing info, see `oc describe clusterversion` for more details.\n",
            accepted_before(accepted, FAILING)
        )
    });
    let not_retrieved = recommendation.not_retrieved.as_ref().map(|says| {
        format!(
            "warning: Cannot refresh available updates:\n  Reason: {}\n  Message: {}\n\n",
            line(&says.reason),
            indented(&says.message, "  ")
        )
    });
    let unreadable = recommendation.unreadable.iter().map(of_unreadable);
    failing
        .into_iter()
        .chain(not_retrieved)
        .chain(unreadable)
        .collect()
}

fn of_unreadable(unreadable: &Unreadable) -> String {
    match unreadable {
        Unreadable::Update { version, why } => {
            format!(
                "warning: Cannot parse SemVer available update {version:?}: {}\n",
                line(why)
            )
        }
        Unreadable::Current { why, upgradeable } => format!(
            "warning: Cannot inject Upgradeable=False as a conditional update risk: {}\n\nReason: {}\n  Message: {}\n\n",
            line(why),
            line(&upgradeable.reason),
            indented(&upgradeable.message, "  ")
        ),
    }
}

/// Why a release is refused.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    /// It is not among the updates.
    #[error("{0}")]
    NotFound(String),
    /// For these issues, by their names.
    #[error("issues that apply to this cluster but which were not included in --accept: {0}")]
    Issues(String),
}

/// What is said of one release, and why it is refused.
fn of_release(
    recommendation: &Recommendation,
    version: &Version,
    view: &RecommendationView,
) -> (String, Option<Refusal>) {
    let choice = match choose(recommendation, version, &view.accepted) {
        Ok(choice) => choice,
        Err(not_found) => return (String::new(), Some(Refusal::NotFound(not_found.to_string()))),
    };
    let Choice {
        target,
        issues,
        unaccepted,
    } = choice;
    let names = |names: BTreeSet<String>| line(&names.into_iter().collect::<Vec<_>>().join(","));
    let refusal = (!unaccepted.is_empty()).then(|| Refusal::Issues(names(unaccepted)));
    if view.quiet {
        return (String::new(), refusal);
    }
    let text = format!("\n{}", in_full(target, &view.accepted));
    if refusal.is_some() {
        return (text, refusal);
    }
    let accepted = (!issues.is_empty()).then(|| {
        let issues = names(issues);
        format!("Update to {version} has {NO_ISSUES} other than the accepted {issues}.\n")
    });
    (text + &accepted.unwrap_or_default(), None)
}

fn error(why: &Refusal) -> String {
    format!("\nerror: {why}\n")
}

fn in_full(target: &TargetRelease, accepted: &BTreeSet<String>) -> String {
    let TargetRelease {
        version, image, url, ..
    } = target;
    let (image, url) = (line(image), line(url));
    match &target.not_recommended {
        None => format!("Update to {version} has {NO_ISSUES}.\nImage: {image}\nRelease URL: {url}\n"),
        Some(says) => {
            let mut reason = line(&says.reason);
            if accepted.contains(RISK) {
                reason = format!("accepted {reason} via {RISK}");
            }
            format!(
                "Update to {version} Recommended={}:\nImage: {image}\nRelease URL: {url}\nReason: {reason}\nMessage: {}\n",
                line(&says.status),
                indented(&says.message, "  ")
            )
        }
    }
}
