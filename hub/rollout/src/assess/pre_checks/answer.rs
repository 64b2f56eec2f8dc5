//! What a cluster has answered, with what is accepted of it as of now.

use std::sync::Arc;

use crate::assess::ClusterView;
use crate::{AnswerSource, Finding, FindingAcceptance, PreCheckAnswer, RiskAcceptance};

/// What a cluster has answered, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterPreChecks {
    /// It has been asked about the present target.
    pub asked: bool,
    /// The answer; which findings are accepted is as of now.
    pub answer: Option<PreCheckAnswer>,
    /// Why there is none, if that is said.
    pub trouble: Option<Arc<str>>,
}

impl ClusterPreChecks {
    /// How many findings nobody has accepted, those included that are not listed.
    pub fn unaccepted(&self) -> usize {
        let Some(answer) = &self.answer else { return 0 };
        let listed = answer
            .findings
            .iter()
            .filter(|found| !found.acceptance.is_accepted())
            .count();
        match answer.source {
            AnswerSource::Agent { unaccepted, .. } => unaccepted.max(listed),
            AnswerSource::ClusterVersion | AnswerSource::AtTarget => listed,
        }
    }

    /// How many findings that nobody has accepted are not listed: only the worst are.
    pub fn unlisted(&self) -> usize {
        let findings = self.answer.iter().flat_map(|answer| answer.findings.iter());
        let listed = findings.filter(|found| !found.acceptance.is_accepted()).count();
        self.unaccepted().saturating_sub(listed)
    }

    /// Whether the cluster does not start where an answer is required.
    pub fn holds(&self) -> bool {
        match self.answer.as_ref().map(|answer| &answer.source) {
            Some(AnswerSource::Agent { stops, .. }) => *stops,
            Some(AnswerSource::ClusterVersion | AnswerSource::AtTarget) => self.unaccepted() > 0,
            None => false,
        }
    }
}

impl ClusterView<'_> {
    /// What the cluster has answered about the present target.
    pub(crate) fn pre_checks(&self) -> ClusterPreChecks {
        let target = self.spec().and_then(|spec| spec.goal.target.as_ref());
        let Some((work, target)) = self.own_pre_checks().zip(target) else {
            return ClusterPreChecks::default();
        };
        let name = target.to_string();
        if work.question.as_ref().is_none_or(|asked| *asked.target != *name) {
            return ClusterPreChecks::default();
        }
        let judged = |answer: &PreCheckAnswer| ClusterPreChecks {
            asked: true,
            answer: Some(self.judged(answer)),
            trouble: None,
        };
        let earlier = || work.answer.any().map(judged).filter(ClusterPreChecks::holds);
        let known = work.answer.current().map(judged).or_else(earlier);
        ClusterPreChecks {
            asked: true,
            trouble: work.trouble.clone(),
            ..known.unwrap_or_default()
        }
    }

    /// An answer with what is accepted as of now. An agent judges that itself.
    pub(super) fn judged(&self, answer: &PreCheckAnswer) -> PreCheckAnswer {
        let mut answer = answer.clone();
        if answer.source == AnswerSource::ClusterVersion {
            let risks = self.accepted_risks();
            let judged = answer.findings.iter().cloned().map(|found| Finding {
                acceptance: self.acceptance(&found, &risks),
                ..found
            });
            answer.findings = judged.collect();
        }
        answer
    }

    /// What these acceptances come to for a finding.
    fn acceptance(&self, finding: &Finding, risks: &[&RiskAcceptance]) -> FindingAcceptance {
        let mut about = risks.iter().filter(|risk| risk.is_about_finding(finding));
        if about
            .clone()
            .any(|risk| risk.covers(finding) && self.counts(risk))
        {
            FindingAcceptance::Accepted
        } else if about.clone().any(|risk| self.lasts(risk)) {
            FindingAcceptance::LevelRaised
        } else if about.next().is_some() {
            FindingAcceptance::Expired
        } else {
            FindingAcceptance::None
        }
    }
}
