//! Writes what is accepted into the UpdatePlanInsights, as the plugin's own part of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail, ensure};
use drydock_api::insights::{AcceptedInsight, Level, UpdatePlanInsight};
use drydock_insights::plan::acceptance::covers;
use drydock_insights::pre_checks::PreChecks;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::super::update_arguments::{Acceptance, AcceptanceArguments};
use super::render::one_line;
use crate::server::{MANAGER, Server, user};

/// How often a write is tried that somebody else's came before.
const TRIES: usize = 5;
/// The most characters of a name.
const LONGEST: usize = 253;

/// Writes acceptances, and puts the objects in the place of those that were seen.
///
/// # Errors
/// If there is no such finding, or the server refuses.
pub async fn write(
    server: &Server,
    acceptance: &AcceptanceArguments,
    checks: &PreChecks,
    objects: &mut [UpdatePlanInsight],
    now: Timestamp,
) -> anyhow::Result<()> {
    if let Some(until) = acceptance.until {
        ensure!(until > now, "--until {until} is over already");
    }
    // Everything is known before anything is written.
    let wanted = of_informers(acceptance, checks)?;
    let who = user(&server.client).await;
    let who: String = who.chars().take(LONGEST).collect();
    for object in objects {
        let Some(findings) = wanted.get(object.spec.update_informer.as_str()) else {
            continue;
        };
        let entries = findings.iter().map(|(uuid, level)| AcceptedInsight {
            uuid: (*uuid).to_owned(),
            level: *level,
            accepted_by: who.clone(),
            accepted_at: Time(now),
            reason: acceptance.reason.clone(),
            until: acceptance.until.map(Time),
        });
        *object = apply(&server.client, object, &entries.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

type Wanted<'a> = BTreeMap<&'a str, Vec<(&'a str, Level)>>;

/// What is accepted, by informer, up to which level.
fn of_informers<'a>(acceptance: &AcceptanceArguments, checks: &'a PreChecks) -> anyhow::Result<Wanted<'a>> {
    let mut wanted = Wanted::new();
    let accepted: BTreeSet<_> = acceptance.accept.iter().collect();
    let mut named = BTreeSet::new();
    for Acceptance { uuid, level } in accepted {
        ensure!(
            named.insert(uuid),
            "finding {uuid} is named with two levels: name it once, with the one that you accept"
        );
        let Some(finding) = checks.finding(uuid) else {
            bail!(
                "there is no finding {uuid} about {}: run pre-checks again, and see what has become of it",
                checks.target_release
            );
        };
        let found = finding.insight.impact.level;
        let level = level.unwrap_or(found.min(Level::Warning));
        ensure!(
            covers(level, found),
            "finding {uuid} is {}, which {} does not cover: {}. Nothing is accepted. If you accept that: --accept {uuid}={}",
            found.as_str(),
            level.as_str(),
            one_line(&finding.insight.impact.summary),
            found.as_str()
        );
        let of_informer = wanted.entry(finding.informer.as_str()).or_default();
        of_informer.push((finding.insight.uuid.as_str(), level));
    }
    Ok(wanted)
}

/// Applies them, together with what the plugin has accepted before: what is left out of an apply is taken back.
async fn apply(
    client: &Client,
    seen: &UpdatePlanInsight,
    entries: &[AcceptedInsight],
) -> anyhow::Result<UpdatePlanInsight> {
    let api: Api<UpdatePlanInsight> = Api::all(client.clone());
    let name = seen.name_any();
    let mut object = seen.clone();
    let mut tries = 0;
    loop {
        tries += 1;
        let parameters = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(body(&object, entries));
        match api.patch(&name, &parameters, &patch).await {
            Ok(written) => return Ok(written),
            Err(kube::Error::Api(refusal)) if refusal.is_conflict() && tries < TRIES => {
                let again = api.get(&name).await;
                object = again.with_context(|| format!("reading the UpdatePlanInsight {name}"))?;
            }
            Err(error) => {
                return Err(error).with_context(|| format!("accepting findings in UpdatePlanInsight {name}"));
            }
        }
    }
}

/// The plugin's part of an object.
fn body(object: &UpdatePlanInsight, entries: &[AcceptedInsight]) -> Value {
    let own = own(object);
    let before = object.spec.accepted_insights.iter().filter(|accepted| {
        let is_new = entries.iter().any(|entry| entry.uuid == accepted.uuid);
        own.contains(&accepted.uuid) && !is_new
    });
    let accepted: Vec<_> = before.chain(entries).collect();
    json!({
        "apiVersion": UpdatePlanInsight::api_version(&()),
        "kind": UpdatePlanInsight::kind(&()),
        "metadata": {"name": object.name_any(), "uid": object.uid(), "resourceVersion": object.resource_version()},
        "spec": {
            "targetRelease": object.spec.target_release,
            "updateInformer": object.spec.update_informer,
            "acceptedInsights": accepted,
        },
    })
}

/// The UUIDs of what the plugin has accepted: the keys of the entries that it manages.
fn own(object: &UpdatePlanInsight) -> BTreeSet<String> {
    let is_own = |manager: Option<&str>, operation: Option<&str>| {
        manager == Some(MANAGER) && operation == Some("Apply")
    };
    let managed = object.managed_fields().iter();
    let fields = managed.filter(|entry| is_own(entry.manager.as_deref(), entry.operation.as_deref()));
    let fields = fields.filter_map(|entry| entry.fields_v1.as_ref());
    let keys = fields.filter_map(|fields| fields.0.pointer("/f:spec/f:acceptedInsights")?.as_object());
    let keys = keys.flat_map(|keys| keys.keys());
    keys.filter_map(|key| {
        let key: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
        Some(key.get("uuid")?.as_str()?.to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever asks anew, what is accepted is what was seen: a finding that has become worse since is not.
    #[test]
    fn more_than_a_warning_is_accepted_by_who_names_its_level() {
        let uuid = "0".repeat(32);
        let checks = |level: Level| {
            let mut checks = super::super::tests::checks("True");
            let mut found = checks.findings[0].clone();
            (found.insight.uuid, found.insight.impact.level) = (uuid.clone(), level);
            checks.findings = vec![found];
            checks
        };
        let arguments = |levels: &[Option<Level>]| AcceptanceArguments {
            accept: levels
                .iter()
                .map(|level| Acceptance {
                    uuid: uuid.clone(),
                    level: *level,
                })
                .collect(),
            ..AcceptanceArguments::default()
        };
        let accept = |named: Option<Level>, found: Level| {
            let checks = checks(found);
            let arguments = arguments(&[named]);
            let wanted = of_informers(&arguments, &checks).map_err(|error| error.to_string())?;
            Ok::<Level, String>(wanted.into_values().flatten().next().unwrap().1)
        };
        assert_eq!(accept(None, Level::Warning), Ok(Level::Warning));
        assert_eq!(accept(None, Level::Info), Ok(Level::Info));
        for found in [Level::Unknown, Level::Error, Level::Critical] {
            let refused = accept(None, found).unwrap_err();
            let advice = format!("--accept {uuid}={}", found.as_str());
            assert!(refused.ends_with(&advice), "{refused}");
            assert_eq!(accept(Some(found), found), Ok(found));
        }
        assert!(accept(Some(Level::Error), Level::Critical).is_err());
        assert_eq!(accept(Some(Level::Critical), Level::Warning), Ok(Level::Critical));
        let twice = arguments(&[None, Some(Level::Error)]);
        let refused = of_informers(&twice, &checks(Level::Warning)).unwrap_err();
        assert!(refused.to_string().contains("named with two levels"), "{refused}");
        assert!(of_informers(&arguments(&[None, None]), &checks(Level::Warning)).is_ok());
    }

    #[test]
    fn what_others_have_accepted_is_not_taken_over() {
        let entry = |uuid: &str| json!({"uuid": uuid, "level": "Error", "acceptedBy": "ann", "acceptedAt": "2026-01-05T08:00:00Z"});
        let managed = |manager: &str, uuid: &str| {
            json!({"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {
                "f:spec": {"f:acceptedInsights": {format!("k:{{\"uuid\":\"{uuid}\"}}"): {".": {}}}},
            }})
        };
        let object: UpdatePlanInsight = serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1beta1", "kind": "UpdatePlanInsight",
            "metadata": {
                "name": "update-plan-4.14.4.mco", "resourceVersion": "7",
                "managedFields": [managed("hub", "a"), managed(MANAGER, "b"), managed(MANAGER, "c")],
            },
            "spec": {
                "targetRelease": "4.14.4", "updateInformer": "mco",
                "acceptedInsights": [entry("a"), entry("b"), entry("c")],
            },
        }))
        .unwrap();
        let entries: Vec<AcceptedInsight> = serde_json::from_value(json!([entry("c"), entry("d")])).unwrap();
        let body = body(&object, &entries);
        let accepted = body["spec"]["acceptedInsights"].as_array().unwrap();
        let uuids: Vec<_> = accepted
            .iter()
            .map(|entry| entry["uuid"].as_str().unwrap())
            .collect();
        assert_eq!(uuids, ["b", "c", "d"]);
        assert_eq!(body["metadata"]["resourceVersion"], "7");
    }
}
