//! As whom actions of upgrades are executed, on a real API server: nobody gets the hub's right to do so by writing an upgrade, and the
//! hub has it where the manifests grant it.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests::{self, in_repository};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::manifests::kustomized;

const BACKUP: &str = "system:serviceaccount:upgrade-actions:backup";
const WORK_AGENT: &str = "system:serviceaccount::klusterlet-work-sa";
const HUB: &str = "system:serviceaccount:drydock:drydock-hub";

async fn apply(admin: &Client, object: Value) {
    manifests::apply(admin, &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
}

/// A ClusterRole, bound to a user in one namespace or in all.
async fn grant(admin: &Client, role: &str, rule: Value, user: &str, namespace: Option<&str>) {
    let rbac = "rbac.authorization.k8s.io";
    let api = format!("{rbac}/v1");
    let kind = if namespace.is_some() {
        "RoleBinding"
    } else {
        "ClusterRoleBinding"
    };
    apply(
        admin,
        json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": role}, "rules": [rule]}),
    )
    .await;
    apply(
        admin,
        json!({
            "apiVersion": api, "kind": kind,
            "metadata": {"name": format!("{role}-{user}"), "namespace": namespace},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}],
        }),
    )
    .await;
}

fn execute_as(executor: &str) -> Value {
    json!({
        "apiGroups": ["work.open-cluster-management.io"], "resources": ["manifestworks"], "verbs": ["execute-as"],
        "resourceNames": [executor],
    })
}

/// The hub with the sample's executors; `insider` may act as one of them, `local` may so in one cluster's namespace, and all
/// may write upgrades.
async fn start() -> ControlPlane {
    let mut settings = Settings::named("hub");
    settings.users = ["outsider", "insider", "local"]
        .map(|name| (name.to_owned(), Vec::new()))
        .into();
    settings
        .controllers
        .push("validatingadmissionpolicy-status-controller".to_owned());
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    let definitions = drydock_api::crds();
    manifests::install(&admin, &definitions[..2]).await.unwrap();
    for object in kustomized("manifests/samples/hub-with-executors") {
        manifests::apply(&admin, &object).await.unwrap();
    }
    apply(
        &admin,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev1"}}),
    )
    .await;
    let upgrades = json!({
        "apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclustersupgrades"], "verbs": ["*"],
    });
    for user in ["outsider", "insider", "local"] {
        grant(&admin, "upgrader", upgrades.clone(), user, None).await;
    }
    grant(&admin, "backup", execute_as(BACKUP), "insider", None).await;
    grant(&admin, "backup", execute_as(BACKUP), "local", Some("dev1")).await;
    server
}

/// What an action applies, as whom.
fn work(job: &str, executor: Option<&str>) -> Value {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job, "namespace": "upgrade-actions"}});
    let mut work = json!({"workload": {"manifests": [job]}});
    if let Some(name) = executor {
        let account = json!({"namespace": "upgrade-actions", "name": name});
        work["executor"] = json!({"subject": {"type": "ServiceAccount", "serviceAccount": account}});
    }
    work
}

fn upgrades(client: &Client) -> Api<ManagedClustersUpgrade> {
    Api::namespaced(client.clone(), "default")
}

async fn create_with(client: &Client, name: &str, actions: Value, dry_run: bool) -> Result<(), String> {
    let mut upgrade = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterSelector": {"clusterSets": ["dev"]},
            "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"},
        },
    });
    for (action, work) in actions.as_object().unwrap() {
        upgrade["spec"][action] = json!({"manifestWork": work});
    }
    let parameters = PostParams {
        dry_run,
        ..PostParams::default()
    };
    let upgrade = serde_json::from_value(upgrade).unwrap();
    let created = upgrades(client).create(&parameters, &upgrade).await;
    created.map(drop).map_err(|error| error.to_string())
}

async fn create(client: &Client, name: &str, actions: Value) -> Result<(), String> {
    create_with(client, name, actions, false).await
}

async fn edit(client: &Client, name: &str, spec: Value) -> Result<(), String> {
    let patch = Patch::Merge(json!({"spec": spec}));
    let edited = upgrades(client)
        .patch(name, &PatchParams::default(), &patch)
        .await;
    edited.map(drop).map_err(|error| error.to_string())
}

/// A policy works some moments after it was made.
async fn until_refused(client: &Client, actions: Value) {
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..300 {
        looks.tick().await;
        if create_with(client, "probe", actions.clone(), true).await.is_err() {
            return;
        }
    }
    panic!("the policy does not work within a minute");
}

/// Whether OCM's webhook would let the hub write a work with this executor for a cluster: it asks the API server so.
async fn hub_may_execute_as(admin: &Client, executor: &str) -> bool {
    let review: SubjectAccessReview = serde_json::from_value(json!({
        "metadata": {},
        "spec": {
            "user": HUB, "groups": ["system:serviceaccounts", "system:serviceaccounts:drydock", "system:authenticated"],
            "resourceAttributes": {
                "group": "work.open-cluster-management.io", "resource": "manifestworks", "verb": "execute-as",
                "namespace": "dev1", "name": executor,
            },
        },
    }))
    .unwrap();
    let reviewed = Api::all(admin.clone())
        .create(&PostParams::default(), &review)
        .await;
    reviewed.unwrap().status.unwrap().allowed
}

/// What the API server's own type check finds wrong with a policy.
async fn warnings(admin: &Client, name: &str) -> Value {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(admin.clone());
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..300 {
        looks.tick().await;
        let status = policies.get(name).await.unwrap().status.unwrap_or_default();
        if status.observed_generation.is_some() {
            return json!(
                status
                    .type_checking
                    .and_then(|checked| checked.expression_warnings)
            );
        }
    }
    panic!("{name} is not checked within a minute");
}

#[tokio::test]
async fn an_action_is_executed_only_as_whom_its_author_may_act() {
    let server = start().await;
    let admin = server.client(ADMIN).await.unwrap();
    let outsider = server.client("outsider").await.unwrap();
    let insider = server.client("insider").await.unwrap();
    let local = server.client("local").await.unwrap();
    let as_backup = work("backup", Some("backup"));
    until_refused(&outsider, json!({"preUpgradeAction": as_backup})).await;
    assert_eq!(warnings(&admin, "drydock-executors").await, Value::Null);

    for (client, actions) in [
        (&outsider, json!({"preUpgradeAction": as_backup})),
        (&outsider, json!({"postUpgradeAction": as_backup})),
        (&outsider, json!({"preUpgradeAction": {"spec": as_backup}})),
        (
            &outsider,
            json!({"preUpgradeAction": work("backup", None), "postUpgradeAction": as_backup}),
        ),
        (&local, json!({"preUpgradeAction": as_backup})),
    ] {
        let refused = create(client, "refused", actions.clone()).await.unwrap_err();
        assert!(
            refused.contains(&format!(
                "is executed as {BACKUP}, which you may not do in all namespaces"
            )) && refused.contains("the verb execute-as on manifestworks"),
            "{actions}: {refused}"
        );
    }
    let other = json!({"preUpgradeAction": work("backup", Some("restore"))});
    let refused = create(&insider, "refused", other).await.unwrap_err();
    assert!(
        refused.contains("system:serviceaccount:upgrade-actions:restore"),
        "{refused}"
    );

    create(
        &outsider,
        "without",
        json!({"preUpgradeAction": work("backup", None)}),
    )
    .await
    .unwrap();
    create(&outsider, "bare", json!({})).await.unwrap();
    create(
        &insider,
        "inline",
        json!({"preUpgradeAction": as_backup, "postUpgradeAction": as_backup}),
    )
    .await
    .unwrap();
    create(
        &insider,
        "nested",
        json!({"preUpgradeAction": {"spec": as_backup}}),
    )
    .await
    .unwrap();
    create(
        &admin,
        "any",
        json!({"preUpgradeAction": work("backup", Some("restore"))}),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn an_edit_of_anything_but_the_action_needs_no_right_to_execute() {
    let server = start().await;
    let outsider = server.client("outsider").await.unwrap();
    let insider = server.client("insider").await.unwrap();
    let as_backup = work("backup", Some("backup"));
    until_refused(&outsider, json!({"preUpgradeAction": as_backup})).await;
    create(&insider, "spring", json!({"preUpgradeAction": as_backup}))
        .await
        .unwrap();
    for spec in [
        json!({"paused": true}),
        json!({"clusterVersion": {"version": "4.14.13"}}),
        json!({"preUpgradeAction": {"timeout": "2h"}}),
        json!({"postUpgradeAction": {"manifestWork": work("check", None)}}),
    ] {
        edit(&outsider, "spring", spec.clone())
            .await
            .unwrap_or_else(|refused| panic!("{spec}: {refused}"));
    }
    // What is executed is a part of the right as well as by whom.
    let another = json!({"preUpgradeAction": {"manifestWork": work("format-the-disk", None)}});
    let moved = json!({"postUpgradeAction": {"manifestWork": work("check", Some("backup"))}});
    for spec in [another.clone(), moved] {
        let refused = edit(&outsider, "spring", spec.clone()).await.unwrap_err();
        assert!(refused.contains(BACKUP), "{spec}: {refused}");
    }
    edit(&insider, "spring", another).await.unwrap();
    edit(&outsider, "spring", json!({"preUpgradeAction": null}))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_hub_may_execute_as_whom_the_manifests_name_and_as_nobody_else() {
    let server = start().await;
    let admin = server.client(ADMIN).await.unwrap();
    for (executor, expected) in [
        (BACKUP, true),
        ("system:serviceaccount:upgrade-actions:health-check", true),
        ("system:serviceaccount:upgrade-actions:restore", false),
        ("system:serviceaccount:kube-system:admin", false),
        (WORK_AGENT, false),
    ] {
        assert_eq!(hub_may_execute_as(&admin, executor).await, expected, "{executor}");
    }
}

#[tokio::test]
async fn where_to_execute_as_the_work_agent_is_a_right_an_action_without_executor_needs_it() {
    let server = start().await;
    let admin = server.client(ADMIN).await.unwrap();
    let outsider = server.client("outsider").await.unwrap();
    let insider = server.client("insider").await.unwrap();
    for file in ["rbac.yaml", "policy.yaml"] {
        let path = in_repository("manifests/work-agent-executor").join(file);
        manifests::apply_file(&admin, &path).await.unwrap();
    }
    assert!(hub_may_execute_as(&admin, WORK_AGENT).await);
    let bare = json!({"preUpgradeAction": work("backup", None)});
    until_refused(&outsider, bare.clone()).await;
    assert_eq!(warnings(&admin, "drydock-work-agent-executor").await, Value::Null);
    let refused = create(&outsider, "refused", bare.clone()).await.unwrap_err();
    assert!(
        refused.contains("an action without an executor is executed as the work agent")
            && refused.contains(WORK_AGENT),
        "{refused}"
    );
    create(&outsider, "bare", json!({})).await.unwrap();
    create(
        &insider,
        "as-backup",
        json!({"preUpgradeAction": work("backup", Some("backup"))}),
    )
    .await
    .unwrap();
    create(&admin, "spring", bare).await.unwrap();
    edit(&outsider, "spring", json!({"paused": true})).await.unwrap();
    edit(
        &outsider,
        "spring",
        json!({"preUpgradeAction": {"manifestWork": work("format-the-disk", None)}}),
    )
    .await
    .unwrap_err();
}
