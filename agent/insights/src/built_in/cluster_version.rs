//! What ClusterVersion says about an update (insights.md, sections 2.2 and 2.5), and the risks of the target.

mod conditions;
mod requests;
mod updates;

use std::collections::BTreeMap;

use drydock_api::conditions::{AnyCondition, ForeignCondition, find};
use drydock_api::fact::Fact;
use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::names::cause;
use drydock_api::openshift::ClusterVersion;
use jiff::Timestamp;

use super::draft::{Draft, object};
use super::{Question, is_minor_update};
use crate::finding::Finding;
use crate::identity;
use conditions::{failing, not_accepted, not_retrieved, not_upgradeable, unavailable};
use requests::{in_progress, no_next_release, of_the_request};
use updates::of_updates;
pub use updates::risk_queries;

const GROUP: &str = "config.openshift.io";
const VERIFY: &str = "kubectl get clusterversion version -o jsonpath='{.status.conditions}'";

/// Whether this is no object, but what makes a finding about ClusterVersion another one.
pub fn is_cause(resource: &ResourceReference) -> bool {
    resource.group.as_deref() == Some(GROUP) && cause::ALL.contains(&&*resource.kind)
}

/// Whether this is what makes a finding one about the image or the architecture that is asked for: of another question it says nothing.
pub(crate) fn is_of_release(resource: &ResourceReference) -> bool {
    resource.group.as_deref() == Some(GROUP) && resource.kind == cause::IMAGE
}

pub(super) fn findings(
    cluster: &ClusterVersion,
    question: Question<'_>,
    evaluated: &BTreeMap<String, Fact<bool>>,
    now: Timestamp,
) -> Vec<Finding> {
    let conditions = cluster
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let drafts = match question {
        Question::Status => [failing(conditions), not_accepted(conditions)]
            .into_iter()
            .flatten()
            .collect(),
        Question::Plan(target) => {
            let because = |draft: Option<Draft>, type_, said: fn(&ForeignCondition) -> &str| {
                let said = find(conditions, type_).map(said);
                Some(draft?.because(cause::CONDITION, said))
            };
            let of_request = of_the_request(cluster, conditions, target);
            let of_target = [
                because(failing(conditions), "Failing", AnyCondition::message),
                in_progress(cluster, conditions),
                no_next_release(cluster, target.version),
                because(not_accepted(conditions), "ReleaseAccepted", AnyCondition::reason),
                not_retrieved(conditions),
                because(unavailable(conditions), "Available", AnyCondition::reason),
                not_upgradeable(conditions).filter(|_| is_minor_update(cluster, target.version)),
            ];
            let mut drafts: Vec<_> = of_request.into_iter().chain(of_target).flatten().collect();
            drafts.extend(of_updates(cluster, target, evaluated));
            drafts
        }
    };
    drafts.into_iter().map(|draft| draft.finding(now)).collect()
}

fn cluster_version() -> Vec<ResourceReference> {
    vec![object(GROUP, "ClusterVersion", "version")]
}

fn draft(uid: &'static str, level: Level, impact_type: ImpactType, summary: String, action: &str) -> Draft {
    Draft {
        uid,
        level,
        impact_type,
        summary,
        description: String::new(),
        action: action.to_owned(),
        verify: VERIFY.to_owned(),
        reference: None,
        resources: cluster_version(),
    }
}

impl Draft {
    /// The same with its cause as a part of what it is: who has accepted it has accepted no other.
    fn because(mut self, kind: &'static str, said: Option<&str>) -> Self {
        let said = said.filter(|said| !said.is_empty());
        self.resources.extend(said.map(|said| {
            let name: String = identity::digest(said).chars().take(cause::DIGITS).collect();
            object(GROUP, kind, &name)
        }));
        self
    }
}

fn said(condition: &ForeignCondition) -> String {
    let parts = [condition.reason(), condition.message()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(": ")
}
