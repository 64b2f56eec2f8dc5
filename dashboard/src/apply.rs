//! Texts that people write on the page: what applying one does, as the API server says it, and applying it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use drydock_edits::{Change, Changes, EditError, Manifest, Writing, Written, edition, state};
use drydock_objects::parse_spec;
use drydock_rollout::UpgradeKey;
use http::StatusCode;
use kube::Client;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::access::{Right, Viewer};
use crate::actions::{Answer, Done};
use crate::body::Given;
use crate::error::ApiError;
use crate::reading::beside;
use crate::server::Dashboard;

/// A text, and how it came about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Text {
    yaml: String,
    /// The upgrade that was opened to be edited; none where a text was written or pasted.
    #[serde(default)]
    opened: Option<Opened>,
    /// What others manage is written nevertheless.
    #[serde(default)]
    take_over: bool,
}

/// What somebody edits.
#[derive(Deserialize)]
struct Opened {
    /// `NAMESPACE/NAME`
    upgrade: String,
    edition: String,
}

/// A text that was read, and where it is written by whom.
struct Writer {
    manifest: Manifest,
    client: Client,
    key: UpgradeKey,
    takes_over: bool,
    /// The edition that is edited. A text about another upgrade than was opened is none that edits it.
    opened: Option<String>,
}

impl Writer {
    async fn of(dashboard: &Dashboard, viewer: &Viewer, text: Text) -> Result<Self, ApiError> {
        viewer.allow_writes()?;
        let Text {
            yaml,
            opened,
            take_over,
        } = text;
        let parse = move || Manifest::parse(&yaml);
        let manifest = beside(dashboard.reading(), &viewer.user, parse).await??;
        let namespace = manifest
            .namespace()
            .unwrap_or(viewer.scope.default_namespace())
            .to_owned();
        let client = viewer.writer(Right::PATCH_UPGRADES, &namespace).await?;
        let key = UpgradeKey::new(namespace.as_str(), manifest.name());
        let opened = opened.filter(|opened| opened.upgrade == key.to_string());
        Ok(Self {
            manifest,
            client,
            key,
            takes_over: take_over,
            opened: opened.map(|opened| opened.edition),
        })
    }

    /// `seen`: what was there when somebody was asked.
    fn writing<'a>(&'a self, seen: Option<&'a str>) -> Writing<'a> {
        match &self.opened {
            Some(opened) => Writing::Edit { opened },
            None => Writing::Apply {
                takes_over: self.takes_over,
                seen,
            },
        }
    }
}

/// What applying a text does.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    /// `NAMESPACE/NAME` of what it writes.
    key: String,
    /// It edits what was opened.
    edits: bool,
    /// All that is there, in short; empty if nothing is.
    seen: String,
    /// The version, the image and the channel that are asked for, with a space between; empty if none.
    target: String,
    /// The same, as it was before; none if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_before: Option<String>,
    /// It is paused, and stays so: the text does not say whether it is.
    stays_paused: bool,
    /// Why nothing starts by what it says, if that is no valid spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    invalid: Option<String>,
    /// The upgrades of all operators are approved.
    all_operators: bool,
    /// What differs from what is there; empty if none is.
    changes: Vec<Change>,
    /// How many differences there are beside those: if any, it is not applied.
    more: usize,
}

/// `POST /api/preview`
pub(crate) async fn preview(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Given(text): Given<Text>,
) -> Result<Json<Preview>, ApiError> {
    let writer = Writer::of(&dashboard, &viewer, text).await?;
    let Writer {
        manifest,
        client,
        key,
        ..
    } = &writer;
    let trying = manifest.preview(client, &key.namespace, writer.writing(None));
    let written = in_time(&dashboard, trying).await?;
    let Changes { listed, more } = written.changes();
    Ok(Json(Preview {
        key: key.to_string(),
        edits: writer.opened.is_some(),
        seen: written.before.as_ref().map(state).unwrap_or_default(),
        target: written.target_after(),
        target_before: written.target_before(),
        stays_paused: written.stays_paused() && !manifest.says_whether_paused(),
        invalid: parse_spec(&written.after)
            .err()
            .map(|invalid| invalid.to_string()),
        all_operators: written.approves_all_operators(),
        changes: listed,
        more,
    }))
}

/// By when the API server has answered, by the clock of who waits.
const ANSWERED_WITHIN: Duration = Duration::from_secs(45);

/// What the API server answers, if it does before long.
async fn in_time(
    dashboard: &Dashboard,
    work: impl Future<Output = Result<Written, EditError>>,
) -> Result<Written, ApiError> {
    let within = ANSWERED_WITHIN * dashboard.settings().speed;
    match timeout(within, work).await {
        Ok(written) => Ok(written?),
        Err(_) => Err(ApiError::new(
            StatusCode::GATEWAY_TIMEOUT,
            "the API server has not answered in time",
        )),
    }
}

/// What is applied.
#[derive(Deserialize)]
pub(crate) struct Apply {
    #[serde(flatten)]
    text: Text,
    /// What was there when somebody was asked, empty if nothing was: over anything else nothing is written.
    seen: String,
}

/// `POST /api/apply`
pub(crate) async fn apply(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Given(Apply { text, seen }): Given<Apply>,
) -> Answer {
    let writer = Writer::of(&dashboard, &viewer, text).await?;
    let Writer {
        manifest,
        client,
        key,
        opened,
        ..
    } = &writer;
    let writing = manifest.write(client, &key.namespace, writer.writing(Some(&seen)));
    let written = in_time(&dashboard, writing).await?;
    let is_changed = |Changes { listed, more }| more > 0 || !listed.is_empty();
    let what = if written.before.is_none() {
        "created"
    } else if is_changed(written.changes()) {
        "configured"
    } else {
        "unchanged"
    };
    // Only who edits goes on with what was written.
    let edition = opened.as_ref().map(|_| edition(&written.after));
    Ok(Done::with_edition(format!("{key} {what}"), edition))
}
