//! Rows as columns, and a whole fleet as bytes.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use drydock_rollout::{ClusterName, ClusterState};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use serde::Serialize;

use crate::reading::{PIECE, Pieces};
use crate::rows::{Row, View};
use crate::upgrade::UpgradeSummary;

/// Rows as columns of equal length. What many rows say stands in `words` once, and they say where.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Columns<'a> {
    words: Vec<&'a str>,
    name: Vec<&'a str>,
    version: Vec<u32>,
    state: Vec<u32>,
    reason: Vec<u32>,
    message: Vec<u32>,
    upgrade: Vec<u32>,
    canary: Vec<u8>,
    available: Vec<u8>,
    since: Vec<i64>,
    normal_until: Vec<i64>,
    window_opens: Vec<i64>,
    finding: Vec<u32>,
    labels: Vec<u32>,
    todo: Vec<u32>,
}

impl<'a> Columns<'a> {
    /// These rows, in the order in which they come.
    pub fn of(rows: impl IntoIterator<Item = (&'a ClusterName, &'a Arc<Row>)>) -> Self {
        let mut columns = Self::default();
        let mut known: HashMap<&'a str, u32> = HashMap::new();
        columns.word("", &mut known);
        for (name, row) in rows {
            let Row {
                version,
                state,
                reason,
                message,
                upgrade,
                canary,
                available,
                since,
                deadline,
                opens,
                finding,
                labels,
                todo,
            } = &**row;
            columns.name.push(name.as_str());
            let mut word = |text: &'a str| columns.word(text, &mut known);
            let words = [version, reason, message, upgrade, labels, todo].map(|text| word(text));
            let state = word(state.map_or("", ClusterState::as_str));
            let finding = word(finding.map_or("", |level| level.as_str()));
            let [version, reason, message, upgrade, labels, todo] = words;
            columns.version.push(version);
            columns.state.push(state);
            columns.reason.push(reason);
            columns.message.push(message);
            columns.upgrade.push(upgrade);
            columns.canary.push(u8::from(*canary));
            columns.available.push(u8::from(*available));
            columns.since.push(seconds(*since));
            columns.normal_until.push(seconds(*deadline));
            columns.window_opens.push(seconds(*opens));
            columns.finding.push(finding);
            columns.labels.push(labels);
            columns.todo.push(todo);
        }
        columns
    }

    fn word(&mut self, text: &'a str, known: &mut HashMap<&'a str, u32>) -> u32 {
        *known.entry(text).or_insert_with(|| {
            self.words.push(text);
            self.words.len() as u32 - 1
        })
    }
}

fn seconds(at: Option<Timestamp>) -> i64 {
    at.map_or(0, Timestamp::as_second)
}

/// A whole fleet.
#[derive(Serialize)]
struct Snapshot<'a> {
    revision: u64,
    now: i64,
    upgrades: Vec<&'a UpgradeSummary>,
    clusters: Columns<'a>,
}

/// What has changed.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Change<'a> {
    pub revision: u64,
    pub now: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upgrades: Vec<&'a UpgradeSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_upgrades: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Columns<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_clusters: Vec<&'a str>,
}

impl<'a> Change<'a> {
    /// What has changed from one view to another; nothing if they show the same.
    pub fn between(before: &'a View, after: &'a View) -> Option<Self> {
        let rows: Vec<_> = changed(&before.rows, &after.rows).collect();
        let change = Self {
            upgrades: changed(&before.upgrades, &after.upgrades)
                .map(|(_, upgrade)| upgrade)
                .collect(),
            removed_upgrades: removed(&before.upgrades, &after.upgrades)
                .map(String::as_str)
                .collect(),
            removed_clusters: removed(&before.rows, &after.rows)
                .map(ClusterName::as_str)
                .collect(),
            clusters: (!rows.is_empty()).then(|| Columns::of(rows)),
            ..Self::default()
        };
        let is_empty = change.upgrades.is_empty()
            && change.removed_upgrades.is_empty()
            && change.clusters.is_none()
            && change.removed_clusters.is_empty();
        (!is_empty).then_some(change)
    }
}

fn changed<'a, K: Ord, V: PartialEq>(
    before: &'a BTreeMap<K, V>,
    after: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, &'a V)> {
    after.iter().filter(|(key, value)| before.get(key) != Some(value))
}

fn removed<'a, K: Ord, V>(
    before: &'a BTreeMap<K, V>,
    after: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = &'a K> {
    before.keys().filter(|key| !after.contains_key(key))
}

/// A whole fleet as it is sent: JSON, compressed. Nothing keeps it in full, for it is many times as large, and every browser takes it like this.
#[derive(Clone)]
pub(crate) struct SnapshotBytes(Bytes);

impl SnapshotBytes {
    /// Writes a view.
    ///
    /// # Errors
    /// If it cannot be written, which plain data rules out.
    pub fn of(view: &View, revision: u64, now: Timestamp) -> io::Result<Self> {
        let snapshot = Snapshot {
            revision,
            now: now.as_second(),
            upgrades: view.upgrades.values().collect(),
            clusters: Columns::of(&view.rows),
        };
        let encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut encoder = io::BufWriter::with_capacity(PIECE, encoder);
        serde_json::to_writer(&mut encoder, &snapshot)?;
        let encoder = encoder.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Without the room that it has grown by: it is kept.
        Ok(Self(encoder.finish()?.into_boxed_slice().into()))
    }

    /// As it is kept.
    pub fn gzip(&self) -> Bytes {
        self.0.clone()
    }

    /// For who does not read that: unpacked as it is sent.
    pub fn plain(&self) -> Pieces {
        let mut decoder = GzDecoder::new(self.0.clone().reader());
        Box::new(std::iter::from_fn(move || {
            let mut piece = Vec::with_capacity(PIECE);
            let read = decoder.by_ref().take(PIECE as u64).read_to_end(&mut piece);
            match read {
                Ok(0) => None,
                Ok(_) => Some(Ok(piece.into())),
                Err(error) => Some(Err(error)),
            }
        }))
    }
}
