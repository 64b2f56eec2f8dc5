//! Operators that OLM has installed, and up to which release of OpenShift they are meant to work (property `olm.maxOpenShiftVersion`).

use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::olm::ClusterServiceVersion;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use semver::Version;
use serde::Deserialize;
use serde_json::Value;

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
    value: Value,
}

pub(super) fn findings(
    installed: &[PartialObjectMeta<ClusterServiceVersion>],
    target: &str,
    now: Timestamp,
) -> Vec<Finding> {
    let Ok(target) = Version::parse(target) else {
        return Vec::new();
    };
    let drafts = installed.iter().filter_map(|operator| {
        let limit = limit(operator)?;
        ((target.major, target.minor) > limit).then(|| draft(operator, limit, &target))
    });
    drafts.map(|draft| draft.finding(now)).collect()
}

/// The newest release, major and minor, that an operator is meant to work on. Of several the oldest counts.
fn limit(operator: &PartialObjectMeta<ClusterServiceVersion>) -> Option<(u64, u64)> {
    let properties = operator.annotations().get(PROPERTIES)?;
    let properties: Vec<Property> = serde_json::from_str(properties).ok()?;
    let limits = properties.iter().filter(|property| property.type_ == MAX_VERSION);
    limits.filter_map(|property| release(&property.value)).min()
}

/// `"4.14"`, or a number: of 4.1 nobody knows whether it was 4.10, so that is none.
fn release(value: &Value) -> Option<(u64, u64)> {
    let text = value.as_str()?.trim_matches('"');
    let mut parts = text.split('.').map(|part| part.parse::<u64>().ok());
    Some((parts.next()??, parts.next()??))
}

fn draft(operator: &PartialObjectMeta<ClusterServiceVersion>, limit: (u64, u64), target: &Version) -> Draft {
    let (name, namespace) = (operator.name_any(), operator.namespace().unwrap_or_default());
    let (major, minor) = limit;
    Draft {
        uid: "operator-incompatible",
        level: Level::Error,
        impact_type: ImpactType::ApplicationAvailability,
        summary: format!(
            "Operator {name} works on OpenShift up to {major}.{minor}, and the target is {target}"
        ),
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
