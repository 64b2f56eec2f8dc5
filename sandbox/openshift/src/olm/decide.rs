//! What the lifecycle manager does next, from the objects there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::catalog::{Catalog, FAILS_ANNOTATION};
use super::kinds::{CLUSTER_SERVICE_VERSION, INSTALL_PLAN, SUBSCRIPTION};
use super::objects::{OlmObjects, Write, in_namespace};
use super::version::{self, Next};
use kube_sandbox::access::{Key, Object};
use kube_sandbox::condition::format_time;
use kube_sandbox::fingerprint::fingerprint;
use kube_sandbox::object;

/// What is to be written, and when to look again if nothing changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) writes: Vec<Write>,
    pub(super) wake: Option<Timestamp>,
}

/// Decides for all namespaces.
pub(super) fn decide(seen: &OlmObjects, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let catalogs = catalogs(seen);
    let namespaces: BTreeSet<&str> = seen
        .subscriptions
        .keys()
        .chain(seen.plans.keys())
        .chain(seen.versions.keys())
        .filter_map(|key| key.namespace.as_deref())
        .collect();
    for name in namespaces {
        let namespace = Namespace {
            name,
            seen,
            catalogs: &catalogs,
            now,
        };
        namespace.subscriptions(&mut plan);
        namespace.plans(&mut plan);
        namespace.versions(&mut plan);
    }
    plan
}

/// Catalogs of type `configmap`, by their place.
fn catalogs(seen: &OlmObjects) -> BTreeMap<Key, Catalog> {
    seen.catalogs
        .iter()
        .filter(|(_, source)| {
            matches!(
                source["spec"]["sourceType"].as_str(),
                Some("configmap" | "internal")
            )
        })
        .filter_map(|(key, source)| {
            let name = source["spec"]["configMap"].as_str()?;
            let place = Key {
                namespace: key.namespace.clone(),
                name: name.to_owned(),
            };
            Some((key.clone(), Catalog::read(seen.config_maps.get(&place)?)))
        })
        .collect()
}

struct Namespace<'a> {
    name: &'a str,
    seen: &'a OlmObjects,
    catalogs: &'a BTreeMap<Key, Catalog>,
    now: Timestamp,
}

/// A Subscription with what it has and what it goes to.
struct Subscribed<'a> {
    key: &'a Key,
    object: &'a Arc<Object>,
    installed: Option<&'a str>,
    next: Option<&'a str>,
}

impl<'a> Namespace<'a> {
    fn subscribed(&self) -> Vec<Subscribed<'a>> {
        in_namespace(&self.seen.subscriptions, self.name)
            .map(|(key, object)| {
                let installed = self.installed(object);
                Subscribed {
                    key,
                    object,
                    installed,
                    next: self.next(object, installed),
                }
            })
            .collect()
    }

    fn version(&self, name: &str) -> Option<&'a Arc<Object>> {
        self.seen.versions.get(&Key::namespaced(self.name, name))
    }

    /// The version that a Subscription has brought: the one it wants, once that is made, else the one before.
    fn installed(&self, subscription: &'a Object) -> Option<&'a str> {
        ["currentCSV", "installedCSV"]
            .into_iter()
            .filter_map(|field| subscription["status"][field].as_str())
            .find(|name| self.version(name).is_some())
    }

    /// The version that it goes to. An operator that is still being installed, or has failed, goes nowhere.
    fn next(&self, subscription: &'a Object, installed: Option<&str>) -> Option<&'a str> {
        let is_settled = installed
            .and_then(|name| self.version(name))
            .is_none_or(|version| version["status"]["phase"] == "Succeeded");
        if !is_settled {
            return None;
        }
        let spec = &subscription["spec"];
        let text = |field: &str| spec[field].as_str().unwrap_or_default();
        let place = Key::namespaced(text("sourceNamespace"), text("source"));
        let starting = spec["startingCSV"].as_str();
        let catalog = self.catalogs.get(&place)?;
        let next = catalog.next(text("name"), text("channel"), installed, starting)?;
        Some(object::name(next))
    }

    fn subscriptions(&self, plan: &mut Plan) {
        let subscribed = self.subscribed();
        let wanted: BTreeSet<&str> = subscribed.iter().filter_map(|one| one.next).collect();
        let brings = |install: &Object| -> bool {
            let names = object::list(&install["spec"]["clusterServiceVersionNames"]);
            names.iter().filter_map(Value::as_str).eq(wanted.iter().copied())
        };
        let install = in_namespace(&self.seen.plans, self.name)
            .map(|(_, install)| install)
            .filter(|install| brings(install))
            .max_by_key(|install| install["spec"]["generation"].as_i64());
        if install.is_none() && !wanted.is_empty() {
            plan.writes.push(self.install_plan(&subscribed, &wanted));
        }
        for one in &subscribed {
            let status = one.status(install.filter(|_| one.next.is_some()), self.now);
            if differs(&one.object["status"], &status, "lastUpdated") {
                plan.writes
                    .push(Write::Status(&SUBSCRIPTION, one.key.clone(), status));
            }
        }
    }

    /// One InstallPlan for all that have an upgrade; it waits for approval if any Subscription of the namespace is Manual.
    fn install_plan(&self, subscribed: &[Subscribed<'_>], wanted: &BTreeSet<&str>) -> Write {
        let is_manual = subscribed
            .iter()
            .any(|one| one.object["spec"]["installPlanApproval"] == "Manual");
        let generation = in_namespace(&self.seen.plans, self.name)
            .filter_map(|(_, install)| install["spec"]["generation"].as_i64())
            .max()
            .unwrap_or_default()
            + 1;
        let upgraded = || subscribed.iter().filter(|one| one.next.is_some());
        let owners: Vec<Value> = upgraded()
            .map(|one| {
                json!({
                    "apiVersion": SUBSCRIPTION.api_version(), "kind": "Subscription",
                    "name": one.key.name, "uid": one.object.uid(),
                    "controller": false, "blockOwnerDeletion": false,
                })
            })
            .collect();
        let labels: Map<String, Value> = upgraded()
            .map(|one| {
                let package = one.object["spec"]["name"].as_str().unwrap_or_default();
                (format!("operators.coreos.com/{package}.{}", self.name), "".into())
            })
            .collect();
        let names: Vec<&str> = wanted.iter().copied().collect();
        let subject = format!("{} {generation} {}", self.name, names.join(" "));
        let suffix = fingerprint(subject.bytes()) % 0x10_0000;
        Write::Create(
            &INSTALL_PLAN,
            json!({
                "apiVersion": INSTALL_PLAN.api_version(),
                "kind": "InstallPlan",
                "metadata": {
                    "name": format!("install-{suffix:05x}"), "namespace": self.name,
                    "labels": labels, "ownerReferences": owners,
                },
                "spec": {
                    "approval": if is_manual { "Manual" } else { "Automatic" },
                    "approved": !is_manual,
                    "clusterServiceVersionNames": names,
                    "generation": generation,
                },
            }),
        )
    }

    fn plans(&self, plan: &mut Plan) {
        for (key, install) in in_namespace(&self.seen.plans, self.name) {
            let phase = install["status"]["phase"].as_str().unwrap_or_default();
            let is_approved = install["spec"]["approved"] == true;
            let status = match phase {
                "Complete" | "Failed" => continue,
                "Installing" => match self.carry_out(install, plan) {
                    Some(status) => status,
                    None => continue,
                },
                _ if is_approved => json!({
                    "phase": "Installing", "catalogSources": [], "startTime": format_time(self.now),
                }),
                "RequiresApproval" => continue,
                _ => json!({"phase": "RequiresApproval", "catalogSources": []}),
            };
            plan.writes
                .push(Write::Status(&INSTALL_PLAN, key.clone(), status));
        }
    }

    /// Makes the versions of an approved plan; its status once they are all there, or cannot be.
    fn carry_out(&self, install: &Object, plan: &mut Plan) -> Option<Value> {
        let names = object::string_list(&install["spec"]["clusterServiceVersionNames"]);
        let missing: Vec<&String> = names.iter().filter(|name| self.version(name).is_none()).collect();
        let ended = |phase: &str, condition: Value| {
            let mut status = install["status"].clone();
            status["phase"] = phase.into();
            status["conditions"] = json!([condition]);
            Some(status)
        };
        let now = format_time(self.now);
        if missing.is_empty() {
            return ended(
                "Complete",
                json!({"type": "Installed", "status": "True", "lastTransitionTime": now, "lastUpdateTime": now}),
            );
        }
        for name in missing {
            let bundle = self.catalogs.values().find_map(|catalog| catalog.version(name));
            let fails =
                bundle.is_none_or(|bundle| object::annotation(bundle, FAILS_ANNOTATION) == Some("unpack"));
            let (Some(bundle), false) = (bundle, fails) else {
                return ended(
                    "Failed",
                    json!({
                        "type": "Installed", "status": "False", "reason": "InstallComponentFailed",
                        "message": format!(
                            "bundle unpacking failed. Reason: BackoffLimitExceeded, Message: Job has reached the \
                             specified backoff limit, for {name}"
                        ),
                        "lastTransitionTime": now, "lastUpdateTime": now,
                    }),
                );
            };
            plan.writes
                .push(Write::Create(&CLUSTER_SERVICE_VERSION, self.made_of(bundle)));
        }
        None
    }

    fn made_of(&self, bundle: &Value) -> Value {
        let mut version = bundle.clone();
        version["apiVersion"] = CLUSTER_SERVICE_VERSION.api_version().into();
        version["kind"] = "ClusterServiceVersion".into();
        version["metadata"]["namespace"] = self.name.into();
        version
    }

    fn versions(&self, plan: &mut Plan) {
        let all = || in_namespace(&self.seen.versions, self.name);
        let replaced: BTreeSet<&str> = all()
            .filter(|(_, version)| version["status"]["phase"] == "Succeeded")
            .filter_map(|(_, version)| version["spec"]["replaces"].as_str())
            .collect();
        for (key, version) in all() {
            match version::next(version, replaced.contains(key.name.as_str()), self.now) {
                Next::Becomes(status) => {
                    plan.writes
                        .push(Write::Status(&CLUSTER_SERVICE_VERSION, key.clone(), status));
                }
                Next::Goes => plan
                    .writes
                    .push(Write::Delete(&CLUSTER_SERVICE_VERSION, key.clone())),
                Next::At(moment) => plan.wake = Some(plan.wake.map_or(moment, |wake| wake.min(moment))),
                Next::Stays => {}
            }
        }
    }
}

impl Subscribed<'_> {
    /// The status, with the plan that brings the next version if there is one.
    fn status(&self, install: Option<&Arc<Object>>, now: Timestamp) -> Value {
        let mut status = Map::new();
        let mut set = |field: &str, value: Value| status.insert(field.to_owned(), value);
        if let Some(installed) = self.installed {
            set("installedCSV", installed.into());
        }
        if let Some(current) = self.next.or(self.installed) {
            set("currentCSV", current.into());
        }
        let state = match (self.next, install, self.installed) {
            (Some(_), Some(_), _) => "UpgradePending",
            (Some(_), None, _) => "UpgradeAvailable",
            (None, _, Some(_)) => "AtLatestKnown",
            (None, _, None) => "",
        };
        set("state", state.into());
        set("lastUpdated", format_time(now).into());
        let before = &self.object["status"];
        let healthy = json!({
            "type": "CatalogSourcesUnhealthy", "status": "False", "reason": "AllCatalogSourcesHealthy",
            "message": "all available catalogsources are healthy",
        });
        let mut conditions = vec![healthy];
        if let Some(install) = install {
            let reference = json!({
                "apiVersion": INSTALL_PLAN.api_version(), "kind": "InstallPlan",
                "name": install.name(), "namespace": install.namespace(), "uid": install.uid(),
            });
            set("installPlanRef", reference.clone());
            set(
                "installplan",
                json!({
                    "apiVersion": reference["apiVersion"], "kind": "InstallPlan",
                    "name": reference["name"], "uuid": reference["uid"],
                }),
            );
            set("installPlanGeneration", install["spec"]["generation"].clone());
            conditions.extend(pending(install));
        } else {
            for field in ["installPlanRef", "installplan", "installPlanGeneration"] {
                if let Some(value) = before.get(field) {
                    set(field, value.clone());
                }
            }
        }
        for condition in &mut conditions {
            let known = object::list(&before["conditions"])
                .iter()
                .find(|known| known["type"] == condition["type"] && known["status"] == condition["status"]);
            condition["lastTransitionTime"] = known.map_or_else(
                || format_time(now).into(),
                |known| known["lastTransitionTime"].clone(),
            );
        }
        status.insert("conditions".to_owned(), conditions.into());
        Value::Object(status)
    }
}

/// What a Subscription says about the plan that it waits for.
fn pending(install: &Object) -> Option<Value> {
    let condition = |kind: &str, reason: &str, message: &Value| {
        Some(json!({"type": kind, "status": "True", "reason": reason, "message": message}))
    };
    let none = Value::from("");
    match install["status"]["phase"].as_str().unwrap_or("Planning") {
        "Complete" => None,
        "Failed" => {
            let why = &install["status"]["conditions"][0];
            let reason = why["reason"].as_str().unwrap_or("InstallComponentFailed");
            condition("InstallPlanFailed", reason, &why["message"])
        }
        phase => condition("InstallPlanPending", phase, &none),
    }
}

/// Whether two values differ in anything but one field.
fn differs(before: &Value, after: &Value, but: &str) -> bool {
    let without = |value: &Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.remove(but);
        }
        value
    };
    without(before) != without(after)
}
