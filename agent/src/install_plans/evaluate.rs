//! What the objects of the lifecycle manager say about the wanted operators.

use drydock_api::olm::{ClusterServiceVersion, InstallPlan, Subscription};
use kube::ResourceExt;

use super::ApprovalSettings;

/// The objects of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Operators {
    pub subscriptions: Vec<Subscription>,
    pub plans: Vec<InstallPlan>,
    pub versions: Vec<ClusterServiceVersion>,
}

/// What is to be done, and what is waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluation {
    /// Plans to approve.
    pub approve: Vec<InstallPlan>,
    /// What is on its way, for people.
    pub waiting: Vec<String>,
    /// What does not recover by itself, for people.
    pub failed: Vec<String>,
}

impl Evaluation {
    /// Whether nothing is left to do.
    pub fn is_settled(&self) -> bool {
        self.approve.is_empty() && self.waiting.is_empty() && self.failed.is_empty()
    }
}

/// Judges all wanted Subscriptions. One that is wanted and not there has nothing to upgrade: fleets differ.
pub(super) fn evaluate(settings: &ApprovalSettings, operators: &Operators) -> Evaluation {
    let mut evaluation = Evaluation::default();
    for subscription in &operators.subscriptions {
        let namespace = subscription.namespace().unwrap_or_default();
        if settings.wants(&subscription.name_any(), &namespace) {
            operators.evaluate_one(settings, subscription, &mut evaluation);
        }
    }
    evaluation
}

impl Operators {
    fn evaluate_one(
        &self,
        settings: &ApprovalSettings,
        subscription: &Subscription,
        evaluation: &mut Evaluation,
    ) {
        let namespace = subscription.namespace().unwrap_or_default();
        let subject = format!("{namespace}/{}", subscription.name_any());
        let Some(status) = &subscription.status else {
            evaluation.waiting.push(format!("{subject} has no status yet"));
            return;
        };
        let current = status.current_csv.as_deref().unwrap_or_default();
        if current.is_empty() {
            evaluation.waiting.push(format!("{subject} is not resolved yet"));
            return;
        }
        let plan = status.install_plan_ref.as_ref().and_then(|reference| {
            let namespace_of_plan = reference.namespace.as_deref().unwrap_or(&namespace);
            self.plans.iter().find(|plan| {
                plan.name_any() == reference.name && plan.namespace().as_deref() == Some(namespace_of_plan)
            })
        });
        // A plan that brought an earlier version says nothing any more.
        let plan = plan.filter(|plan| {
            let names = &plan.spec.cluster_service_version_names;
            names.iter().any(|name| name == current)
        });
        if let Some(plan) = plan {
            match plan_phase(plan) {
                "Complete" => {}
                "Failed" => {
                    evaluation
                        .failed
                        .push(format!("{subject}: {}", why_plan_failed(plan)));
                    return;
                }
                _ if plan.spec.approved || plan.spec.approval != "Manual" => {
                    evaluation.waiting.push(format!("{subject} installs {current}"));
                    return;
                }
                _ => return self.judge_manual(settings, &subject, plan, evaluation),
            }
        }
        self.judge_version(&subject, &namespace, status.state.as_deref(), current, evaluation);
    }

    /// An InstallPlan is for its whole namespace: approving it upgrades whatever else it names.
    fn judge_manual(
        &self,
        settings: &ApprovalSettings,
        subject: &str,
        plan: &InstallPlan,
        evaluation: &mut Evaluation,
    ) {
        let namespace = plan.namespace().unwrap_or_default();
        let unwanted = self.subscriptions.iter().find(|other| {
            let current = other
                .status
                .as_ref()
                .and_then(|status| status.current_csv.as_deref());
            let names = &plan.spec.cluster_service_version_names;
            other.namespace().as_deref() == Some(&namespace)
                && current.is_some_and(|current| names.iter().any(|name| name == current))
                && !settings.wants(&other.name_any(), &namespace)
        });
        if let Some(unwanted) = unwanted {
            evaluation.failed.push(format!(
                "{subject}: InstallPlan {namespace}/{} also upgrades {namespace}/{}, which is not to be upgraded: include \
                 it, or move it to another namespace",
                plan.name_any(),
                unwanted.name_any()
            ));
            return;
        }
        evaluation.waiting.push(format!(
            "{subject}: InstallPlan {namespace}/{} is not carried out yet",
            plan.name_any()
        ));
        if !evaluation.approve.iter().any(|known| known.uid() == plan.uid()) {
            evaluation.approve.push(plan.clone());
        }
    }

    fn judge_version(
        &self,
        subject: &str,
        namespace: &str,
        state: Option<&str>,
        current: &str,
        evaluation: &mut Evaluation,
    ) {
        let version = self.versions.iter().find(|version| {
            version.name_any() == current && version.namespace().as_deref() == Some(namespace)
        });
        let status = version.and_then(|version| version.status.as_ref());
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        match status.and_then(|status| status.phase.as_deref()) {
            Some("Succeeded") if state == Some("AtLatestKnown") => {}
            Some("Succeeded") => evaluation
                .waiting
                .push(format!("{subject} has an upgrade beyond {current}")),
            Some("Failed") => evaluation.failed.push(format!(
                "{subject}: {current} has failed: {}",
                status.map(|status| text(&status.message)).unwrap_or_default()
            )),
            Some(phase) => evaluation
                .waiting
                .push(format!("{subject}: {current} is {phase}")),
            None => evaluation
                .waiting
                .push(format!("{subject}: {current} is not there yet")),
        }
    }
}

fn plan_phase(plan: &InstallPlan) -> &str {
    plan.status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

fn why_plan_failed(plan: &InstallPlan) -> String {
    let conditions = plan.status.iter().flat_map(|status| status.conditions.iter());
    let message = conditions
        .filter(|condition| condition.status == "False")
        .find_map(|condition| condition.message.clone())
        .unwrap_or_else(|| "it does not say why".to_owned());
    format!("InstallPlan {} has failed: {message}", plan.name_any())
}
