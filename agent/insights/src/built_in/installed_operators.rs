//! Operators that OLM has installed, and up to which release of OpenShift they are meant to work (property `olm.maxOpenShiftVersion`).

use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::olm::ClusterServiceVersion;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use semver::Version;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::draft::Draft;
use crate::finding::Finding;

/// The annotation with the properties, a JSON list.
const PROPERTIES: &str = "olm.properties";
/// The property that is looked at.
const MAX_VERSION: &str = "olm.maxOpenShiftVersion";

#[derive(Deserialize)]
struct Property {
    #[serde(rename = "type")]
    type_: String,
    /// As it is written: the number 4.10 is not 4.1.
    #[serde(default)]
    value: Option<Box<RawValue>>,
}

/// Up to which release an operator is meant to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// Major and minor.
    UpTo(u64, u64),
    /// It says something that nobody can read: OLM holds updates to another minor release then.
    Unreadable,
}

/// `is_minor`: the target is another minor release than the cluster runs.
pub(super) fn findings(
    installed: &[PartialObjectMeta<ClusterServiceVersion>],
    target: &str,
    is_minor: bool,
    now: Timestamp,
) -> Vec<Finding> {
    let Ok(target) = Version::parse(target) else {
        return Vec::new();
    };
    let drafts = installed.iter().filter_map(|operator| {
        let limit = limit(operator)?;
        let is_over = match limit {
            Limit::UpTo(major, minor) => (target.major, target.minor) > (major, minor),
            Limit::Unreadable => is_minor,
        };
        is_over.then(|| draft(operator, limit, &target))
    });
    drafts.map(|draft| draft.finding(now)).collect()
}

/// The newest release that an operator is meant to work on, if it names one. OLM takes one property and no more.
fn limit(operator: &PartialObjectMeta<ClusterServiceVersion>) -> Option<Limit> {
    let properties = operator.annotations().get(PROPERTIES)?;
    let Ok(properties) = serde_json::from_str::<Vec<Property>>(properties) else {
        return Some(Limit::Unreadable);
    };
    let mut limits = properties.iter().filter(|property| property.type_ == MAX_VERSION);
    let limit = limits.next()?;
    if limits.next().is_some() {
        return Some(Limit::Unreadable);
    }
    let written = limit.value.as_ref().map(|value| value.get());
    let limit = written.and_then(release);
    Some(limit.map_or(Limit::Unreadable, |(major, minor)| Limit::UpTo(major, minor)))
}

/// Major and minor of `"4.14"`, `4.14` or `4`; a patch other than 0 is none, as OLM has it.
fn release(written: &str) -> Option<(u64, u64)> {
    let text = written.trim_matches(['"', '\\']).trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let parts: Vec<u64> = text
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    match *parts.as_slice() {
        [major] => Some((major, 0)),
        [major, minor] | [major, minor, 0] => Some((major, minor)),
        _ => None,
    }
}

fn draft(operator: &PartialObjectMeta<ClusterServiceVersion>, limit: Limit, target: &Version) -> Draft {
    let (name, namespace) = (operator.name_any(), operator.namespace().unwrap_or_default());
    let works = match limit {
        Limit::UpTo(major, minor) => {
            format!("works on OpenShift up to {major}.{minor}, and the target is {target}")
        }
        Limit::Unreadable => format!("does not say in a way that OLM reads whether it works on {target}"),
    };
    Draft {
        uid: "operator-incompatible",
        level: Level::Error,
        impact_type: ImpactType::ApplicationAvailability,
        summary: format!("Operator {name} {works}"),
        description: format!("It is installed in namespace {namespace}."),
        action: format!("Upgrade operator {name} first, or remove it"),
        verify: format!("kubectl get clusterserviceversions -n {namespace}"),
        reference: None,
        resources: vec![ResourceReference {
            group: Some("operators.coreos.com".to_owned()),
            kind: "ClusterServiceVersion".to_owned(),
            namespace: Some(namespace),
            name,
        }],
    }
}
