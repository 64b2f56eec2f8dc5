//! Pre-checks as text.

use std::fmt::Write as _;

use drydock_api::insights::{AcceptanceState, InformerState, Scope, Verdict};
use drydock_insights::built_in::is_cause;
use drydock_insights::pre_checks::{CheckedAcceptance, CheckedFinding, PreChecks};
use jiff::Timestamp;

/// Where the text of a field begins.
const WIDTH: usize = 16;

/// What would be a problem with an update, for people: what holds it first.
pub fn text(checks: &PreChecks) -> String {
    let mut text = heading(checks);
    let accepted = |finding: &CheckedFinding| finding.insight.impact.level.gates() && !finding.holds;
    let is_note = |finding: &CheckedFinding| !finding.insight.impact.level.gates();
    group(&mut text, "Not accepted", checks, |finding| finding.holds);
    group(&mut text, "Accepted", checks, accepted);
    group(&mut text, "For information", checks, is_note);
    if !checks.is_held() {
        return text;
    }
    if checks.counts.unaccepted > 0 {
        text.push_str(if checks.computed {
            "\nCorrect what holds the update. Where drydock-agent runs with its insights, it can be accepted.\n"
        } else {
            "\nCorrect what holds the update, or accept it: --accept UUID --reason TEXT (UUID=Error for one that is worse than a Warning), with --until if it is for a time.\n"
        });
    }
    text
}

fn heading(checks: &PreChecks) -> String {
    let target = &checks.target_release;
    let update = match &checks.base_version {
        Some(base) => format!("Update from {base} to {target}"),
        None => format!("Update to {target}"),
    };
    let why = match checks.verdict {
        Verdict::Go => "nothing speaks against it".to_owned(),
        Verdict::Caution
            if checks
                .findings
                .iter()
                .all(|found| !found.insight.impact.level.gates()) =>
        {
            "not everything was looked at".to_owned()
        }
        Verdict::Caution => "what was found is accepted or ignored".to_owned(),
        Verdict::Stop => stop(checks),
    };
    let mut text = format!("{update}: {} ({why})\n", checks.verdict.as_str());
    if let Some(upgrade) = &checks.asked_for {
        let upgrade = one_line(upgrade);
        let _ = writeln!(
            text,
            "Asked for upgrade {upgrade} at present: what is accepted for it counts in its turn, and what is accepted for another one in the turn of that"
        );
    }
    for informer in &checks.informers {
        let word = match informer.state {
            InformerState::Pending => "has not answered",
            InformerState::Waiting => "is still looking",
            InformerState::Failure => "cannot tell",
            InformerState::Unavailable => "does not answer",
            InformerState::Disabled => "is switched off",
            InformerState::Success | InformerState::NotImplemented => continue,
        };
        let why = informer.message.as_deref().filter(|why| !why.is_empty());
        let why = why.map(|why| format!(": {}", one_line(why))).unwrap_or_default();
        let _ = writeln!(text, "Informer {} {word}{why}", informer.name);
    }
    // An informer that somebody has installed may have nothing to say about plans; one of the agent's own had nothing to look at.
    let blind = checks.informers_in(InformerState::NotImplemented);
    let blind: Vec<_> = blind
        .filter(|informer| informer.message.is_some())
        .map(|informer| informer.name.as_str())
        .collect();
    if !blind.is_empty() {
        let _ = writeln!(text, "Without objects to look at: {}", blind.join(", "));
    }
    text
}

fn stop(checks: &PreChecks) -> String {
    match checks.counts.unaccepted {
        0 => "not every informer has answered".to_owned(),
        1 => "1 finding is not accepted".to_owned(),
        count => format!("{count} findings are not accepted"),
    }
}

fn group(text: &mut String, title: &str, checks: &PreChecks, is_in: impl Fn(&CheckedFinding) -> bool) {
    let findings: Vec<_> = checks.findings.iter().filter(|finding| is_in(finding)).collect();
    if findings.is_empty() {
        return;
    }
    let _ = write!(text, "\n= {title} =\n");
    for finding in findings {
        text.push('\n');
        one(text, finding, checks);
    }
}

fn one(text: &mut String, finding: &CheckedFinding, checks: &PreChecks) {
    let impact = &finding.insight.impact;
    let (level, about) = (impact.level.as_str(), impact.impact_type.as_str());
    let _ = writeln!(text, "{level} ({about}): {}", one_line(&impact.summary));
    let remedy = finding.insight.remediation.clone().unwrap_or_default();
    // Who looks at objects once knows of no time before.
    let seen = (!checks.computed).then(|| format!(", first seen {}", finding.insight.first_seen.0));
    field(text, "Details", impact.description.as_deref());
    field(text, "About", Some(&subject(&finding.insight.scope)));
    field(
        text,
        "Reported by",
        Some(&format!("{}{}", finding.informer, seen.unwrap_or_default())),
    );
    let cause = finding.insight.caused_by.as_deref();
    let cause = cause.and_then(|cause| checks.finding(cause));
    let cause = cause.map(|cause| format!("{}: resolve that first", cause.insight.impact.summary));
    field(text, "Follows from", cause.as_deref());
    field(text, "Remedy", remedy.action.as_deref());
    field(text, "Verify with", remedy.verify.as_deref());
    field(text, "Reference", remedy.reference.as_deref());
    let acceptance = finding.acceptance.as_ref().map(accepted);
    field(text, "Accepted by", acceptance.as_deref());
    field(text, "UUID", Some(&finding.insight.uuid));
}

/// What a finding is about: by that findings of the same words differ.
fn subject(scope: &Scope) -> String {
    let named = |kind: &str, namespace: Option<&str>, name: &str| match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    let pools = scope.worker_pool.iter();
    let pools = pools.map(|pool| named(&pool.kind, pool.namespace.as_deref(), &pool.name));
    let resources = scope.resources.iter().filter(|one| !is_cause(one));
    let resources = resources.map(|one| named(&one.kind, one.namespace.as_deref(), &one.name));
    // A pool is a scope of its own, and may be a resource as well.
    let mut all: Vec<String> = pools.collect();
    resources.for_each(|one| {
        if !all.contains(&one) {
            all.push(one);
        }
    });
    one_line(&all.join(", "))
}

fn accepted(acceptance: &CheckedAcceptance) -> String {
    let mut text = acceptance.accepted_by.clone().unwrap_or_default();
    // The hub does not say until when it was where it says that it is over.
    if let Some(until) = acceptance
        .until
        .as_ref()
        .filter(|until| until.0 > Timestamp::UNIX_EPOCH)
    {
        let _ = write!(text, " until {}", until.0);
    }
    if let Some(reason) = &acceptance.reason {
        let _ = write!(text, ", because: {reason}");
    }
    match acceptance.state {
        AcceptanceState::Accepted => {}
        AcceptanceState::LevelRaised => text.push_str(" (no longer: it is or was worse than that)"),
        AcceptanceState::Expired => text.push_str(" (no longer: that time is over)"),
    }
    text
}

/// What others say stays where it stands: its further lines could look like ours.
pub(super) fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

/// A field, its further lines below the first. Lines without text are left out.
fn field(text: &mut String, name: &str, value: Option<&str>) {
    let lines = value
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim().is_empty());
    for (index, line) in lines.enumerate() {
        let label = if index == 0 {
            format!("{name}:")
        } else {
            String::new()
        };
        let _ = writeln!(text, "  {label:WIDTH$}{line}");
    }
}
