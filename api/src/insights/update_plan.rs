//! UpdatePlan: an update that somebody thinks of (insights.md, section 1.6).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{AcceptanceState, ImpactType, InformerState, Level};

/// An update that is not under way yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "config.openshift.io",
    version = "v1beta1",
    kind = "UpdatePlan",
    plural = "updateplans",
    singular = "updateplan",
    shortname = "uplan",
    status = "UpdatePlanStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpdatePlan is an update that is planned: what would be a problem, and whether it may start.",
    validation = Rule::new("self.metadata.name == 'update-plan-' + self.spec.targetRelease.lowerAscii().replace('+', '.')")
        .message("the name must be update-plan- and the target release, in lower case and with . for +: there is one plan for each target"),
    printcolumn = r#"{"name": "Target", "type": "string", "jsonPath": ".spec.targetRelease"}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}"#,
    printcolumn = r#"{"name": "Verdict", "type": "string", "jsonPath": ".status.verdict"}"#,
    printcolumn = r#"{"name": "Unaccepted", "type": "integer", "jsonPath": ".status.counts.unaccepted"}"#,
    printcolumn = r#"{"name": "Collected", "type": "date", "jsonPath": ".status.collectedAt"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePlanSpec {
    /// The version that the update would lead to.
    #[schemars(length(min = 1, max = 200))]
    #[x_kube(
        validation = Rule::new("self == oldSelf").message("targetRelease cannot be changed: create another plan"),
        validation = Rule::new(r"self.matches('^(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')")
            .message("targetRelease must be a version, for example 4.14.4"),
        validation = Rule::new("!self.lowerAscii().replace('+', '.').endsWith('.drydock')")
            .message("targetRelease must not end with +drydock or .drydock: the agent's own informers are named so")
    )]
    pub target_release: String,
    /// The image of the release, where the version alone does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub target_image: Option<String>,
    /// `Multi` if the update is to change the cluster to the release for several architectures. It counts for nothing where the hub asks, which
    /// changes no architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Multi", ""]))]
    pub target_architecture: Option<String>,
    /// Findings that are accepted for this target, beside those that UpdatePlanInsights name: the hub writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub accepted_risks: Vec<PlanAcceptedRisk>,
    /// For whom the hub has it asked: what is accepted is accepted for this upgrade alone, and so is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub asked_for: Option<String>,
    /// A later moment than before has everything asked anew.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub refresh_requested_at: Option<Time>,
    /// The same as `refreshRequestedAt`, by who is on the cluster while the hub has it asked: what the hub has written stays as it is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub local_refresh_requested_at: Option<Time>,
}

/// The name of the plan of a target: there is one for each, since the API server allows no other name (insights.md, section 1.6).
pub fn plan_name(target: &str) -> String {
    format!("update-plan-{}", target.to_lowercase().replace('+', "."))
}

impl UpdatePlanSpec {
    /// Who has it asked.
    pub fn asker(&self) -> PlanAsker {
        match given(self.asked_for.as_deref()) {
            Some(_) => PlanAsker::Hub,
            None => PlanAsker::Cluster,
        }
    }

    /// The upgrade for which the hub has it asked, if it has.
    pub fn upgrade(&self) -> Option<&str> {
        given(self.asked_for.as_deref())?.split_whitespace().next()
    }

    /// When somebody last had everything asked anew.
    pub fn last_refresh(&self) -> Option<Timestamp> {
        let own = self.refresh_requested_at.as_ref();
        let local = self.local_refresh_requested_at.as_ref();
        own.max(local).map(|time| time.0)
    }

    /// The architecture that is asked about, if the update is to change it: the hub's changes none, whatever somebody else has left here.
    pub fn architecture(&self) -> Option<&str> {
        given(self.target_architecture.as_deref()).filter(|_| self.asker() == PlanAsker::Cluster)
    }
}

/// Who has the informers asked about an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAsker {
    /// Somebody on the cluster, or an engine of its agent.
    Cluster,
    /// The hub, which writes the whole question.
    Hub,
}

impl PlanAsker {
    /// What is applied of a plan that this one has asked, to have everything asked anew. Of the hub's question nothing is changed: the hub would
    /// change it back.
    pub fn refresh(self, target: &str, at: Timestamp) -> Value {
        let field = match self {
            Self::Cluster => "refreshRequestedAt",
            Self::Hub => "localRefreshRequestedAt",
        };
        json!({
            "apiVersion": UpdatePlan::api_version(&()), "kind": UpdatePlan::kind(&()),
            "metadata": {"name": plan_name(target)},
            "spec": {"targetRelease": target, field: at.to_string()},
        })
    }
}

/// An update as it is going to be requested: what its UpdatePlan has to be about. Empty texts are absent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedUpdate {
    /// The version.
    pub version: String,
    /// The image, if one is requested beside the version.
    pub image: Option<String>,
    /// The architecture, if one is requested.
    pub architecture: Option<String>,
    /// The image that is offered under the version, if that is known: who asks for it asks for no other release than the version does.
    pub offered: Option<String>,
    /// The upgrade of the hub on whose behalf it is requested, if it is: what the hub has accepted counts for that one alone.
    pub of_upgrade: Option<String>,
}

impl PlannedUpdate {
    /// To the release that is offered under a version.
    pub fn to_version(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            ..Self::default()
        }
    }

    /// Whether it is the release that is offered under its version, and no other architecture.
    pub fn is_of_version(&self) -> bool {
        self.other_image(self.image.as_deref()).is_none() && given(self.architecture.as_deref()).is_none()
    }

    /// An image, unless it is the one that is offered.
    pub(crate) fn other_image<'a>(&self, image: Option<&'a str>) -> Option<&'a str> {
        let offered = given(self.offered.as_deref());
        given(image).filter(|image| offered.is_none_or(|offered| !crate::is_same_image(offered, image)))
    }

    /// Whether a plan asks about this very release: another image or architecture under the same version is another one.
    pub fn is_asked_by(&self, plan: &UpdatePlanSpec) -> bool {
        let own = self.other_image(self.image.as_deref());
        let is_same_image = match (own, self.other_image(plan.target_image.as_deref())) {
            (Some(own), Some(asked)) => crate::is_same_image(own, asked),
            (own, asked) => own == asked,
        };
        let architecture = given(self.architecture.as_deref());
        is_same_image && architecture == plan.architecture()
    }

    /// What is applied of its UpdatePlan to have the informers asked: it is created, or refreshed. A plan that the hub has asked is refreshed as
    /// it is: it is about this very update.
    pub fn plan_request(&self, asker: PlanAsker, at: Timestamp) -> Value {
        let mut plan = asker.refresh(&self.version, at);
        if asker == PlanAsker::Cluster {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            plan["spec"]["targetImage"] = text(&self.image).into();
            plan["spec"]["targetArchitecture"] = text(&self.architecture).into();
        }
        plan
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// What an UpdatePlan says of the start of its update (insights.md, section 1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdatePlanState {
    /// There is none, or what it says is of long ago: the informers have to be asked, in a plan of this one.
    Outdated(PlanAsker),
    /// The informers are being asked.
    Collecting,
    /// There are findings that nobody has accepted, or informers that do not answer; in words.
    Held(String),
    /// For this upgrade of the hub, the informers are asked about another image or architecture of the version.
    AskedOtherwise(String),
    /// The update may start.
    Startable,
}

impl UpdatePlanState {
    /// Why the update to a version may not start, if so.
    pub fn obstacle(&self, version: &str) -> Option<String> {
        match self {
            Self::Startable => None,
            Self::Held(why) => Some(format!("the update to {version} may not start: {why}")),
            Self::AskedOtherwise(upgrade) => Some(format!(
                "the update to {version} may not start: the hub asks about another image or architecture of this version at present, for \
                 its upgrade {upgrade}"
            )),
            Self::Collecting => Some(format!("informers are being asked about the update to {version}")),
            Self::Outdated(_) => Some(format!("informers are to be asked about the update to {version}")),
        }
    }
}

/// A finding that is accepted: by its uuid, or by informer and uid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.informer) == has(self.uid)").message("informer and uid are given together"),
    validation = Rule::new("has(self.uuid) != has(self.informer)")
        .message("either uuid, or informer and uid, say what is accepted")
)]
pub struct PlanAcceptedRisk {
    /// The finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 32, max = 32), regex(pattern = "^[0-9a-f]{32}$"))]
    pub uuid: Option<String>,
    /// Who reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub informer: Option<String>,
    /// What it is to its informer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub uid: Option<String>,
    /// By which name `status.endedRisks` has it: any other entry has another. A digest of the entry if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), regex(pattern = "^[0-9a-f]{1,16}$"))]
    pub id: Option<String>,
    /// It has ended on this cluster, and accepts nothing: what it covered has become worse, whatever it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<bool>,
    /// The level up to which it is accepted. A finding that is worse is not.
    pub level: Level,
    /// Who accepts it.
    #[schemars(length(min = 1, max = 253))]
    pub accepted_by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
    /// When it was accepted: one that ended is another with another time.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub accepted_at: Option<Time>,
    /// Until when; for as long as it stands here if not given.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub until: Option<Time>,
}

/// An entry of `spec.acceptedRisks`, as far as it says what may end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeenRisk {
    /// Its id.
    #[schemars(length(max = 16))]
    pub id: String,
    /// The finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub uuid: Option<String>,
    /// Who reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub informer: Option<String>,
    /// What it is to its informer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub uid: Option<String>,
    /// The level up to which it accepts.
    pub level: Level,
}

/// What has been found about a planned update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePlanStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The version that the cluster ran when the informers were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub base_version: Option<String>,
    /// The other release that was requested then and had not begun: its version, or the digest of its image where that is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub base_request: Option<String>,
    /// The update service has offered the target since the plan was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PlanPhase>,
    /// When asking began.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub collecting_since: Option<Time>,
    /// When every informer had first answered since `collectingSince`, or was given up; it stays while one of them is asked anew.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub collected_at: Option<Time>,
    /// How each informer answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub informers: Vec<PlanInformer>,
    /// How many findings there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<InsightCounts>,
    /// Whether the update should be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The last verdict: while informers are asked again, that of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_verdict: Option<Verdict>,
    /// Which of `spec.acceptedRisks` have ended because what they covered has become worse: their ids, with spaces between. They accept
    /// nothing any more, also when it is better again, until they are changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1100))]
    pub ended_risks: Option<String>,
    /// The ids of the last of them that are not in `spec.acceptedRisks` any more, with spaces between: who puts back what was taken off accepts
    /// nothing with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2200))]
    pub ended_before: Option<String>,
    /// The entries of `spec.acceptedRisks`, and the last of those that were there before: what they cover may become worse meanwhile, which ends
    /// them, too. Upgrades that plan the same release take turns at the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub seen_risks: Vec<SeenRisk>,
    /// The ids of the entries in `spec.acceptedInsights` of its UpdatePlanInsights that have ended in the same way, those first that ended
    /// last, with spaces between; also of those that are not there any more: who restores them as they were accepts nothing with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 17408))]
    pub ended_insights: Option<String>,
    /// Why it is not Go: the findings that nobody has accepted, the worst first, then those that somebody has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub reasons: Vec<VerdictReason>,
    /// Populated, Accepted, Startable.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::conditions::deserialize"
    )]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlanPhase {
    /// Informers are being asked.
    Collecting,
    /// All of them have answered.
    Ready,
    /// The cluster or the plan has changed since, or it was long ago.
    Stale,
    /// At least one informer has no answer.
    Failed,
}

/// How an informer answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanInformer {
    /// The informer.
    #[schemars(length(max = 63))]
    pub name: String,
    /// How it answered.
    pub state: InformerState,
    /// When it was asked last.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_attempt: Option<Time>,
}

/// How many findings a plan has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InsightCounts {
    /// All of them, those that need no acceptance included.
    pub total: i64,
    /// Those that are accepted.
    pub accepted: i64,
    /// Those that have to be accepted, and are not.
    pub unaccepted: i64,
    /// Those that have to be accepted and are not, by level.
    pub unaccepted_by_level: LevelCounts,
}

/// Numbers of findings by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LevelCounts {
    /// Critical.
    pub critical: i64,
    /// Error.
    pub error: i64,
    /// Unknown.
    pub unknown: i64,
    /// Warning.
    pub warning: i64,
}

/// Whether an update should be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// Nothing speaks against it.
    Go,
    /// Nothing holds it, but there are findings that somebody has accepted, or informers that were ignored.
    Caution,
    /// There are findings that nobody has accepted, or not every informer has answered yet.
    Stop,
}

impl Verdict {
    /// The verdict's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Go => "Go",
            Self::Caution => "Caution",
            Self::Stop => "Stop",
        }
    }
}

/// A finding that speaks against an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictReason {
    /// Who reports it.
    #[schemars(length(max = 63))]
    pub informer: String,
    /// The finding; absent where the informer has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub uuid: Option<String>,
    /// The finding, to its informer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub uid: Option<String>,
    /// How bad it is.
    pub level: Level,
    /// The headline.
    #[schemars(length(max = 256))]
    pub summary: String,
    /// What it means.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub impact_type: Option<ImpactType>,
    /// What to do about it. Only the agent's own informers say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub action: Option<String>,
    /// What its acceptance comes to; absent if nobody has accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceState>,
}
