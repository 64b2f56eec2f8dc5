//! The series about maintenance schedules (Maintenance schedules, sections 5 and 11): computed from the objects when they are scraped.
//!
//! Names and labels are the original's, with the namespace of the object beside them: it has none, and two objects of the same name
//! make its series ambiguous. What there is no object of has no series.

mod families;

use drydock_api::GoDuration;
use drydock_api::openshift::cluster_version::ClusterVersionSpec;
use drydock_api::schedule::{ManagedClusterVersion, UpgradeConfig, UpgradeSuspensionWindow};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::overlays;
use crate::suspension::matching;
pub use families::{FAMILIES, Family, MetricKind};

/// A series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its family.
    pub kind: MetricKind,
    /// The values of the family's labels, in their order.
    pub labels: Vec<String>,
    /// Its value.
    pub value: f64,
}

impl Series {
    fn new(kind: MetricKind, labels: &[&str], value: f64) -> Self {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Self { kind, labels, value }
    }
}

/// The series of an UpgradeConfig.
pub fn of_config(config: &UpgradeConfig) -> Vec<Series> {
    let (namespace, name) = key(&config.metadata);
    let spec = &config.spec;
    let schedule = &spec.schedule;
    let suspended = schedule.suspend.unwrap_or(false).to_string();
    let labels = [namespace, name, &schedule.cron, &schedule.location, &suspended];
    let mut series = vec![Series::new(MetricKind::ConfigInfo, &labels, 1.0)];
    let window = spec.pin_version_window.as_deref().unwrap_or("0s");
    if let Ok(window) = window.parse::<GoDuration>() {
        let seconds = window.signed().as_secs_f64();
        series.push(Series::new(
            MetricKind::PinVersionWindow,
            &[namespace, name],
            seconds,
        ));
    }
    let status = config.status.as_ref();
    let times = status.and_then(|status| status.next_possible_schedules.as_deref());
    for (number, next) in times.unwrap_or_default().iter().enumerate() {
        let time = next.time.0;
        let labels = [namespace, name, &number.to_string(), &time.to_string()];
        series.push(Series::new(MetricKind::NextSchedule, &labels, seconds(time)));
    }
    series
}

/// The series of an UpgradeSuspensionWindow; `configs` are the UpgradeConfigs of its namespace, or more.
pub fn of_window<'a>(
    window: &UpgradeSuspensionWindow,
    configs: impl IntoIterator<Item = &'a UpgradeConfig>,
) -> Vec<Series> {
    let (namespace, name) = key(&window.metadata);
    let spec = &window.spec;
    let own = configs
        .into_iter()
        .filter(|config| config.metadata.namespace == window.metadata.namespace);
    let mut series = vec![
        Series::new(MetricKind::WindowInfo, &[namespace, name, &spec.reason], 1.0),
        Series::new(MetricKind::WindowStart, &[namespace, name], seconds(spec.start.0)),
        Series::new(MetricKind::WindowEnd, &[namespace, name], seconds(spec.end.0)),
    ];
    let matching = matching(window, own, []).matching_configs;
    series.extend(matching.iter().flatten().map(|config| {
        Series::new(
            MetricKind::WindowMatchingConfig,
            &[namespace, name, &config.name],
            1.0,
        )
    }));
    series
}

/// The series of the managed ClusterVersion.
pub fn of_cluster_version(version: &ManagedClusterVersion, now: Timestamp) -> Vec<Series> {
    let (namespace, name) = key(&version.metadata);
    let plan = overlays::decide(&version.spec, None, now);
    let current = texts(&plan.spec);
    let labels: Vec<&str> = [namespace, name]
        .into_iter()
        .chain(current.iter().map(String::as_str))
        .collect();
    let mut series = vec![Series::new(MetricKind::VersionInfo, &labels, 1.0)];
    for overlay in plan.status.overlays.iter().flatten() {
        let spec = overlay.preview.as_ref().and_then(|preview| preview.spec.as_ref());
        let texts = spec.map(texts).unwrap_or_default();
        let from = overlay.from.0;
        let from_text = from.to_string();
        let labels: Vec<&str> = [namespace, name]
            .into_iter()
            .chain(texts.iter().map(String::as_str))
            .chain([from_text.as_str()])
            .collect();
        series.push(Series::new(MetricKind::Overlay, &labels, seconds(from)));
    }
    series
}

/// Baseline capabilities, channel, cluster ID and update service.
fn texts(spec: &ClusterVersionSpec) -> [String; 4] {
    let capabilities = spec.other.get("capabilities");
    let baseline = capabilities.and_then(|all| all.get("baselineCapabilitySet"));
    [
        baseline
            .and_then(|set| set.as_str())
            .unwrap_or_default()
            .to_owned(),
        spec.channel.clone().unwrap_or_default(),
        spec.cluster_id.clone().unwrap_or_default(),
        spec.upstream.clone().unwrap_or_default(),
    ]
}

fn key(metadata: &ObjectMeta) -> (&str, &str) {
    (
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}

fn seconds(time: Timestamp) -> f64 {
    time.as_second() as f64
}
