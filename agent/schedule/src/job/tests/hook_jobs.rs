//! The Jobs of hooks, and whose they are (Maintenance schedules, section 3.6).

use std::collections::BTreeSet;

use drydock_api::schedule::HookEvent;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::fixture::*;
use super::world::World;

fn world(hooks: impl IntoIterator<Item = drydock_api::schedule::UpgradeJobHook>) -> World {
    World::new([job("j")]).with_hooks(hooks)
}

fn variables(job: &Job, container: &str) -> Vec<(String, String)> {
    let spec = json!(job.spec);
    let containers = &spec["template"]["spec"][container];
    let environment = containers[0]["env"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    environment
        .map(|variable| (text(&variable["name"]), text(&variable["value"])))
        .collect()
}

#[test]
fn the_environment_is_appended_to_all_containers() {
    let mut hook = hook("h", &[HookEvent::Start]);
    let spec = hook.spec.template.as_mut().unwrap().spec.as_mut().unwrap();
    let init = json!([{ "name": "i" }, { "name": "k", "env": null }]);
    spec.get_mut("template").unwrap()["spec"]["initContainers"] = init;
    hook.spec.disruptive = Some(true);
    let mut world = world([hook]);
    world.jobs.get_mut("j").unwrap().metadata.labels = Some(labels("my-var.io/info", "x"));
    world.settle("j");
    let job = &world.hook_jobs["j-hook-start-h"];
    let all = variables(job, "containers");
    assert_eq!(all[0], ("OWN".to_owned(), "1".to_owned()));
    assert_eq!(all[1..], variables(job, "initContainers"));
    assert!(all[1..].is_sorted());
    let value = |name: &str| {
        let found = all.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    for (name, expected) in [
        ("EVENT", r#"{"name":"Start","pool":"","reason":"Started"}"#),
        ("EVENT_name", "\"Start\""),
        ("EVENT_reason", "\"Started\""),
        ("EVENT_pool", "\"\""),
        ("META", r#"{"matchesDisruptiveHooks":true}"#),
        ("META_matchesDisruptiveHooks", "true"),
        ("JOB_spec_desiredVersion_version", "\"4.16.5\""),
        ("JOB_metadata_labels_my_var_io_info", "\"x\""),
        ("JOB_status_conditions_0_type", "\"Started\""),
        ("JOB_spec_config_upgradeTimeout", "\"12h\""),
    ] {
        assert_eq!(value(name), Some(expected), "{name}");
    }
    let whole: Value = serde_json::from_str(value("JOB").unwrap()).unwrap();
    assert_eq!(whole["kind"], "UpgradeJob");
}

#[test]
fn the_job_has_labels_finalizer_owner_and_what_its_template_has() {
    let mut hook = hook("h", &[HookEvent::Start]);
    let template = hook.spec.template.as_mut().unwrap();
    template.metadata = serde_json::from_value(json!({
        "labels": { "own": "label" }, "annotations": { "own": "annotation" }, "name": "ignored",
    }))
    .unwrap();
    let newer = json!({ "x": 1 });
    template
        .spec
        .as_mut()
        .unwrap()
        .insert("newerThanUs".to_owned(), newer.clone());
    let mut world = world([hook]);
    world.settle("j");
    let job = &world.hook_jobs["j-hook-start-h"];
    let prefix = "upgradejobs.managedupgrade.appuio.io";
    let expected = json!({
        "own": "label",
        format!("{prefix}/upgradejobhook"): "h",
        format!("{prefix}/upgradejobk"): "j",
        format!("{prefix}/event"): "Start",
        format!("{prefix}/tracking-key"): "",
    });
    assert_eq!(json!(job.labels()), expected);
    assert_eq!(json!(job.annotations()), json!({ "own": "annotation" }));
    let owner = &job.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str(), owner.controller),
        ("UpgradeJob", "uid-j", Some(true))
    );
    let created = world.written.iter().find_map(|write| match write {
        crate::job::JobWrite::CreateHookJob(job) => Some(&job.data["spec"]["newerThanUs"]),
        _ => None,
    });
    assert_eq!(created, Some(&newer));
}

/// Names of up to 253 characters: labels have at most 63.
#[test]
fn long_names_do_not_break_creation_and_tracking() {
    let (long_job, long_hook) = ("j".repeat(200), "h".repeat(200));
    let mut world = World::new([job(&long_job)]).with_hooks([hook(&long_hook, &[HookEvent::Start])]);
    world.settle(&long_job);
    assert_eq!(world.hook_jobs.len(), 1);
    let created = world.hook_jobs.values().next().unwrap();
    assert!(created.labels().values().all(|label| label.len() <= 63));
    assert_eq!(
        world.tracker(&long_job)[0].upgrade_job_hook.as_deref(),
        Some(long_hook.as_str())
    );
    assert_eq!(world.tracker(&long_job).len(), 1);
    world.end_hooks("j", "Complete");
    world.settle(&long_job);
    assert_eq!(world.tracker(&long_job)[0].status.as_deref(), Some("complete"));
}

/// An UpgradeJob that was deleted and created anew has the same name, and so have the Jobs of its hooks.
#[test]
fn jobs_of_an_earlier_namesake_are_let_go_and_not_mistaken() {
    let mut world = world([hook("h", &[HookEvent::Start])]);
    world.settle("j");
    let mut anew = job("j");
    anew.metadata.uid = Some("uid-anew".to_owned());
    world.jobs.insert("j".to_owned(), anew);
    world.delete_hook_jobs("h");
    assert_eq!(world.hook_jobs.len(), 1, "its finalizer keeps it");
    world.settle("j");
    assert_eq!(world.created.len(), 2);
    let job = &world.hook_jobs["j-hook-start-h"];
    assert_eq!(job.owner_references()[0].uid, "uid-anew");
}

#[test]
fn jobs_whose_upgrade_job_is_gone_are_let_go() {
    let mut world = world([hook("h", &[HookEvent::Start])]);
    world.settle("j");
    let jobs: Vec<_> = world.jobs.values().cloned().collect();
    assert!(super::super::hooks::orphans(world.hook_jobs.values(), &jobs).is_empty());
    let writes = super::super::hooks::orphans(world.hook_jobs.values(), &[]);
    for write in &writes {
        assert!(world.apply(write));
    }
    assert!(world.hook_jobs["j-hook-start-h"].finalizers().is_empty());
}

/// Jobs that the original has created are tracked, and not created again.
#[test]
fn jobs_of_the_original_are_taken_over() {
    let mut world = world([hook("h", &[HookEvent::Start])]);
    let mut other = world.clone();
    other.settle("j");
    world.hook_jobs = other.hook_jobs;
    world.end_hooks("h", "Complete");
    world.settle("j");
    assert!(world.created.is_empty());
    assert_eq!(world.tracker("j")[0].status.as_deref(), Some("complete"));
    assert_eq!(world.lock(), Some("maintenance/j"));
}

/// What each event passes on: the reason, and the pool.
#[test]
fn each_event_has_its_reason_and_an_unpause_its_pool() {
    let events = [
        HookEvent::Create,
        HookEvent::Start,
        HookEvent::UpgradeComplete,
        HookEvent::MachineConfigPoolUnpause,
        HookEvent::Success,
        HookEvent::Failure,
        HookEvent::Finish,
    ];
    let reasons = |world: &World| {
        let of = |job: &Job| {
            let all = variables(job, "containers");
            let value = |name: &str| {
                all.iter()
                    .find(|(known, _)| known == name)
                    .unwrap()
                    .1
                    .replace('"', "")
            };
            format!(
                "{} {} {}",
                value("EVENT_name"),
                value("EVENT_reason"),
                value("EVENT_pool")
            )
        };
        world.hook_jobs.values().map(of).collect::<BTreeSet<_>>()
    };
    let end = |world: &mut World| {
        for _ in 0..3 {
            world.settle("j");
            world.end_hooks("hook", "Complete");
        }
        world.settle("j");
    };
    let mut job = job("j");
    job.spec.config.machine_config_pools = Some(vec![delay("worker", Some("2h"), None)]);
    let mut world = World::new([job])
        .with_hooks([hook("h", &events)])
        .with_pools([pool("worker"), pool("idle")]);
    end(&mut world);
    world.update();
    end(&mut world);
    let mut failing = world.clone();
    world.now = START + hours(2);
    end(&mut world);
    world.update_nodes();
    end(&mut world);
    let begun = ["Create  ", "Start Started ", "UpgradeComplete Completed "];
    let succeeded = [
        "MachineConfigPoolUnpause DelayReached worker",
        "Success Succeeded ",
        "Finish Succeeded ",
    ];
    let expected = |ends: &[&str]| {
        begun
            .iter()
            .chain(ends)
            .map(|text| (*text).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(reasons(&world), expected(&succeeded));
    failing.now = START + hours(13);
    end(&mut failing);
    assert_eq!(
        reasons(&failing),
        expected(&["Failure TimedOut ", "Finish TimedOut "])
    );
}
