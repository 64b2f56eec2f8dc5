//! What a cluster is asked: about which target, for which upgrade, and with which accepted risks.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::PreCheckStep;
use super::accepted::those_that_count;
use crate::assess::ClusterView;
use crate::observed::digest_of_accepted;
use crate::{PreCheckAsk, PreCheckQuestion, RiskAcceptance, Target, UpgradeKey};

impl ClusterView<'_> {
    /// The question that is to be asked, as of now.
    pub(super) fn question(&self, target: &Target) -> PreCheckQuestion {
        let accepted = self.digest_of_accepted(&self.accepted_risks());
        PreCheckQuestion {
            asked_for: asked_for(&self.context.upgrade.key, &accepted),
            target: target.to_string().into(),
            // An agent that is away for a while is installed, waited for, and keeps its plan. A release without a version has none.
            asks_agent: target.version.is_some() && (self.row.agent || self.row.agent_installed),
            accepted,
            image: target.image.as_deref().unwrap_or_default().into(),
            form: PreCheckQuestion::FORM,
            yields: false,
            asked_at: self.asked_now(),
        }
    }

    /// A digest of what is accepted here as of now.
    pub(super) fn digest_of_accepted(&self, risks: &[&RiskAcceptance]) -> Arc<str> {
        digest_of_accepted(risks, self.name, &|risk| self.lasts(risk))
    }

    /// When it is asked, as whole seconds: after whatever was asked before, which may have been in this second, and not before the cluster
    /// joined, by whatever clock. A question of the future is of a clock that was set back since.
    fn asked_now(&self) -> Timestamp {
        let now = self.present.now();
        let soon = now.saturating_add(SignedDuration::from_mins(1)).unwrap_or(now);
        let before = self.own_pre_checks().and_then(|work| work.question.as_ref());
        let after = before.and_then(|before| before.asked_at.checked_add(SignedDuration::from_secs(1)).ok());
        let joined = self.row.facts.as_ref().and_then(|facts| facts.created);
        let after = after.filter(|after| *after <= soon);
        let at = after.into_iter().chain(joined).fold(now, Timestamp::max);
        Timestamp::from_second(at.as_second()).unwrap_or(at)
    }

    /// The risks that are accepted here. Those that have ended are among them, the last: the agent says so.
    pub(super) fn accepted_risks(&self) -> Vec<&RiskAcceptance> {
        let (risks, _) = self.all_accepted_risks();
        those_that_count(risks, |risk| self.counts(risk))
    }

    /// How many acceptances are about the cluster.
    pub(super) fn acceptances(&self) -> usize {
        let (risks, left_out) = self.all_accepted_risks();
        left_out + risks.len()
    }

    /// How many risks that are accepted here do not count, because they are too many.
    pub(super) fn accepted_risks_left_out(&self) -> usize {
        self.acceptances().saturating_sub(PreCheckAsk::MOST_ACCEPTED)
    }

    fn all_accepted_risks(&self) -> (Vec<&RiskAcceptance>, usize) {
        self.context.accepted.about(self.name, self.row.facts.as_deref())
    }

    /// What the write of a question is: a new one, or the one that was asked, while another upgrade has the agent asked.
    pub(crate) fn pre_check_ask(&self, step: &PreCheckStep) -> Option<PreCheckAsk> {
        let target = self.spec()?.goal.target.as_ref()?;
        let question = match step {
            PreCheckStep::Ask => self.question(target),
            PreCheckStep::Yield => self.own_pre_checks()?.question.as_ref()?.yielding(),
            PreCheckStep::Delete(_) => return None,
        };
        Some(PreCheckAsk {
            cluster: self.name.clone(),
            question,
            target: target.clone(),
            accepted: self
                .accepted_risks()
                .into_iter()
                .map(|risk| self.as_sent(risk))
                .collect(),
        })
    }

    /// An accepted risk as the agent gets it. One whose time is over by the hub's clock has long been over, for an agent's may be behind.
    fn as_sent(&self, risk: &RiskAcceptance) -> RiskAcceptance {
        let mut sent = risk.clone();
        if !self.lasts(risk) {
            sent.until = Some(Timestamp::UNIX_EPOCH);
        }
        sent
    }

    /// Whether it covers anything here: its time is not over, and nothing that it covered has become worse.
    pub(super) fn counts(&self, risk: &RiskAcceptance) -> bool {
        self.lasts(risk) && !risk.ended.has(self.name)
    }

    pub(super) fn lasts(&self, risk: &RiskAcceptance) -> bool {
        risk.until.is_none_or(|until| !self.present.has_reached(until))
    }
}

/// For which upgrade a cluster is asked, and with which acceptances.
fn asked_for(upgrade: &UpgradeKey, accepted: &str) -> Arc<str> {
    if accepted.is_empty() {
        return upgrade.to_string().into();
    }
    format!("{upgrade} {accepted}").into()
}
