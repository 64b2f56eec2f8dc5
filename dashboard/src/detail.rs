//! One upgrade with all that is to be said of it.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::response::Response;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_objects::findings::{FleetFinding, grouped, may_be_held};
use drydock_objects::{ClusterDetails, parse_spec};
use drydock_rollout::{ClusterName, ClusterPreChecks, ClusterState, Halt, PreChecksMode, UpgradeKey};
use jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;
use serde_json::json;

use crate::access::{Right, Scope, Viewer};
use crate::actions::no_upgrade;
use crate::body::Named;
use crate::ended::{EndedPoint, ended};
use crate::error::{ApiError, or_unread};
use crate::events::{EventView, EventsRead};
use crate::hidden::{hide, hide_in};
use crate::reading::pieces;
use crate::related::{AcceptanceView, HaltPeriod, Present, acceptances, halts};
use crate::rows::Seen;
use crate::server::Dashboard;
use crate::upgrade::UpgradeSummary;

/// How many clusters a wait or a finding names.
const NAMED: usize = 20;

#[derive(Debug, Serialize)]
struct ConditionView {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    since: i64,
}

#[derive(Debug, Serialize)]
struct CanaryView {
    name: String,
    state: &'static str,
    reason: String,
    message: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InFlightView {
    name: String,
    state: &'static str,
    reason: String,
    message: String,
    started_at: Option<i64>,
    /// Nothing where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    normal_until: Option<i64>,
}

#[derive(Debug, Serialize)]
struct FailureView {
    reason: String,
    message: String,
    clusters: Vec<String>,
}

#[derive(Debug, Serialize)]
struct WaitView {
    reason: String,
    message: String,
    clusters: usize,
    names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FindingView {
    name: String,
    /// Which clusters report its name, and at which level, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    reporters: Option<String>,
    level: &'static str,
    informer: String,
    r#type: String,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
    clusters: usize,
    names: Vec<String>,
    /// What it is to its informer.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    accepted: bool,
    /// On how many nobody has accepted it; it may hold fewer.
    unaccepted: usize,
    holds: usize,
    /// On how many of these somebody has accepted it, and their agents have not been asked since.
    unconfirmed: usize,
}

/// One upgrade.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UpgradeDetail {
    #[serde(flatten)]
    summary: UpgradeSummary,
    conditions: Vec<ConditionView>,
    canaries: Vec<CanaryView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    soak_until: Option<i64>,
    /// How many clusters were complete when, up to now.
    ended: Vec<EndedPoint>,
    in_flight: Vec<InFlightView>,
    failures: Vec<FailureView>,
    /// Which clusters have failed, in short.
    failed_set: String,
    waits: Vec<WaitView>,
    /// What follows from findings; nothing if the spec is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pre_checks: Option<&'static str>,
    findings: Vec<FindingView>,
    acceptances: Vec<AcceptanceView>,
    halts: Vec<HaltPeriod>,
    events: Vec<EventView>,
    /// How many seconds ago these were read.
    events_age: f64,
    /// What could not be read, and why; nothing of what may not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
    spec: String,
    /// What of the upgrade is seen by who edits it.
    edition: String,
}

async fn events(
    dashboard: &Dashboard,
    viewer: &Viewer,
    key: &UpgradeKey,
    uid: Option<&str>,
) -> Result<EventsRead, ApiError> {
    let client = viewer.reader(Right::LIST_EVENTS, Some(&key.namespace)).await?;
    dashboard.events().of(client, key, uid).await
}

/// `GET /api/upgrades/NS/NAME`
pub(crate) async fn detail(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Named((namespace, name)): Named<(String, String)>,
) -> Result<Response, ApiError> {
    let key = viewer.key(&namespace, &name)?;
    let place = dashboard.reading().enter(&viewer.user).await?;
    dashboard.is_current()?;
    let seen = dashboard.live().read(|fleet, now| {
        let object = fleet.object(&key)?;
        let (report, clusters) = fleet.look(&key, now)?;
        let mode = parse_spec(&object).ok().map(|spec| spec.pre_checks.mode);
        let findings = findings(&fleet.pre_checks(&key, now), &clusters, mode);
        Some((object, report, clusters, mode, findings))
    });
    let (object, report, mut clusters, mode, findings) =
        seen.flatten().ok_or_else(|| no_upgrade(&namespace, &name))?;
    for details in &mut clusters {
        hide_in(details, &viewer.scope);
    }
    // What is in no watch is read now. Who may not read it sees all else.
    let (acceptances, events) = tokio::join!(
        acceptances(&viewer, &key, &object),
        events(&dashboard, &viewer, &key, object.metadata.uid.as_deref())
    );
    let mut unread = Vec::new();
    let acceptances = or_unread(acceptances, &mut unread);
    let events = or_unread(events, &mut unread);
    let events_age = events.age;
    let hidden = events.newest.iter().map(|event| EventView {
        message: hide(&event.message, &viewer.scope).into_owned(),
        ..event.clone()
    });
    let events: Vec<EventView> = hidden.collect();
    let seen = Seen {
        object: &object,
        report: &report,
    };
    let present = Present::of(report.halt.as_ref(), &object, dashboard.live().clock().now());
    let soak_until = match &report.halt {
        Some(halt @ Halt::CanarySoaking { .. }) => halt.ends().map(Timestamp::as_second),
        _ => None,
    };
    let target = object.spec.cluster_version.as_ref();
    let target = target.and_then(|target| target.version.as_deref());
    let pieces = pieces(&UpgradeDetail {
        summary: UpgradeSummary::of(&key, &seen, &viewer.scope),
        conditions: conditions(&object, &viewer.scope),
        canaries: clusters.iter().filter(|one| one.canary).map(canary).collect(),
        soak_until,
        ended: ended(&clusters, report.rollout_since),
        in_flight: clusters
            .iter()
            .filter(|one| one.state.in_flight())
            .map(|one| in_flight(one, target))
            .collect(),
        failures: failures(&clusters),
        failed_set: drydock_edits::failed_set(&clusters),
        waits: waits(&clusters),
        pre_checks: mode.map(PreChecksMode::as_str),
        findings,
        acceptances,
        halts: halts(&events, &present),
        events,
        events_age: events_age.as_secs_f64(),
        unread,
        spec: manifest(&key, &object)?,
        edition: drydock_edits::edition(&object),
    })?;
    Ok(place.answer(pieces, dashboard.settings().speed))
}

fn conditions(object: &ManagedClustersUpgrade, scope: &Scope) -> Vec<ConditionView> {
    let conditions = object
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let view = |condition: &drydock_api::conditions::Condition| ConditionView {
        r#type: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: hide(&condition.message, scope).into_owned(),
        since: condition.last_transition_time.0.as_second(),
    };
    conditions.map(view).collect()
}

fn canary(details: &ClusterDetails) -> CanaryView {
    CanaryView {
        name: details.name.clone(),
        state: details.state.as_str(),
        reason: details.reason.clone(),
        message: details.message.clone(),
    }
}

fn in_flight(details: &ClusterDetails, target: Option<&str>) -> InFlightView {
    InFlightView {
        name: details.name.clone(),
        state: details.state.as_str(),
        reason: details.reason.clone(),
        message: details.message.clone(),
        started_at: details.started_at.map(Timestamp::as_second),
        share: details
            .known_percent(target)
            .map(|percent| percent as f64 / 100.0),
        normal_until: details.deadline.map(Timestamp::as_second),
    }
}

/// The clusters of a state, together where they say the same; where most do first.
fn by_cause(clusters: &[ClusterDetails], state: ClusterState) -> Vec<((&str, &str), Vec<&str>)> {
    let mut causes: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for details in clusters.iter().filter(|details| details.state == state) {
        let cause = (details.reason.as_str(), details.message.as_str());
        causes.entry(cause).or_default().push(&details.name);
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    causes
}

fn owned<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn failures(clusters: &[ClusterDetails]) -> Vec<FailureView> {
    let causes = by_cause(clusters, ClusterState::Failed).into_iter();
    let view = |((reason, message), names): ((&str, &str), Vec<&str>)| FailureView {
        reason: reason.to_owned(),
        message: message.to_owned(),
        clusters: owned(names),
    };
    causes.map(view).collect()
}

fn waits(clusters: &[ClusterDetails]) -> Vec<WaitView> {
    let causes = by_cause(clusters, ClusterState::NotStarted).into_iter();
    let view = |((reason, message), names): ((&str, &str), Vec<&str>)| WaitView {
        reason: reason.to_owned(),
        message: message.to_owned(),
        clusters: names.len(),
        names: owned(names.into_iter().take(NAMED)),
    };
    causes.map(view).collect()
}

/// What clusters have found, grouped over the fleet. Where they wait for it, it holds those that may still be held.
fn findings(
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
    clusters: &[ClusterDetails],
    mode: Option<PreChecksMode>,
) -> Vec<FindingView> {
    let is_required = mode == Some(PreChecksMode::Require);
    let held: BTreeSet<&str> = clusters
        .iter()
        .filter(|cluster| may_be_held(cluster))
        .map(|cluster| cluster.name.as_str())
        .collect();
    let reporters = drydock_edits::reporters(found);
    let grouped = grouped(found, |name| !is_required || held.contains(name.as_str()));
    grouped.into_iter().map(|one| finding(one, &reporters)).collect()
}

fn finding(found: FleetFinding, reporters: &BTreeMap<&str, String>) -> FindingView {
    FindingView {
        reporters: found
            .uuid
            .as_deref()
            .and_then(|name| reporters.get(name).cloned()),
        name: found.uuid.unwrap_or_default(),
        level: found.level,
        informer: found.informer,
        r#type: found.impact,
        message: found.summary,
        remedy: found.remedy,
        clusters: found.clusters.len(),
        names: found.clusters.into_iter().take(NAMED).collect(),
        accepted: found.unaccepted == 0,
        unaccepted: found.unaccepted,
        holds: found.holds,
        uid: found.uid,
        unconfirmed: found.unconfirmed,
    }
}

/// The upgrade as somebody would write it, to be edited and applied.
fn manifest(key: &UpgradeKey, object: &ManagedClustersUpgrade) -> Result<String, ApiError> {
    let mut metadata = json!({"name": &*key.name, "namespace": &*key.namespace});
    if !object.labels().is_empty() {
        metadata["labels"] = json!(object.labels());
    }
    let document = json!({
        "apiVersion": <ManagedClustersUpgrade as kube::Resource>::api_version(&()),
        "kind": <ManagedClustersUpgrade as kube::Resource>::kind(&()),
        "metadata": metadata,
        "spec": object.spec,
    });
    // A long text in one line is an image: who edits it finds it behind its key.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 1 << 20 };
    let written = serde_saphyr::to_string_with_options(&document, options);
    written.map_err(|error| ApiError::unavailable(format!("writing the upgrade as YAML: {error}")))
}
