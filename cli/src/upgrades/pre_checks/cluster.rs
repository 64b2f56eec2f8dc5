//! What one cluster of an upgrade has answered before it starts.

use std::fmt::Write as _;

use drydock_rollout::{AnswerSource, ClusterName, ClusterPreChecks, Finding, FindingAcceptance, PreCheckAsk};
use jiff::Timestamp;
use serde::Serialize;

use crate::upgrades::table;

/// One finding of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct OneFinding {
    level: &'static str,
    summary: String,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    impact: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
    informer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    /// What its acceptance comes to; absent if nobody has accepted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_until: Option<Timestamp>,
    #[serde(skip)]
    why_ended: Option<&'static str>,
}

impl OneFinding {
    fn is_accepted(&self) -> bool {
        self.acceptance == FindingAcceptance::Accepted.as_str()
    }

    fn is_open(&self) -> bool {
        !self.is_accepted() && !self.is_unconfirmed()
    }

    fn is_unconfirmed(&self) -> bool {
        self.acceptance == FindingAcceptance::Unconfirmed.as_str()
    }

    /// Who has accepted it, why and until when; or why that counts no more.
    fn acceptance(&self) -> String {
        let Some(user) = &self.accepted_by else {
            return match self.why_ended {
                Some(why) => why.to_owned(),
                None if self.is_accepted() => {
                    "on the cluster itself: kubectl drydock cluster pre-checks says by whom".to_owned()
                }
                None => String::new(),
            };
        };
        let reason = self.accepted_reason.as_deref().unwrap_or_default();
        let until = self.accepted_until.map(|until| format!(", until {until}"));
        let unconfirmed = if self.is_unconfirmed() {
            "; it counts when the cluster's agent has confirmed it"
        } else {
            ""
        };
        let ended = self.why_ended.map(|why| format!("{why}; ")).unwrap_or_default();
        format!(
            "{ended}by {user}: {reason}{}{unconfirmed}",
            until.unwrap_or_default()
        )
    }

    fn write(&self, text: &mut String) {
        let impact = match self.impact.as_str() {
            "" => String::new(),
            impact => format!(" ({})", table::printable(impact)),
        };
        let _ = writeln!(
            text,
            "\n{}{impact}: {}",
            self.level,
            table::printable(&self.summary)
        );
        let informer = super::named(&self.informer, self.uid.as_deref());
        for (name, value) in [
            ("Reported by:", informer.as_str()),
            ("Remedy:", &self.remedy),
            ("UUID:", self.uuid.as_deref().unwrap_or_default()),
            ("Acceptance:", &self.acceptance()),
        ] {
            if !value.is_empty() {
                let _ = writeln!(text, "  {name:16}{}", table::printable(value));
            }
        }
    }
}

/// Whether a finding is one of a group.
type Group = fn(&OneFinding) -> bool;

/// What one cluster has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterView {
    /// The upgrade, as commands name it.
    #[serde(skip)]
    named: String,
    cluster: String,
    asked: bool,
    /// Who has answered: `Agent`, `ClusterVersion`, nobody, or `AtTarget` if there is nothing left to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'static str>,
    /// When its agent collected the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    collected_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How many findings nobody has accepted, those included that are not listed.
    unaccepted: usize,
    /// Whether it does not start where an answer is required.
    pub holds: bool,
    findings: Vec<OneFinding>,
    /// How many acceptances are about it and do not count, because they are too many.
    #[serde(skip_serializing_if = "is_none")]
    acceptances_left_out: usize,
    /// The upgrade says so, and `message` why.
    #[serde(skip)]
    is_unanswered: bool,
    /// Its answer is required, and something else keeps it from being asked.
    #[serde(skip)]
    is_unasked: bool,
    /// What it has answered before stands, though its agent is asked for another upgrade.
    #[serde(skip)]
    is_kept: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl ClusterView {
    /// Of a cluster that the upgrade says has not answered, with the reason why; commands name the upgrade as `named`.
    pub fn of(name: &ClusterName, checks: &ClusterPreChecks, unanswered: Option<&str>, named: &str) -> Self {
        let answer = checks.answer.as_ref();
        let one = |finding: &Finding| OneFinding {
            level: finding.level.as_str(),
            summary: finding.summary.to_string(),
            impact: finding.impact.to_string(),
            remedy: finding.remedy.to_string(),
            informer: finding.informer.to_string(),
            uuid: finding.uuid.as_deref().map(str::to_owned),
            uid: finding.uid.as_deref().map(str::to_owned),
            acceptance: finding.acceptance.as_str(),
            accepted_by: finding.accepted_by.as_ref().map(|by| by.user.to_string()),
            accepted_reason: finding.accepted_by.as_ref().map(|by| by.reason.to_string()),
            accepted_until: finding.accepted_by.as_ref().and_then(|by| by.until),
            why_ended: finding.acceptance.why_ended(),
        };
        Self {
            named: named.to_owned(),
            cluster: name.to_string(),
            asked: checks.asked,
            answered_by: answer.map(|answer| match answer.source {
                AnswerSource::Agent { .. } => "Agent",
                AnswerSource::ClusterVersion => "ClusterVersion",
                AnswerSource::AtTarget => "AtTarget",
            }),
            collected_at: checks.collected_at(),
            message: unanswered.or(checks.trouble.as_deref()).map(str::to_owned),
            unaccepted: checks.unaccepted().saturating_sub(checks.unconfirmed()),
            holds: checks.holds() || unanswered.is_some(),
            is_unanswered: unanswered.is_some(),
            is_unasked: checks.is_unasked,
            is_kept: checks.is_kept,
            acceptances_left_out: checks.left_out(),
            findings: answer
                .into_iter()
                .flat_map(|answer| answer.findings.iter())
                .map(one)
                .collect(),
        }
    }

    /// As text, in the words of `kubectl drydock cluster pre-checks`.
    pub fn text(&self) -> String {
        let said = self.said();
        let at = self
            .collected_at
            .map(|at| format!(" (its agent answered at {at})"));
        let mut text = format!(
            "{}: {said}{}\n",
            table::printable(&self.cluster),
            at.unwrap_or_default()
        );
        if self.answered_by == Some("ClusterVersion") && self.message.is_none() {
            text.push_str(
                "Only ClusterVersion was read: no drydock-agent is there, or the target is an image alone.\n",
            );
        }
        let groups = [
            ("Not accepted", OneFinding::is_open as Group),
            (
                "Accepted, and not confirmed by its agent yet",
                OneFinding::is_unconfirmed,
            ),
            ("Accepted", OneFinding::is_accepted),
        ];
        for (title, is_of_group) in groups {
            let mut of_group = self.findings.iter().filter(|found| is_of_group(found)).peekable();
            if of_group.peek().is_some() {
                let _ = writeln!(text, "\n= {title} =");
            }
            for found in of_group {
                found.write(&mut text);
            }
        }
        let listed = self.findings.iter().filter(|found| found.is_open()).count();
        if self.unaccepted > listed {
            let _ = writeln!(
                text,
                "\n{} more are not listed here: see kubectl drydock cluster pre-checks on the cluster",
                self.unaccepted - listed
            );
        }
        if self.acceptances_left_out > 0 {
            let _ = writeln!(
                text,
                "\n{} acceptances are left out, for {} count on a cluster, those first that name it: delete those that are not needed",
                self.acceptances_left_out,
                PreCheckAsk::MOST_ACCEPTED
            );
        }
        text
    }

    /// How it stands with the cluster, in a sentence.
    fn said(&self) -> String {
        let why = self.message.as_deref().map(table::printable);
        let said = self.said_of_findings();
        match (self.asked, self.answered_by) {
            _ if self.is_unanswered => why.unwrap_or_default(),
            (false, _) | (true, None) if self.is_unasked => format!(
                "it is not asked now, for something else keeps it from starting: kubectl drydock clusters {} says what",
                self.named
            ),
            (false, _) => {
                "it is not asked: it has started or ended, waits for something else, or preChecks.mode is Off"
                    .to_owned()
            }
            (true, None) if self.is_kept => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                format!(
                    "nothing was left that has to be accepted when it answered, and it is asked anew when the upgrade is resumed{why}"
                )
            }
            (true, None) => match why {
                Some(why) => format!("it has not answered: {why}"),
                None => "it has not answered".to_owned(),
            },
            (true, Some(_)) => match why {
                Some(why) => format!("{said}; {why}"),
                None => said,
            },
        }
    }

    fn said_of_findings(&self) -> String {
        match self.unaccepted {
            0 if !self.holds => "nothing is left that has to be accepted".to_owned(),
            0 if self.findings.iter().any(OneFinding::is_unconfirmed) => {
                "all that holds it is accepted, and counts when its agent has confirmed that".to_owned()
            }
            0 => "not every informer has answered".to_owned(),
            1 => "1 finding is not accepted".to_owned(),
            count => format!("{count} findings are not accepted"),
        }
    }
}
