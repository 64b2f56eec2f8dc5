//! `cluster pre-checks` and `cluster start`.

use drydock_api::insights::{UpdateInformer, UpdatePlan, UpdatePlanInsight};
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::cluster_version::ClusterVersionSpec;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, PostParams};

use super::*;

const UUID: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn objects_in_files_are_checked_and_nothing_is_accepted() {
    let folder = written();
    let checked = run("pre-checks", folder.path(), &[]);
    let printed = text(&checked.stdout);
    assert!(
        printed.starts_with("Update from 4.14.1 to 4.14.2: Stop (1 finding is not accepted)\n"),
        "{printed}"
    );
    assert!(!printed.contains("first seen"), "nobody remembers: {printed}");
    assert!(
        printed.contains("  Details:        Why: \\u{1b}[2Jred\\u{202e}\n"),
        "{printed}"
    );
    let blind = "Without objects to look at: drydock.etcd, drydock.installed-operators, drydock.machine-config-pools, \
                 drydock.node-capacity, drydock.nodes, drydock.pod-disruption-budgets, drydock.api-removals\n";
    assert!(printed.contains(blind), "{printed}");
    assert_eq!(
        text(&checked.stderr),
        "computed of objects in files: nobody was asked, and nothing can be accepted\n"
    );
    assert_eq!(checked.status.code(), Some(1));
    let report: Value =
        serde_json::from_slice(&run("pre-checks", folder.path(), &["-o", "json"]).stdout).unwrap();
    assert_eq!(
        (&report["verdict"], &report["findings"][0]["uid"]),
        (&json!("Stop"), &json!("failing"))
    );
    let refused = run(
        "pre-checks",
        folder.path(),
        &["--accept", UUID, "--reason", "known"],
    );
    assert!(text(&refused.stderr).contains("nothing can be accepted of objects in files"));
    for arguments in [
        &["--accept", UUID][..],
        &["--accept", "failing", "--reason", "known"],
        &["--accept", &format!("{UUID}=Worst"), "--reason", "known"],
        &["--reason", "known"],
        &["--accept", UUID, "--reason", " "],
        &["--timeout", "2h"],
    ] {
        let refused = run("pre-checks", folder.path(), arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
    }
}

/// `oc get pods -A -o yaml` of a cluster that is not even large.
#[test]
fn a_dump_of_all_pods_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let pod = |number: usize| {
        let labels: String = (0..60)
            .map(|label| format!("      l{label}: \"{number}\"\n"))
            .collect();
        format!(
            "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p{number}\n    namespace: n\n    labels:\n{labels}  status: {{}}\n"
        )
    };
    let pods: String = (0..3000).map(pod).collect();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{pods}");
    std::fs::write(folder.path().join("pods.yaml"), list).unwrap();
    let refused = text(&run("status", folder.path(), &[]).stderr);
    assert!(
        refused.contains("ClusterVersion"),
        "only that is missing: {refused}"
    );
}

#[test]
fn dumps_of_real_clusters_are_checked() {
    for (case, target, verdict) in [
        ("4.12.16-updates", "4.12.64", "Caution"),
        ("4.16.27-degraded-monitoring", "4.16.32", "Stop"),
    ] {
        let Some(folder) = fixtures("openshift") else {
            return;
        };
        let printed = text(&run("pre-checks", &folder.join(case), &[]).stdout);
        let expected = format!(" to {target}: {verdict} (");
        assert!(
            printed.lines().next().unwrap().contains(&expected),
            "{case}: {printed}"
        );
    }
}

/// As it is said of a cluster that is there: nobody starts it any more.
#[test]
fn of_an_update_that_has_begun_nothing_is_found_in_files() {
    let Some(folder) = fixtures("openshift") else {
        return;
    };
    let case = folder.join("4.16.27-degraded-monitoring");
    let refused = run("pre-checks", &case, &["--version", "4.16.27"]);
    assert!(!refused.status.success());
    let said = text(&refused.stderr);
    assert!(
        said.contains("the update to 4.16.27 has begun, or the cluster is beyond it"),
        "{said}"
    );
}

/// The first of the conditional updates of a cluster.
async fn conditional(client: &Client) -> String {
    let version = Api::<ClusterVersion>::all(client.clone())
        .get("version")
        .await
        .unwrap();
    let updates = version.status.unwrap().conditional_updates;
    updates[0].release.version.clone().unwrap()
}

/// What the agent's ClusterVersion informer has found that is accepted.
async fn accepted_uuid(client: &Client, target: &str) -> String {
    let parts: Api<UpdatePlanInsight> = Api::all(client.clone());
    let name = format!("update-plan-{target}.drydock.cluster-version");
    parts.get(&name).await.unwrap().spec.accepted_insights[0]
        .uuid
        .clone()
}

async fn spec(client: &Client) -> ClusterVersionSpec {
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    versions.get("version").await.unwrap().spec
}

/// Takes the kinds of update insights from a cluster.
async fn remove_kinds(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for kind in [
        "updateplans",
        "updateplaninsights",
        "updatestatuses",
        "updateinformers",
    ] {
        let name = format!("{kind}.config.openshift.io");
        definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    }
}

async fn lock(client: &Client, holder: Option<&str>) {
    let patch = json!({"metadata": {"annotations": {UPGRADE_LOCK_ANNOTATION: holder}}});
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    let patch = Patch::Merge(patch);
    versions
        .patch("version", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// The agent, which runs, keeps no plan of it.
#[tokio::test]
async fn a_release_that_the_cluster_is_beyond_is_checked_by_its_objects() {
    let sandbox = Sandbox::start(&["--speed", "60", "--clusters", "1"]);
    sandbox.client("dev1").await;
    let before = sandbox.run(&["cluster", "pre-checks", "--version", "4.1.0", "--context", "dev1"]);
    assert_eq!(before.status.code(), Some(1), "{}", text(&before.stderr));
    assert!(text(&before.stdout).contains("4.1.0 is not newer"));
    assert!(text(&before.stderr).contains("no plan is kept of a release"));
}

#[tokio::test]
async fn an_update_starts_when_its_findings_are_accepted() {
    let sandbox = Sandbox::start(&["--speed", "60", "--clusters", "3", "--fault", "dev3=F7"]);
    let client = sandbox.client("dev3").await;
    let target = conditional(&client).await;
    let with = |words: &[&str]| -> Vec<String> {
        let of_cluster = ["--version", target.as_str(), "--context", "dev3"];
        let all = ["cluster"].iter().chain(words).chain(&of_cluster);
        all.map(|word| (*word).to_owned()).collect()
    };
    let run = |words: &[&str]| {
        let arguments = with(words);
        sandbox.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let held = run(&["pre-checks", "-o", "json"]);
    assert_eq!(held.status.code(), Some(1), "{}", text(&held.stderr));
    let report: Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!(report["verdict"], "Stop");
    let uuid = report["findings"][0]["uuid"].as_str().unwrap();
    let refused = run(&["start"]);
    assert!(text(&refused.stderr).contains("--allow-not-recommended"));
    let refused = run(&["start", "--allow-not-recommended"]);
    assert!(text(&refused.stderr).contains("findings that nobody has accepted: 1"));
    let unknown = run(&["pre-checks", "--accept", UUID, "--reason", "known"]);
    assert!(text(&unknown.stderr).contains("there is no finding"));
    let accepted = run(&[
        "pre-checks",
        "--accept",
        uuid,
        "--reason",
        "known",
        "--until",
        "2100-01-01T00:00:00Z",
    ]);
    let printed = text(&accepted.stdout);
    assert!(
        printed.contains(": Caution (what was found is accepted or ignored)\n"),
        "{printed}"
    );
    assert!(
        printed.contains(" until 2100-01-01T00:00:00Z, because: known\n"),
        "{printed}"
    );
    assert!(accepted.status.success());
    assert_eq!(accepted_uuid(&client, &target).await, uuid);
    let before = spec(&client).await;
    let dry = run(&["start", "--allow-not-recommended", "--dry-run"]);
    assert!(
        text(&dry.stdout).ends_with(" (dry run: nothing is written).\n"),
        "{}",
        text(&dry.stderr)
    );
    assert_eq!(spec(&client).await, before);
    let started = run(&["start", "--allow-not-recommended"]);
    assert!(text(&started.stdout).starts_with(&format!("Requested the update to {target} (")));
    let after = spec(&client).await;
    let wanted = after.desired_update.clone().unwrap();
    assert_eq!(wanted.version.as_ref(), Some(&target));
    assert!(wanted.image.is_some());
    assert_eq!(
        (after.channel, after.cluster_id),
        (before.channel, before.cluster_id)
    );
    let again = run(&["start"]);
    assert!(
        text(&again.stdout).contains(" already"),
        "{}",
        text(&again.stderr)
    );
    assert!(again.status.success());
}

/// What was found a moment ago knows nothing of what somebody has requested since, and which the cluster refuses.
#[tokio::test]
async fn another_request_is_a_finding_at_once() {
    let sandbox = Sandbox::start(&["--speed", "60", "--clusters", "3", "--fault", "dev3=F5"]);
    let client = sandbox.client("dev3").await;
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    let status = versions.get("version").await.unwrap().status.unwrap();
    let offered = status.available_updates.iter();
    let offered: Vec<String> = offered.filter_map(|release| release.version.clone()).collect();
    let run = |command: &str, version: &str, more: &[&str]| {
        let given = ["cluster", command, "--context", "dev3", "--version", version];
        sandbox.run(&given.iter().chain(more).copied().collect::<Vec<_>>())
    };
    let checked = run("pre-checks", &offered[0], &[]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    let requested = run("start", &offered[1], &["--pre-checks=false"]);
    assert!(requested.status.success(), "{}", text(&requested.stderr));
    let held = run("start", &offered[0], &["--allow-upgrade-with-warnings"]);
    let printed = text(&held.stdout);
    let finding = format!("An update to {} has been requested", offered[1]);
    assert!(printed.contains(&finding), "{printed}{}", text(&held.stderr));
    assert!(!held.status.success());
    let wanted = spec(&client).await.desired_update.unwrap().version;
    assert_eq!(wanted.as_ref(), Some(&offered[1]));
}

async fn install_informer(client: &Client) {
    let informer: UpdateInformer = serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1beta1", "kind": "UpdateInformer", "metadata": {"name": "storage"},
        "spec": {"clientConfig": {"service": {"namespace": "storage", "name": "informer"}}},
    }))
    .unwrap();
    let informers = Api::<UpdateInformer>::all(client.clone());
    informers.create(&PostParams::default(), &informer).await.unwrap();
}

/// What nobody looks at is taken back.
async fn no_plan_is_left(client: &Client) {
    let plans = Api::<UpdatePlan>::all(client.clone());
    let left = plans.list(&ListParams::default()).await.unwrap().items;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_cluster_without_an_agent_is_checked_by_its_objects() {
    let sandbox = Sandbox::start(&["--speed", "60", "--clusters", "1"]);
    let of_cluster = ["--context", "dev1"];
    let with = |words: &[&'static str]| -> Vec<&'static str> {
        ["cluster"]
            .iter()
            .chain(words)
            .chain(&of_cluster)
            .copied()
            .collect()
    };
    let asked = sandbox.run(&with(&["pre-checks", "--timeout", "1s"]));
    assert!(
        text(&asked.stdout).contains(": Caution (not everything was looked at)"),
        "{}",
        text(&asked.stderr)
    );
    let note = text(&asked.stderr);
    assert!(note.contains("nobody looks at its UpdatePlans"), "{note}");
    let unseen = "pre-checks --timeout 1s --reason known --accept".split(' ');
    let unseen: Vec<_> = unseen.chain([UUID]).collect();
    let nobody = sandbox.refuses(&with(&unseen));
    assert!(nobody.contains("whether drydock-agent runs"), "{nobody}");
    let client = sandbox.client("dev1").await;
    no_plan_is_left(&client).await;
    let said = text(&asked.stdout);
    let (_, target) = said.split_once(" to ").unwrap();
    let target = target.split(':').next().unwrap().to_owned();
    let start = |words: &[&str]| {
        let given = [
            "cluster",
            "start",
            "--context",
            "dev1",
            "--version",
            target.as_str(),
        ];
        sandbox.run(&given.iter().chain(words).copied().collect::<Vec<_>>())
    };
    // Others should be asked, and nobody asks them.
    install_informer(&client).await;
    let held = text(&start(&["--timeout", "1s"]).stderr);
    assert!(held.contains("whether drydock-agent runs"), "{held}");
    remove_kinds(&client).await;
    let checked = sandbox.run(&with(&["pre-checks"]));
    assert!(
        text(&checked.stdout).contains(&format!(" to {target}: Caution (")),
        "{}",
        text(&checked.stderr)
    );
    let note = text(&checked.stderr);
    assert!(
        note.starts_with("computed of the cluster's objects, since it has no UpdatePlans"),
        "{note}"
    );
    let refused = sandbox.refuses(&with(&["pre-checks", "--accept", UUID, "--reason", "known"]));
    assert!(refused.contains("since it has no UpdatePlans"), "{refused}");
    let not_offered = start(&["--version", "4.99.0", "--pre-checks=false"]);
    assert!(!not_offered.status.success());
    lock(&client, Some("somebody")).await;
    let locked = text(&start(&["--pre-checks=false"]).stderr);
    assert!(locked.contains("belongs to \"somebody\""), "{locked}");
    // An UpgradeJob that does not exist holds nobody.
    lock(&client, Some("team/job")).await;
    let started = start(&[]);
    assert!(
        text(&started.stdout).starts_with("Requested the update to"),
        "{}",
        text(&started.stderr)
    );
}
