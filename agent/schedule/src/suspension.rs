//! UpgradeSuspensionWindows: which objects one affects (Maintenance schedules, sections 1.4, 2.6 and 2.8).
//!
//! A window affects its own namespace. A selector that cannot be used is taken to select everything there: a maintenance in the holidays
//! does more harm than one that is left out. The original ignores such a window.

use std::fmt;

use drydock_api::schedule::{
    MatchingObject, UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow, UpgradeSuspensionWindowStatus,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::instants::later;
use crate::selector::{InvalidSelector, Labels, Selection};

/// Characters of a window's reason that are shown: the API sets no limit, and conditions have one.
pub(crate) const LONGEST_REASON: usize = 256;

/// Which objects a window affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affects {
    /// UpgradeConfigs: they create no UpgradeJobs.
    Configs,
    /// UpgradeJobs: they are skipped.
    Jobs,
}

/// A window that is in force for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspension {
    /// The name of the window.
    pub window: String,
    /// Why there is no maintenance.
    pub reason: String,
    /// When the window ends; this moment is part of it.
    pub end: Timestamp,
    /// Why its selector cannot be used, so that it selects everything.
    pub invalid: Option<InvalidSelector>,
}

impl fmt::Display for Suspension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            window,
            reason,
            end,
            invalid,
        } = self;
        write!(
            formatter,
            "UpgradeSuspensionWindow {window} ({reason}) lasts until {end}"
        )?;
        match invalid {
            Some(invalid) => write!(
                formatter,
                "; its selector cannot be used and is taken to select everything, correct it: {invalid}"
            ),
            None => Ok(()),
        }
    }
}

/// The windows that may be in force for one object.
#[derive(Clone, Debug, Default)]
pub struct Suspensions<'a> {
    windows: Vec<(&'a UpgradeSuspensionWindow, Option<InvalidSelector>)>,
}

impl<'a> Suspensions<'a> {
    /// Those of the windows that select an object.
    pub fn of(
        object: &ObjectMeta,
        affects: Affects,
        windows: impl IntoIterator<Item = &'a UpgradeSuspensionWindow>,
    ) -> Self {
        let windows = windows
            .into_iter()
            .filter_map(|window| match selection(window, affects, object) {
                Ok(false) => None,
                Ok(true) => Some((window, None)),
                Err(invalid) => Some((window, Some(invalid))),
            });
        Self {
            windows: windows.collect(),
        }
    }

    /// The window that is in force at a moment; of several, the one that ends last.
    pub fn at(&self, moment: Timestamp) -> Option<Suspension> {
        let in_force = self.windows.iter().filter(|(window, _)| {
            let spec = &window.spec;
            (spec.start.0..=spec.end.0).contains(&moment)
        });
        let last = in_force.max_by_key(|(window, _)| (window.spec.end.0, &window.metadata.name));
        last.map(|(window, invalid)| Suspension {
            window: window.metadata.name.clone().unwrap_or_default(),
            reason: window.spec.reason.chars().take(LONGEST_REASON).collect(),
            end: window.spec.end.0,
            invalid: invalid.clone(),
        })
    }

    /// When a window starts next, or is over.
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let changes = self.windows.iter().flat_map(|(window, _)| {
            let over = later(window.spec.end.0, SignedDuration::from_secs(1));
            [window.spec.start.0, over]
        });
        changes.filter(|change| *change > now).min()
    }
}

/// Does a window affect an object, in its time? A selector that cannot be used selects everything.
pub fn is_selected(window: &UpgradeSuspensionWindow, affects: Affects, object: &ObjectMeta) -> bool {
    window.metadata.namespace == object.namespace && selection(window, affects, object).unwrap_or(true)
}

/// Is an object selected? No selector selects nothing.
fn selection(
    window: &UpgradeSuspensionWindow,
    affects: Affects,
    object: &ObjectMeta,
) -> Result<bool, InvalidSelector> {
    if window.metadata.namespace != object.namespace {
        return Ok(false);
    }
    let selector = match affects {
        Affects::Configs => &window.spec.config_selector,
        Affects::Jobs => &window.spec.job_selector,
    };
    let selection = Selection::or_nothing(selector.as_ref())?;
    Ok(selection.selects(object.labels.as_ref().unwrap_or(&Labels::new())))
}

/// The objects that a window selects, by name, as its status lists them: UpgradeJobs only if they would start in it.
///
/// The original lists objects of all namespaces, although the window affects only its own.
pub fn matching<'a>(
    window: &UpgradeSuspensionWindow,
    configs: impl IntoIterator<Item = &'a UpgradeConfig>,
    jobs: impl IntoIterator<Item = &'a UpgradeJob>,
) -> UpgradeSuspensionWindowStatus {
    let configs = configs
        .into_iter()
        .filter(|config| is_selected(window, Affects::Configs, &config.metadata))
        .map(|config| &config.metadata);
    let span = window.spec.start.0..=window.spec.end.0;
    let jobs = jobs
        .into_iter()
        .filter(|job| span.contains(&job.spec.start_after.0))
        .filter(|job| is_selected(window, Affects::Jobs, &job.metadata))
        .map(|job| &job.metadata);
    UpgradeSuspensionWindowStatus {
        matching_configs: Some(by_name(configs)),
        matching_jobs: Some(by_name(jobs)),
        ..window.status.clone().unwrap_or_default()
    }
}

fn by_name<'a>(objects: impl Iterator<Item = &'a ObjectMeta>) -> Vec<MatchingObject> {
    let mut objects: Vec<_> = objects
        .map(|object| MatchingObject {
            name: object.name.clone().unwrap_or_default(),
        })
        .collect();
    objects.sort();
    objects
}
