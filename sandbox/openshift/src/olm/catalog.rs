//! Catalogs of type `configmap`: packages with their channels, and the versions that the channels lead through.

use std::fmt::Write as _;

use serde_json::{Value, json};

use kube_sandbox::object;

/// On a version in a catalog: at which step its installation fails, `unpack` or `install`.
pub const FAILS_ANNOTATION: &str = "sandbox.drydock.dev/fails";

/// The data of a ConfigMap that is a catalog: each package has the versions `NAME.v1` up to a number, each replacing the one
/// before, and the installation of one of them may fail (see [`FAILS_ANNOTATION`]).
pub fn catalog_data(packages: &[(&str, u32)], fails: Option<(&str, &str)>) -> Value {
    let mut channels = String::new();
    let mut versions = String::new();
    for (package, last) in packages {
        // Writing to text cannot fail.
        let _ = write!(
            channels,
            "- packageName: {package}\n  defaultChannel: stable\n  channels:\n  - {{name: stable, currentCSV: {package}.v{last}}}\n"
        );
        for number in 1..=*last {
            let name = format!("{package}.v{number}");
            let how = fails.filter(|(version, _)| *version == name);
            let annotations = how.map_or_else(|| json!({}), |(_, how)| json!({FAILS_ANNOTATION: how}));
            let mut spec = json!({"version": format!("{number}.0.0"), "displayName": package});
            if number > 1 {
                spec["replaces"] = format!("{package}.v{}", number - 1).into();
            }
            let _ = writeln!(
                versions,
                "- {}",
                json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec})
            );
        }
    }
    json!({"packages": channels, "clusterServiceVersions": versions})
}

/// The content of one catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Catalog {
    packages: Vec<Value>,
    versions: Vec<Value>,
}

impl Catalog {
    /// Reads the ConfigMap of a catalog. What is no YAML offers nothing.
    pub(super) fn read(config_map: &Value) -> Self {
        let part = |key: &str| -> Vec<Value> {
            let text = config_map["data"][key].as_str().unwrap_or_default();
            serde_saphyr::from_str(text).unwrap_or_default()
        };
        Self {
            packages: part("packages"),
            versions: part("clusterServiceVersions"),
        }
    }

    /// The version of this name.
    pub(super) fn version(&self, name: &str) -> Option<&Value> {
        self.versions.iter().find(|version| object::name(version) == name)
    }

    /// The version that a Subscription goes to from `installed`: the one of the channel that replaces it. Without any
    /// installed, `starting` or the head of the channel.
    pub(super) fn next(
        &self,
        package: &str,
        channel: &str,
        installed: Option<&str>,
        starting: Option<&str>,
    ) -> Option<&Value> {
        let package = self
            .packages
            .iter()
            .find(|entry| entry["packageName"] == package)?;
        let wanted = if channel.is_empty() {
            package["defaultChannel"].as_str().unwrap_or_default()
        } else {
            channel
        };
        let channels = object::list(&package["channels"]);
        let channel = channels.iter().find(|entry| entry["name"] == wanted)?;
        let head = self.version(channel["currentCSV"].as_str()?)?;
        let Some(installed) = installed else {
            return starting.and_then(|name| self.version(name)).or(Some(head));
        };
        let mut candidate = head;
        // A catalog whose versions replace each other in a circle leads nowhere.
        for _ in 0..self.versions.len() {
            if object::name(candidate) == installed {
                return None;
            }
            let replaced = candidate["spec"]["replaces"].as_str()?;
            if replaced == installed {
                return Some(candidate);
            }
            candidate = self.version(replaced)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        Catalog::read(&json!({"data": {
            "packages": "- packageName: etcd\n  defaultChannel: alpha\n  channels:\n  - {name: alpha, currentCSV: etcd.v3}\n",
            "clusterServiceVersions": "- metadata: {name: etcd.v1}\n- metadata: {name: etcd.v2}\n  spec: {replaces: etcd.v1}\n\
                                       - metadata: {name: etcd.v3}\n  spec: {replaces: etcd.v2}\n",
        }}))
    }

    #[test]
    fn a_channel_leads_from_version_to_version() {
        let catalog = catalog();
        let next = |channel: &str, installed: Option<&str>, starting: Option<&str>| {
            catalog
                .next("etcd", channel, installed, starting)
                .map(|version| object::name(version).to_owned())
        };
        assert_eq!(next("alpha", None, None).as_deref(), Some("etcd.v3"));
        assert_eq!(next("", None, Some("etcd.v1")).as_deref(), Some("etcd.v1"));
        assert_eq!(next("alpha", Some("etcd.v1"), None).as_deref(), Some("etcd.v2"));
        assert_eq!(next("alpha", Some("etcd.v2"), None).as_deref(), Some("etcd.v3"));
        assert_eq!(next("alpha", Some("etcd.v3"), None), None);
        assert_eq!(next("alpha", Some("other.v1"), None), None);
        assert_eq!(next("beta", None, None), None);
    }

    #[test]
    fn what_is_no_catalog_offers_nothing() {
        assert_eq!(
            Catalog::read(&json!({"data": {"packages": "- {"}})),
            Catalog::default()
        );
        assert_eq!(Catalog::read(&json!({})), Catalog::default());
    }
}
