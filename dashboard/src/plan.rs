//! What is to be expected of an upgrade. The page does not forecast itself: who starts the server gives it a [`Planner`].

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use drydock_api::mcu::{ManagedClustersUpgrade, PlacementReference};
use drydock_api::selector::{is_dns_label, is_dns_name};
use drydock_rollout::UpgradeKey;
use futures::future::BoxFuture;
use http::StatusCode;
use kube::{Client, Resource};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Scope, Viewer};
use crate::body::{Given, Named};
use crate::error::ApiError;
use crate::hidden::hide;
use crate::reading::beside;
use crate::server::Dashboard;

/// Why nothing is forecast, in words for a person.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// Runs that stop for one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StopView {
    /// The cause, in CamelCase.
    pub cause: String,
    /// The share of all runs.
    pub share: f64,
}

/// Time in which the next cluster waits for one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitView {
    /// What it waits for.
    pub what: String,
    /// The share of the time.
    pub share: f64,
}

/// How many clusters have ended by a moment, of those runs that end; where none ends, of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CurvePoint {
    /// The moment, in seconds since 1970.
    pub at: i64,
    /// So many or more in nine of ten runs.
    pub p10: usize,
    /// So many or more in half of the runs.
    pub p50: usize,
    /// So many or more in one of ten runs.
    pub p90: usize,
}

/// Clusters that do not start for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedView {
    /// Why, in CamelCase.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// Their names.
    pub clusters: Vec<String>,
}

/// What is to be expected of an upgrade.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedUpgrade {
    /// `NAMESPACE/NAME`
    pub key: String,
    /// Which upgrade, and to what.
    pub title: String,
    /// When it was forecast, in seconds since 1970.
    pub computed_at: i64,
    /// How many clusters take part in it now.
    pub clusters: usize,
    /// What `kubectl drydock plan` prints.
    pub text: String,
    /// By when one in ten runs has ended, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p10: Option<i64>,
    /// By when half of the runs have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<i64>,
    /// By when nine in ten runs have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<i64>,
    /// Whether it completes in nine of ten runs.
    pub confident: bool,
    /// Why runs stop, the most frequent cause first.
    pub stops: Vec<StopView>,
    /// What the next cluster waits for.
    pub waits_for: Vec<WaitView>,
    /// Clusters that fail: in half of the runs no more.
    pub failures: usize,
    /// The most clusters in flight at once.
    pub in_flight_at_most: usize,
    /// Ended clusters over time.
    pub curve: Vec<CurvePoint>,
    /// Clusters that do not start before something else happens.
    pub blocked: Vec<BlockedView>,
    /// From which other upgrades clusters are taken, a sentence each.
    pub shared: Vec<String>,
}

/// Texts that are planned.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PlanTexts {
    /// The first.
    pub yaml: String,
    /// Another one, that it is compared with.
    pub compare: Option<String>,
    /// The upgrade that was opened to be edited, `NAMESPACE/NAME`: of it nothing stays that a text leaves out.
    pub opened: Option<String>,
}

/// Who forecasts upgrades.
pub trait Planner: Send + Sync {
    /// What is to be expected of an upgrade of the hub, which `client` reads. Commands name namespaces other than `own`, which the reader's
    /// own mean; empty if that is not known.
    ///
    /// # Errors
    /// If the hub cannot be read, or there is nothing to forecast.
    fn forecast(
        &self,
        client: Client,
        key: &UpgradeKey,
        own: &str,
    ) -> BoxFuture<'_, Result<PlannedUpgrade, PlanError>>;

    /// What is to be expected of an upgrade as applying a text on the page would make it, and of one as another text would: of each as if the
    /// other text were not there. What names no namespace is of this one. Commands name namespaces other than `own`. Nothing is written.
    ///
    /// # Errors
    /// If the hub cannot be read, the API server would refuse one, or there is nothing to forecast.
    fn plan(
        &self,
        client: Client,
        namespace: &str,
        own: &str,
        texts: PlanTexts,
    ) -> BoxFuture<'_, Result<Vec<PlannedUpgrade>, PlanError>>;
}

impl PlanError {
    /// Without the names of upgrades that are not shown.
    fn hidden(&self, scope: &Scope) -> ApiError {
        ApiError::invalid(hide(&self.0, scope))
    }
}

/// What of a text that is planned decides who may plan it.
pub(crate) struct PlanSubject {
    /// The namespace of the upgrade.
    pub namespace: String,
    /// The namespaces of the Placements that select its clusters.
    pub placements: BTreeSet<String>,
}

/// What is looked at of an upgrade.
#[derive(Deserialize)]
struct Looked {
    #[serde(default)]
    metadata: LookedMetadata,
    #[serde(default)]
    spec: LookedSpec,
}

#[derive(Default, Deserialize)]
struct LookedMetadata {
    name: Option<String>,
    namespace: Option<String>,
}

#[derive(Default, Deserialize)]
struct LookedSpec {
    placement: Option<Vec<PlacementReference>>,
}

impl PlanSubject {
    /// The upgrades of a text, beside which their Placements may stand; what names no namespace is of this one.
    ///
    /// # Errors
    /// If it is no YAML, or what it names cannot be a part of an address.
    fn all(yaml: &str, namespace: &str) -> Result<Vec<Self>, ApiError> {
        let documents = drydock_edits::documents(yaml);
        let documents = documents.map_err(|error| ApiError::invalid(format!("it is not YAML: {error}")))?;
        let kind = ManagedClustersUpgrade::kind(&());
        let upgrades = documents.iter().filter(|document| document["kind"] == *kind);
        upgrades.map(|document| Self::of(document, namespace)).collect()
    }

    /// As who forecasts reads it: what is looked at here is what is planned. What is wrong with the rest the API server says.
    fn of(document: &Value, namespace: &str) -> Result<Self, ApiError> {
        // A list of values reads as an object, in the order in which somebody has declared its fields.
        if document["metadata"].is_array() || document["spec"].is_array() {
            return Err(ApiError::invalid(
                "reading the ManagedClustersUpgrade: its metadata or its spec is a list",
            ));
        }
        let upgrade = Looked::deserialize(document)
            .map_err(|error| ApiError::invalid(format!("reading the ManagedClustersUpgrade: {error}")))?;
        let (name, own) = (&upgrade.metadata.name, upgrade.metadata.namespace);
        if !own.as_deref().is_none_or(is_dns_label) {
            return Err(ApiError::invalid(
                "the metadata.namespace is no name of a namespace",
            ));
        }
        if !name.as_deref().is_none_or(is_dns_name) {
            return Err(ApiError::invalid("the metadata.name is no name of an object"));
        }
        let placements = upgrade.spec.placement.into_iter().flatten();
        Ok(Self {
            namespace: own.unwrap_or_else(|| namespace.to_owned()),
            placements: placements.map(|placement| placement.namespace).collect(),
        })
    }
}

impl Dashboard {
    fn planner(&self) -> Result<Arc<dyn Planner>, ApiError> {
        let planner = self.settings().planner.clone();
        planner.ok_or_else(|| ApiError::new(StatusCode::NOT_IMPLEMENTED, "this server does not forecast"))
    }
}

/// `GET /api/upgrades/NS/NAME/forecast`
pub(crate) async fn forecast(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Named((namespace, name)): Named<(String, String)>,
) -> Result<Json<PlannedUpgrade>, ApiError> {
    let key = viewer.key(&namespace, &name)?;
    let subject = PlanSubject {
        namespace,
        // What the upgrade makes of its Placements stands in its status already.
        placements: BTreeSet::new(),
    };
    let client = viewer.planner(&[subject]).await?;
    let planner = dashboard.planner()?;
    let own = viewer.scope.namespace_of_commands().to_owned();
    let work = async move { planner.forecast(client, &key, &own).await };
    let planned = dashboard.planning().run(&viewer.user, work).await?;
    let mut planned = planned.map_err(|error| error.hidden(&viewer.scope))?;
    hide_in(&mut planned, &viewer.scope);
    Ok(Json(planned))
}

/// A forecast of one upgrade may name others.
fn hide_in(planned: &mut PlannedUpgrade, scope: &Scope) {
    let messages = planned.blocked.iter_mut().map(|group| &mut group.message);
    for text in messages.chain(&mut planned.shared).chain([&mut planned.text]) {
        *text = hide(text, scope).into_owned();
    }
}

/// What is to be expected of each.
#[derive(Serialize)]
pub(crate) struct Plans {
    plans: Vec<PlannedUpgrade>,
}

/// `POST /api/plan`
pub(crate) async fn plan(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Given(texts): Given<PlanTexts>,
) -> Result<Json<Plans>, ApiError> {
    if viewer.scope.shows_nothing() {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "you may see no upgrades and no clusters: there is nothing to forecast",
        ));
    }
    let namespace = viewer.scope.default_namespace();
    let (read_texts, of_viewer) = (
        [Some(texts.yaml.clone()), texts.compare.clone()],
        namespace.to_owned(),
    );
    let read = move || {
        let texts = read_texts.iter().flatten();
        texts
            .map(|text| PlanSubject::all(text, &of_viewer))
            .collect::<Result<Vec<_>, _>>()
    };
    let subjects = beside(dashboard.reading(), &viewer.user, read).await??;
    let subjects: Vec<PlanSubject> = subjects.into_iter().flatten().collect();
    let client = viewer.planner(&subjects).await?;
    let planner = dashboard.planner()?;
    let of_viewer = namespace.to_owned();
    let own = viewer.scope.namespace_of_commands().to_owned();
    let work = async move { planner.plan(client, &of_viewer, &own, texts).await };
    let plans = dashboard.planning().run(&viewer.user, work).await?;
    let mut plans = plans.map_err(|error| error.hidden(&viewer.scope))?;
    for planned in &mut plans {
        hide_in(planned, &viewer.scope);
    }
    Ok(Json(Plans { plans }))
}
