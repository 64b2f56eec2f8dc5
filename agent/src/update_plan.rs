//! What the UpdatePlan of a version says of its start: asked for, as it is needed rarely.

use drydock_api::conditions;
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{
    PlanAsker, PlannedUpdate, UpdatePlan, UpdatePlanInsight, UpdatePlanState, Verdict, condition, plan_name,
};
use drydock_api::names::AGENT_MANAGER;
use drydock_insights::pre_checks::{Population, PreChecks, of_plan, of_plan_for, population};
use drydock_runtime::pages::list_all;
use jiff::{SignedDuration, Timestamp};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};

use crate::refusal;

/// How old what a plan says may be: what held the update may be corrected since, and something else may have come up.
const FRESH: SignedDuration = SignedDuration::from_mins(5);

/// Reads it; `current` is the version that the cluster runs.
///
/// # Errors
/// If it cannot be read.
pub async fn read(
    client: &Client,
    current: Option<&str>,
    update: &PlannedUpdate,
    now: Timestamp,
) -> Fact<UpdatePlanState> {
    let api: Api<UpdatePlan> = Api::all(client.clone());
    match api.get(&plan_name(&update.version)).await {
        Ok(plan) => match state(&plan, current, update, now) {
            UpdatePlanState::Startable => {
                let parts: Api<UpdatePlanInsight> = Api::all(client.clone());
                let parts = list_all(&parts, ListParams::default()).await;
                let parts = parts.map_err(|error| Unread::Failed(refusal::words(&error)))?;
                Ok(as_accepted_now(&plan, update, &parts, now))
            }
            state => Ok(state),
        },
        Err(kube::Error::Api(refused)) if refused.reason == "NotFound" && refused.details.is_some() => {
            Ok(UpdatePlanState::Outdated(PlanAsker::Cluster))
        }
        Err(error) => Err(Unread::Failed(refusal::words(&error))),
    }
}

/// Has the informers asked about an update: its UpdatePlan is created, or refreshed.
///
/// # Errors
/// If the server refuses.
pub(crate) async fn request(
    client: &Client,
    update: &PlannedUpdate,
    asker: PlanAsker,
    now: Timestamp,
) -> Result<(), kube::Error> {
    let api: Api<UpdatePlan> = Api::all(client.clone());
    let parameters = PatchParams::apply(AGENT_MANAGER).force();
    let wanted = Patch::Apply(update.plan_request(asker, now));
    api.patch(&plan_name(&update.version), &parameters, &wanted)
        .await
        .map(drop)
}

/// What a plan that lets the update start says at this moment: an acceptance may have ended, or been taken back, since the agent wrote it, and
/// what the hub has accepted for one of its upgrades counts for no other update.
fn as_accepted_now(
    plan: &UpdatePlan,
    update: &PlannedUpdate,
    parts: &[UpdatePlanInsight],
    now: Timestamp,
) -> UpdatePlanState {
    let is_held = |checks: PreChecks| checks.verdict == Verdict::Stop;
    if is_held(of_plan(plan, parts, now)) {
        return UpdatePlanState::Held("an acceptance that it counted with has ended".to_owned());
    }
    if !is_held(of_plan_for(plan, update.of_upgrade.as_deref(), parts, now)) {
        return UpdatePlanState::Startable;
    }
    let upgrade = plan.spec.upgrade().unwrap_or("the hub");
    UpdatePlanState::Held(format!(
        "what is accepted is accepted for upgrade {upgrade} of the hub alone: to accept it for this update, accept it on the cluster \
         (kubectl drydock cluster pre-checks --version {} --accept UUID)",
        update.version
    ))
}

/// What was said of another version than the cluster runs, of another release than is going to be requested, or a while ago, says nothing of
/// this update now: the informers are asked again. Not while the hub has them asked about another release: its answer would be about this one.
fn state(
    plan: &UpdatePlan,
    current: Option<&str>,
    update: &PlannedUpdate,
    now: Timestamp,
) -> UpdatePlanState {
    let asker = plan.spec.asker();
    if !update.is_asked_by(&plan.spec) {
        if asker == PlanAsker::Cluster {
            return UpdatePlanState::Outdated(asker);
        }
        let upgrade = plan.spec.upgrade().unwrap_or_default();
        return UpdatePlanState::AskedOtherwise(upgrade.to_owned());
    }
    let status = plan.status.clone().unwrap_or_default();
    match population(plan) {
        Population::Awaits(_) | Population::Unseen => return UpdatePlanState::Collecting,
        Population::Over => return UpdatePlanState::Outdated(asker),
        Population::Populated => {}
    }
    let is_of_base = current.is_some() && status.base_version.as_deref() == current;
    let collected = status.collected_at.as_ref();
    let is_recent = collected.is_some_and(|collected| now.duration_since(collected.0) < FRESH);
    if !is_of_base || !is_recent {
        return UpdatePlanState::Outdated(asker);
    }
    let may_start = status.verdict.is_some_and(|verdict| verdict != Verdict::Stop);
    if may_start && conditions::is_true(&status.conditions, condition::STARTABLE) {
        return UpdatePlanState::Startable;
    }
    let startable = conditions::find(&status.conditions, condition::STARTABLE);
    let why = startable.map(|startable| startable.message.clone());
    UpdatePlanState::Held(why.unwrap_or_else(|| "its UpdatePlan does not say that it may".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-05T08:00:00Z";

    fn said(status: &Value) -> UpdatePlanState {
        let plan = json!({
            "metadata": {"name": "update-plan-4.14.4", "generation": 2}, "spec": {"targetRelease": "4.14.4"}, "status": status,
        });
        let plan = serde_json::from_value(plan).unwrap();
        let update = PlannedUpdate::to_version("4.14.4");
        state(&plan, Some("4.14.3"), &update, NOW.parse().unwrap())
    }

    /// What was found out about the release that is offered says nothing of another image under its version, nor of the one for several
    /// architectures; and what is accepted of one of these is accepted of no other.
    #[test]
    fn a_plan_of_another_release_under_the_version_says_nothing() {
        let image_of = |digit: &str| format!("quay.io/r@sha256:{}", digit.repeat(64));
        let image = image_of;
        let update = |image: Option<String>, architecture: Option<&str>| PlannedUpdate {
            version: "4.14.4".to_owned(),
            image,
            architecture: architecture.map(str::to_owned),
            offered: Some(image_of("o")),
            of_upgrade: None,
        };
        let (startable, outdated) = (
            UpdatePlanState::Startable,
            UpdatePlanState::Outdated(PlanAsker::Cluster),
        );
        let plain = || update(None, None);
        let one = || update(Some(image("a")), None);
        let other = || update(Some(image("b")), None);
        let multi = || update(None, Some("Multi"));
        let offered = || update(Some(image("o")), None);
        for (asked, wanted, expected) in [
            (plain(), plain(), startable.clone()),
            (plain(), update(Some(String::new()), Some("")), startable.clone()),
            (plain(), one(), outdated.clone()),
            (plain(), multi(), outdated.clone()),
            (one(), one(), startable.clone()),
            // Who names the image that is offered asks for nothing else.
            (plain(), offered(), startable.clone()),
            (offered(), plain(), startable.clone()),
            (offered(), offered(), startable.clone()),
            (offered(), one(), outdated.clone()),
            (one(), other(), outdated.clone()),
            (one(), plain(), outdated.clone()),
            (multi(), plain(), outdated),
            (multi(), multi(), startable),
        ] {
            let mut plan = asked.plan_request(PlanAsker::Cluster, NOW.parse().unwrap());
            plan["status"] = json!({
                "baseVersion": "4.14.3", "phase": "Ready", "collectedAt": NOW, "verdict": "Go",
                "conditions": [{"type": "Startable", "status": "True", "reason": "R", "message": "", "lastTransitionTime": NOW}],
            });
            let plan: UpdatePlan = serde_json::from_value(plan).unwrap();
            let said = state(&plan, Some("4.14.3"), &wanted, NOW.parse().unwrap());
            assert_eq!(said, expected, "{asked:?} {wanted:?}");
            let mut of_hub = plan;
            of_hub.spec.asked_for = Some("hub/spring".to_owned());
            let said = state(&of_hub, Some("4.14.3"), &wanted, NOW.parse().unwrap());
            // The hub changes no architecture, and its question is left to it.
            let own = |update: &PlannedUpdate| {
                update
                    .image
                    .clone()
                    .filter(|image| !image.is_empty() && *image != image_of("o"))
            };
            let is_about_same = own(&asked) == own(&wanted);
            let is_plain = wanted.architecture.as_ref().is_none_or(String::is_empty);
            let is_startable = is_about_same && is_plain;
            let expected = if is_startable {
                UpdatePlanState::Startable
            } else {
                UpdatePlanState::AskedOtherwise("hub/spring".to_owned())
            };
            assert_eq!(said, expected, "{asked:?} {wanted:?}");
        }
    }

    /// The agent judges its plans one after another: it may not have come to this one since an acceptance ended.
    #[test]
    fn an_acceptance_that_has_ended_since_the_plan_was_judged_holds() {
        let plan: UpdatePlan = serde_json::from_value(json!({
            "metadata": {"name": "update-plan-4.14.4", "uid": "p", "generation": 2}, "spec": {"targetRelease": "4.14.4"},
            "status": {"observedGeneration": 2, "phase": "Ready", "informers": [{"name": "mco", "state": "Success"}]},
        }))
        .unwrap();
        let accepted = |until: &str| {
            json!([{
                "uuid": "u", "level": "Warning", "acceptedBy": "ann", "acceptedAt": "2026-01-05T07:00:00Z", "until": until,
            }])
        };
        let held = UpdatePlanState::Held("an acceptance that it counted with has ended".to_owned());
        for (accepted, expected) in [
            (accepted("2026-01-05T08:00:01Z"), UpdatePlanState::Startable),
            (accepted(NOW), held.clone()),
            (json!([]), held),
        ] {
            let part = json!({
                "metadata": {"name": "p"},
                "spec": {"targetRelease": "4.14.4", "updateInformer": "mco", "acceptedInsights": accepted},
                "status": {"planUid": "p", "planGeneration": 2, "state": "Success", "insights": [{
                    "uuid": "u", "uid": "a", "acquisitionTime": NOW, "firstSeen": NOW, "acceptance": "Accepted",
                    "scope": {"type": "ControlPlane"},
                    "impact": {"level": "Warning", "type": "None", "summary": "a pool is paused", "description": "d"},
                }]},
            });
            let part: UpdatePlanInsight = serde_json::from_value(part).unwrap();
            let update = PlannedUpdate::to_version("4.14.4");
            let said = as_accepted_now(&plan, &update, &[part], NOW.parse().unwrap());
            assert_eq!(said, expected);
        }
    }

    /// Somebody has accepted it for the upgrade that waits for it, which may be paused, or have other clusters to go first.
    #[test]
    fn what_the_hub_has_accepted_for_an_upgrade_starts_no_other_update() {
        let part: UpdatePlanInsight = serde_json::from_value(json!({
            "metadata": {"name": "p"},
            "spec": {"targetRelease": "4.14.4", "updateInformer": "mco"},
            "status": {"planUid": "p", "planGeneration": 2, "state": "Success", "insights": [{
                "uuid": "0123456789abcdef0123456789abcdef", "uid": "a", "acquisitionTime": NOW, "firstSeen": NOW,
                "acceptance": "Accepted", "scope": {"type": "ControlPlane"},
                "impact": {"level": "Warning", "type": "None", "summary": "a pool is paused", "description": "d"},
            }]},
        }))
        .unwrap();
        let plan: UpdatePlan = serde_json::from_value(json!({
            "metadata": {"name": "update-plan-4.14.4", "uid": "p", "generation": 2},
            "spec": {
                "targetRelease": "4.14.4", "askedFor": "hub/spring 0123456789",
                "acceptedRisks": [{
                    "uuid": "0123456789abcdef0123456789abcdef", "id": "1", "level": "Warning", "acceptedBy": "ann", "reason": "known",
                }],
            },
            "status": {"observedGeneration": 2, "phase": "Ready", "informers": [{"name": "mco", "state": "Success"}]},
        }))
        .unwrap();
        for (upgrade, starts) in [
            (Some("hub/spring"), true),
            (Some("hub/autumn"), false),
            (None, false),
        ] {
            let update = PlannedUpdate {
                of_upgrade: upgrade.map(str::to_owned),
                ..PlannedUpdate::to_version("4.14.4")
            };
            let said = as_accepted_now(&plan, &update, std::slice::from_ref(&part), NOW.parse().unwrap());
            assert_eq!(
                said == UpdatePlanState::Startable,
                starts,
                "{upgrade:?}: {said:?}"
            );
        }
    }

    /// The hub would change back what is not its own, and say meanwhile that somebody has changed it.
    #[test]
    fn a_plan_of_the_hub_is_asked_anew_without_a_change_of_its_question() {
        let image = |digit: &str| format!("quay.io/r@sha256:{}", digit.repeat(64));
        let update = PlannedUpdate {
            image: Some(image("o")),
            offered: Some(image("o")),
            ..PlannedUpdate::to_version("4.14.4")
        };
        let plan: UpdatePlan = serde_json::from_value(json!({
            "metadata": {"name": "update-plan-4.14.4"},
            "spec": {
                "targetRelease": "4.14.4", "targetImage": "", "refreshRequestedAt": "2026-01-05T07:00:00Z", "askedFor": "hub/spring",
            },
            "status": {
                "baseVersion": "4.14.3", "phase": "Ready", "collectedAt": "2026-01-05T07:00:00Z", "verdict": "Go",
            },
        }))
        .unwrap();
        let now = NOW.parse().unwrap();
        let said = state(&plan, Some("4.14.3"), &update, now);
        assert_eq!(said, UpdatePlanState::Outdated(PlanAsker::Hub));
        let spec = json!({"targetRelease": "4.14.4", "localRefreshRequestedAt": NOW});
        assert_eq!(update.plan_request(PlanAsker::Hub, now)["spec"], spec);
        let own = json!({
            "targetRelease": "4.14.4", "targetImage": image("o"), "targetArchitecture": "", "refreshRequestedAt": NOW,
        });
        assert_eq!(update.plan_request(PlanAsker::Cluster, now)["spec"], own);
    }

    /// What held it may be corrected, and something else may have come up: only what is fresh counts, either way.
    #[test]
    fn only_what_is_fresh_holds_or_frees() {
        let with = |phase: &str, collected: &str, verdict: &str| {
            let startable = if verdict == "Stop" { "False" } else { "True" };
            said(&json!({
                "observedGeneration": 2, "baseVersion": "4.14.3", "phase": phase, "collectedAt": collected, "verdict": verdict,
                "conditions": [{
                    "type": "Startable", "status": startable, "reason": "R", "message": "a pool is paused",
                    "lastTransitionTime": NOW,
                }],
            }))
        };
        let held = UpdatePlanState::Held("a pool is paused".to_owned());
        let (fresh, old) = ("2026-01-05T07:56:00Z", "2026-01-05T07:55:00Z");
        for (phase, collected, verdict, meant) in [
            ("Ready", fresh, "Go", UpdatePlanState::Startable),
            ("Ready", fresh, "Caution", UpdatePlanState::Startable),
            ("Ready", fresh, "Stop", held.clone()),
            ("Failed", fresh, "Stop", held),
            ("Ready", old, "Go", UpdatePlanState::Outdated(PlanAsker::Cluster)),
            (
                "Ready",
                old,
                "Stop",
                UpdatePlanState::Outdated(PlanAsker::Cluster),
            ),
            ("Collecting", old, "Go", UpdatePlanState::Collecting),
            (
                "Stale",
                fresh,
                "Go",
                UpdatePlanState::Outdated(PlanAsker::Cluster),
            ),
        ] {
            assert_eq!(
                with(phase, collected, verdict),
                meant,
                "{phase} {collected} {verdict}"
            );
        }
        let of_another_version = json!({
            "observedGeneration": 2, "baseVersion": "4.14.2", "phase": "Ready", "collectedAt": fresh, "verdict": "Go",
        });
        assert_eq!(
            said(&of_another_version),
            UpdatePlanState::Outdated(PlanAsker::Cluster)
        );
        assert_eq!(
            said(&json!({"observedGeneration": 1})),
            UpdatePlanState::Collecting
        );
    }
}
