//! What a cluster has answered, with what is accepted of it as of now.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;

use crate::assess::ClusterView;
use crate::{
    AcceptedBy, AnswerSource, Finding, FindingAcceptance, KnownAnswer, PreCheckAnswer, PreCheckAsk,
    PreCheckWork, RiskAcceptance, UpgradeMethod,
};

/// What a cluster has answered, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterPreChecks {
    /// It has been asked about the present target.
    pub asked: bool,
    /// The answer; which findings are accepted is as of now.
    pub answer: Option<PreCheckAnswer>,
    /// Why there is none, if that is said.
    pub trouble: Option<Arc<str>>,
    /// Its answer is required, and something else keeps it from being asked.
    pub is_unasked: bool,
    /// How many acceptances are about it.
    pub acceptances: usize,
    /// Its agent is asked for another upgrade, and what it has answered before stands for as long as this one is paused: nothing keeps it.
    pub is_kept: bool,
}

impl ClusterPreChecks {
    /// How many acceptances are about it and do not count, because they are too many.
    pub fn left_out(&self) -> usize {
        self.acceptances.saturating_sub(PreCheckAsk::MOST_ACCEPTED)
    }

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

    /// How many are accepted by now, which their agent does not count yet.
    pub fn unconfirmed(&self) -> usize {
        let findings = self.answer.iter().flat_map(|answer| answer.findings.iter());
        let unconfirmed = findings.filter(|found| found.acceptance == FindingAcceptance::Unconfirmed);
        unconfirmed.count()
    }

    /// How many findings that nobody has accepted are not listed: only the worst are.
    pub fn unlisted(&self) -> usize {
        let findings = self.answer.iter().flat_map(|answer| answer.findings.iter());
        let listed = findings.filter(|found| !found.acceptance.is_accepted()).count();
        self.unaccepted().saturating_sub(listed)
    }

    /// Whether there is an answer that counts.
    pub fn is_answered(&self) -> bool {
        self.answer.is_some() || self.is_kept
    }

    /// Whether it has been asked, and there is no answer that counts.
    pub fn is_silent(&self) -> bool {
        self.asked && !self.is_answered()
    }

    /// When its agent collected the answer.
    pub fn collected_at(&self) -> Option<Timestamp> {
        match self.answer.as_ref()?.source {
            AnswerSource::Agent { collected_at, .. } => Some(collected_at),
            AnswerSource::ClusterVersion | AnswerSource::AtTarget => None,
        }
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
            answer: Some(self.judged(work, answer)),
            ..ClusterPreChecks::default()
        };
        let policy = self.pre_checks_policy();
        let is_kept = policy.is_some_and(|policy| self.keeps_answer(policy, work));
        let earlier = || {
            let known = work.answer.any().filter(|_| !is_kept);
            known.map(judged).filter(ClusterPreChecks::holds)
        };
        let known = work.answer.current().map(judged).or_else(earlier);
        ClusterPreChecks {
            asked: true,
            trouble: work.trouble.clone(),
            acceptances: self.acceptances(),
            is_kept,
            ..known.unwrap_or_default()
        }
    }

    /// An answer with what is accepted as of now. An agent judges that itself; what it cannot know yet is added. What it has found for another
    /// upgrade does not hold this one, as far as that is accepted here; what is accepted for that one is not accepted here.
    pub(super) fn judged(&self, work: &PreCheckWork, answer: &PreCheckAnswer) -> PreCheckAnswer {
        let mut answer = answer.clone();
        let risks = self.accepted_risks();
        let findings = answer.findings.iter();
        let mut judged: Vec<Finding> = match &answer.source {
            AnswerSource::AtTarget => return answer,
            AnswerSource::ClusterVersion => findings.map(|found| self.by_hub(found, &risks)).collect(),
            AnswerSource::Agent { .. } => findings.map(|found| self.by_agent(work, found, &risks)).collect(),
        };
        recount(&work.answer, &mut answer.source, &answer.findings, &judged);
        let without_image = work.without_image.as_ref();
        if let Some(found) = without_image.filter(|_| self.requests_by_version_alone()) {
            let found = self.by_hub(found, &risks);
            let is_open = !found.acceptance.is_accepted();
            if let AnswerSource::Agent {
                stops, unaccepted, ..
            } = &mut answer.source
            {
                *unaccepted += usize::from(is_open);
                *stops |= is_open;
            }
            judged.push(found);
        }
        judged.sort_by_key(|found| (found.acceptance.is_accepted(), Reverse(found.level)));
        answer.findings = judged.into();
        answer
    }

    /// A finding of the hub's own.
    fn by_hub(&self, found: &Finding, risks: &[&RiskAcceptance]) -> Finding {
        let acceptance = self.acceptance(found, risks);
        Finding {
            acceptance,
            accepted_by: self
                .accepted_by(found, risks)
                .or_else(|| ended_by(found, acceptance, risks)),
            ..found.clone()
        }
    }

    /// A finding of an agent: what is accepted since it was asked is accepted when it says so.
    fn by_agent(&self, work: &PreCheckWork, found: &Finding, risks: &[&RiskAcceptance]) -> Finding {
        let accepted_by = self.accepted_by(found, risks);
        let asked = work.question.as_ref();
        let is_own = !matches!(work.answer, KnownAnswer::OfAnother(_));
        let here = || {
            let here = Some(self.acceptance(found, risks));
            here.filter(|said| !said.is_accepted()).unwrap_or_default()
        };
        // What it has answered before does not know what it is asked with now, and that an acceptance has ended may have been another upgrade's.
        let is_current = work.answer.current().is_some();
        let ends_here = || found.acceptance.why_ended().is_some() || here().why_ended().is_some();
        let said = if is_own && (is_current || !ends_here()) {
            found.acceptance
        } else {
            here()
        };
        let knows =
            || is_current && asked.is_some_and(|asked| asked.accepted == self.digest_of_accepted(risks));
        let is_new = accepted_by.is_some() && !said.is_accepted() && !knows();
        let acceptance = if is_new {
            FindingAcceptance::Unconfirmed
        } else {
            said
        };
        let counts = is_new || said.is_accepted();
        Finding {
            acceptance,
            accepted_by: accepted_by
                .filter(|_| counts)
                .or_else(|| ended_by(found, acceptance, risks)),
            ..found.clone()
        }
    }

    /// Whose acceptance covers a finding now.
    fn accepted_by(&self, finding: &Finding, risks: &[&RiskAcceptance]) -> Option<AcceptedBy> {
        let covers = |risk: &&&RiskAcceptance| {
            risk.is_about_finding(finding) && risk.covers(finding) && self.counts(risk)
        };
        risks.iter().find(covers).map(|risk| who(risk))
    }

    /// Whether the release would be requested by its version alone, were it now: the agent adds the image, where it takes part.
    fn requests_by_version_alone(&self) -> bool {
        self.spec().is_some_and(|spec| {
            let target = spec.goal.target.as_ref();
            let is_by_version = target.is_some_and(|target| target.image.is_none());
            is_by_version && self.method(spec) == UpgradeMethod::ClusterVersion
        })
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

/// What an agent has counted, as it is now: findings that it `said`, and what is accepted of them `now`. Its answer to the present question counts
/// as it is; one from before does not know that an acceptance has ended since, as its agent may be silent; and one for another upgrade counts
/// what is accepted for that one, which is not accepted here, and nothing of what is accepted here.
fn recount(known: &KnownAnswer, source: &mut AnswerSource, said: &[Finding], now: &[Finding]) {
    let AnswerSource::Agent {
        stops, unaccepted, ..
    } = source
    else {
        return;
    };
    match known {
        KnownAnswer::Earlier(_) => {
            let pairs = said.iter().zip(now);
            let is_ended = |(said, now): &(&Finding, &Finding)| {
                said.acceptance.is_accepted() && now.acceptance.why_ended().is_some()
            };
            let ended = pairs.filter(is_ended).count();
            *unaccepted += ended;
            *stops |= ended > 0;
        }
        KnownAnswer::OfAnother(_) => {
            *unaccepted += said.iter().filter(|found| found.acceptance.is_accepted()).count();
            let is_accepted_here = |found: &&Finding| found.acceptance == FindingAcceptance::Unconfirmed;
            *stops = *unaccepted > now.iter().filter(is_accepted_here).count();
        }
        KnownAnswer::Current(_) | KnownAnswer::None => {}
    }
}

/// Whose acceptance of a finding has ended, if one has: that is whom to ask.
fn ended_by(finding: &Finding, comes_to: FindingAcceptance, risks: &[&RiskAcceptance]) -> Option<AcceptedBy> {
    comes_to.why_ended()?;
    let mut about = risks.iter().rev();
    about
        .find(|risk| risk.is_about_finding(finding))
        .map(|risk| who(risk))
}

fn who(risk: &RiskAcceptance) -> AcceptedBy {
    AcceptedBy {
        user: Arc::clone(&risk.accepted_by),
        reason: Arc::clone(&risk.reason),
        until: risk.until,
    }
}
