//! What is kept of attempts while records are read: rows that share their texts, the newest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use drydock_api::mcu::{ManagedClustersUpgradeRecord, RecordEntry, RecordedForecast};
use jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;

use crate::reading::{PIECE, Pieces};
use crate::rows::Words;

/// How good the forecast of a rollout was.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ForecastView {
    p10: i64,
    p50: i64,
    p90: i64,
    ended: i64,
    error_seconds: i64,
    within_band: bool,
}

/// How one attempt ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryRow<'a> {
    upgrade: &'a str,
    /// The upgrade is deleted: another one may have its name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    cluster: &'a str,
    target: &'a str,
    /// When the rollout began: what a forecast is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    rollout_since: Option<i64>,
    to: &'a str,
    canary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    outcome: &'a str,
    reason: &'a str,
    message: &'a str,
    attempt: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<&'a ForecastView>,
}

/// One rollout: of its records one has the forecast.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rollout {
    uid: String,
    since: String,
    target: String,
}

/// What all entries of a record share.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    rollout: Rollout,
    upgrade: String,
    deleted: bool,
    by: Option<String>,
}

/// Which cluster of which upgrade, by numbers: of a large fleet there are many.
type Tried = (usize, usize);

struct Attempt {
    source: Arc<Source>,
    tried: Tried,
    cluster: Arc<str>,
    to: Arc<str>,
    from: Option<Arc<str>>,
    outcome: Arc<str>,
    reason: Arc<str>,
    message: Arc<str>,
    canary: bool,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    number: usize,
}

/// What has been read so far.
pub(crate) struct Gathered {
    most: usize,
    rows: Vec<Attempt>,
    is_truncated: bool,
    words: Words,
    sources: BTreeSet<Arc<Source>>,
    forecasts: BTreeMap<Rollout, ForecastView>,
    uids: BTreeMap<String, usize>,
    clusters: BTreeMap<Arc<str>, usize>,
    /// How many attempts there were, also those that are not kept.
    tries: BTreeMap<Tried, usize>,
}

/// How attempts ended, in the order of their ends.
#[derive(Default)]
pub(crate) struct Attempts {
    rows: Vec<Attempt>,
    forecasts: BTreeMap<Rollout, ForecastView>,
    /// There are more, which are older.
    is_truncated: bool,
}

impl Gathered {
    /// Keeps so many rows, the newest.
    pub fn of(most: usize) -> Self {
        Self {
            most,
            rows: Vec::new(),
            is_truncated: false,
            words: Words::default(),
            sources: BTreeSet::new(),
            forecasts: BTreeMap::new(),
            uids: BTreeMap::new(),
            clusters: BTreeMap::new(),
            tries: BTreeMap::new(),
        }
    }

    /// Takes over what a record says of the clusters that are asked for.
    pub fn add(&mut self, record: &ManagedClustersUpgradeRecord, is_asked: impl Fn(&str) -> bool) {
        let upgrade = &record.spec.upgrade;
        let rollout = || Rollout {
            uid: upgrade.uid.clone(),
            since: upgrade.rollout_since.clone(),
            target: upgrade.target.clone(),
        };
        if let Some(forecast) = upgrade.forecast.as_ref().and_then(forecast) {
            self.forecasts.insert(rollout(), forecast);
        }
        let entries = &record.spec.entries;
        let mut entries = entries.iter().filter(|entry| is_asked(&entry.cluster)).peekable();
        if entries.peek().is_none() {
            return;
        }
        let source = Source {
            rollout: rollout(),
            upgrade: format!("{}/{}", record.namespace().unwrap_or_default(), upgrade.name),
            deleted: upgrade.deleted.unwrap_or(false),
            by: upgrade.started_by.clone().filter(|name| !name.is_empty()),
        };
        let source = self.sources.get(&source).cloned().unwrap_or_else(|| {
            let source = Arc::new(source);
            self.sources.insert(Arc::clone(&source));
            source
        });
        let next = self.uids.len();
        let uid = *self.uids.entry(upgrade.uid.clone()).or_insert(next);
        for entry in entries {
            let row = self.attempt(entry, &source, uid);
            self.rows.push(row);
        }
        // A part more than is kept, so that it is not sorted each time.
        if self.rows.len() > self.most + self.most / 4 {
            self.forget_old();
        }
    }

    fn attempt(&mut self, entry: &RecordEntry, source: &Arc<Source>, uid: usize) -> Attempt {
        let cluster = self.words.intern(&entry.cluster);
        let next = self.clusters.len();
        let tried = (uid, *self.clusters.entry(Arc::clone(&cluster)).or_insert(next));
        *self.tries.entry(tried).or_default() += 1;
        Attempt {
            source: Arc::clone(source),
            tried,
            cluster,
            to: self.words.intern(&entry.to),
            from: entry.from.as_deref().map(|from| self.words.intern(from)),
            outcome: self.words.intern(&entry.outcome),
            reason: self.words.intern(&entry.reason),
            message: self.words.intern(&entry.message),
            canary: entry.canary.unwrap_or(false),
            started_at: entry.started.as_deref().and_then(seconds),
            ended_at: seconds(&entry.completed),
            number: 0,
        }
    }

    fn forget_old(&mut self) {
        self.rows
            .sort_by(|one, other| (one.ended_at, &one.cluster).cmp(&(other.ended_at, &other.cluster)));
        let more = self.rows.len().saturating_sub(self.most);
        if more > 0 {
            self.is_truncated = true;
            self.rows.drain(..more);
            self.words.forget_unused();
        }
    }

    /// All that was read. Attempts are numbered in the order of their ends.
    pub fn finish(mut self) -> Attempts {
        self.forget_old();
        // What is not kept is older: the newest has the highest number.
        for row in self.rows.iter_mut().rev() {
            if let Some(tries) = self.tries.get_mut(&row.tried) {
                row.number = *tries;
                *tries = tries.saturating_sub(1);
            }
        }
        Attempts {
            rows: self.rows,
            forecasts: self.forecasts,
            is_truncated: self.is_truncated,
        }
    }
}

impl Attempts {
    /// All rows.
    pub fn rows(&self) -> Vec<HistoryRow<'_>> {
        self.rows.iter().map(|row| view(row, &self.forecasts)).collect()
    }

    /// The answer in JSON, written bit by bit: what is sent is forgotten.
    pub fn into_pieces(self) -> Pieces {
        let Self {
            rows,
            forecasts,
            is_truncated,
        } = self;
        let end = format!("],\"truncated\":{is_truncated}}}").into_bytes();
        let (mut rows, mut end) = (rows.into_iter(), Some(end));
        let (mut begin, mut separator): (&[u8], &[u8]) = (b"{\"rows\":[", b"");
        Box::new(std::iter::from_fn(move || {
            end.as_ref()?;
            let mut piece = Vec::with_capacity(PIECE + PIECE / 4);
            piece.extend_from_slice(std::mem::take(&mut begin));
            for row in rows.by_ref() {
                piece.extend_from_slice(separator);
                separator = b",";
                if let Err(error) = serde_json::to_writer(&mut piece, &view(&row, &forecasts)) {
                    end = None;
                    return Some(Err(error.into()));
                }
                if piece.len() >= PIECE {
                    return Some(Ok(Bytes::from(piece)));
                }
            }
            piece.extend(end.take().into_iter().flatten());
            Some(Ok(Bytes::from(piece)))
        }))
    }
}

fn view<'a>(row: &'a Attempt, forecasts: &'a BTreeMap<Rollout, ForecastView>) -> HistoryRow<'a> {
    let source = &*row.source;
    HistoryRow {
        upgrade: &source.upgrade,
        deleted: source.deleted,
        cluster: &row.cluster,
        target: &source.rollout.target,
        rollout_since: seconds(&source.rollout.since),
        to: &row.to,
        canary: row.canary,
        from: row.from.as_deref(),
        started_at: row.started_at,
        ended_at: row.ended_at,
        outcome: &row.outcome,
        reason: &row.reason,
        message: &row.message,
        attempt: row.number,
        actual_seconds: row
            .ended_at
            .zip(row.started_at)
            .map(|(ended, started)| ended - started),
        by: source.by.as_deref(),
        forecast: forecasts.get(&source.rollout),
    }
}

fn forecast(recorded: &RecordedForecast) -> Option<ForecastView> {
    Some(ForecastView {
        p10: seconds(&recorded.p10)?,
        p50: seconds(&recorded.p50)?,
        p90: seconds(&recorded.p90)?,
        ended: seconds(&recorded.ended)?,
        error_seconds: recorded.error_seconds,
        within_band: recorded.within_band,
    })
}

fn seconds(text: &str) -> Option<i64> {
    let moment: Option<Timestamp> = text.parse().ok();
    moment.map(Timestamp::as_second)
}

#[cfg(test)]
mod tests;
