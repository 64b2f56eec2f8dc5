//! Texts that people write on the page: what applying one does, as the API server says it, and applying it.

use axum::Json;
use axum::extract::State;
use drydock_edits::{Change, Changes, Manifest, Writing, edition};
use drydock_rollout::UpgradeKey;
use kube::Client;
use serde::{Deserialize, Serialize};

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

    /// `seen`: the edition that was there when somebody was asked.
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
    /// The edition that is there; empty if none is.
    seen: String,
    /// The version, the image and the channel that are asked for, with a space between; empty if none.
    target: String,
    /// The same, as it was before; none if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_before: Option<String>,
    /// The upgrades of all operators are approved.
    all_operators: bool,
    /// What differs from what is there; empty if none is.
    changes: Vec<ChangeView>,
    /// How many differences there are beside those.
    more: usize,
}

#[derive(Serialize)]
struct ChangeView {
    field: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl From<Change> for ChangeView {
    fn from(Change { field, before, after }: Change) -> Self {
        Self { field, before, after }
    }
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
    let written = manifest
        .preview(client, &key.namespace, writer.writing(None))
        .await?;
    let Changes { listed, more } = match &written.before {
        Some(_) => written.changes(),
        None => Changes::default(),
    };
    Ok(Json(Preview {
        key: key.to_string(),
        edits: writer.opened.is_some(),
        seen: written.before.as_ref().map(edition).unwrap_or_default(),
        target: written.target_after(),
        target_before: written.target_before(),
        all_operators: written.approves_all_operators(),
        changes: listed.into_iter().map(ChangeView::from).collect(),
        more,
    }))
}

/// What is applied.
#[derive(Deserialize)]
pub(crate) struct Apply {
    #[serde(flatten)]
    text: Text,
    /// The edition that was there when somebody was asked, empty if none was: of another one nothing is written.
    #[serde(default)]
    seen: Option<String>,
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
    let writing = writer.writing(seen.as_deref());
    let written = manifest.write(client, &key.namespace, writing).await?;
    let what = if written.before.is_none() {
        "created"
    } else {
        "configured"
    };
    // Only who edits goes on with what was written.
    let edition = opened.as_ref().map(|_| edition(&written.after));
    Ok(Done::with_edition(format!("{key} {what}"), edition))
}
