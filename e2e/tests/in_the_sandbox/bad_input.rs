//! What is not possible is refused as early as possible, in words that say what to do, and starts nothing.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_sandbox::test_env::TestEnvSettings;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

/// Fields of the spec, by their pointers, and what they become.
type Changes<'a> = &'a [(&'a str, Value)];

fn resource() -> ApiResource {
    ApiResource::erase::<ManagedClustersUpgrade>(&())
}

/// The sample for the test environment with some fields of its spec replaced; null takes one away.
fn sample(settings: &drydock_sandbox::test_env::TestEnvSettings, changes: Changes<'_>) -> Value {
    let mut object = json!(fleet::upgrade(&settings.clusters).unwrap());
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = object["spec"]
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap();
        if value.is_null() {
            parent.remove(field);
        } else {
            parent.insert(field.to_owned(), value.clone());
        }
    }
    object
}

#[tokio::test(start_paused = true)]
async fn what_the_definition_can_say_is_refused_by_the_server() {
    let settings = fleet::three_clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let api: Api<DynamicObject> = Api::namespaced_with(hub.clone(), "default", &resource());
    let no_values = json!({"matchExpressions": [{"key": "name", "operator": "In", "values": []}]});
    let table: [(Changes<'_>, &str); 11] = [
        (
            &[("/placement", json!(null)), ("/clusterSelector", json!(null))],
            "placement or clusterSelector is required",
        ),
        (
            &[("/clusterVersion/version", json!("four"))],
            "version must be a semantic version",
        ),
        (
            &[("/upgradeStrategy/clusterUpgradeTimeout", json!("soon"))],
            "clusterUpgradeTimeout must be a positive duration",
        ),
        (
            &[("/upgradeStrategy/clusterUpgradeTimeout", json!("-3h"))],
            "clusterUpgradeTimeout must be a positive duration",
        ),
        (
            &[("/preChecks", json!({"mode": "Require", "maxAge": "1m"}))],
            "maxAge must be a duration of 5m at least",
        ),
        (
            &[("/preUpgradeAction/timeout", json!("30"))],
            "timeout must be a positive duration",
        ),
        (
            &[("/upgradeStrategy/maxConcurrency", json!(0))],
            "greater than or equal to 1",
        ),
        (
            &[("/upgradeStrategy/maxConcurrency", json!(-2))],
            "greater than or equal to 1",
        ),
        (
            &[("/upgradeStrategy/maxFailures", json!(99_999_999_999_i64))],
            "less than or equal to 2147483647",
        ),
        (
            &[("/upgradeStrategy/canaryClusters/clusterSelector", no_values)],
            "In and NotIn need values",
        ),
        (
            &[
                ("/clusterVersion/version", json!(null)),
                (
                    "/clusterVersion/image",
                    json!("quay.io/openshift-release-dev/ocp-release:4.14.12"),
                ),
            ],
            "image must name the release by digest",
        ),
    ];
    refuses(&settings, &api, &table).await;
    tokio::time::sleep(HOUR).await;
    assert!(fleet::works(&hub).await.unwrap().is_empty());
    fleet.shut_down().await.unwrap();
}

/// The API server refuses each of the changes with its message.
async fn refuses(settings: &TestEnvSettings, api: &Api<DynamicObject>, table: &[(Changes<'_>, &str)]) {
    for (changes, message) in table {
        let object: DynamicObject = serde_json::from_value(sample(settings, changes)).unwrap();
        let refused = api
            .create(&PostParams::default(), &object)
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains(*message), "{changes:?}: {refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn freezes_that_cannot_be_are_refused_by_the_server() {
    let settings = fleet::three_clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let api: Api<DynamicObject> = Api::namespaced_with(hub, "default", &resource());
    let freeze = |from: &str, to: &str| json!([{"from": from, "to": to, "reason": "stocktaking"}]);
    let table: [(Changes<'_>, &str); 2] = [
        (
            &[(
                "/upgradeStrategy/freezes",
                freeze("2026-12-19", "2027-01-04T00:00:00Z"),
            )],
            "from must be a time with a zone",
        ),
        (
            &[(
                "/upgradeStrategy/freezes",
                freeze("2027-01-04T00:00:00+01:00", "2027-01-03T23:00:00Z"),
            )],
            "from must be before to",
        ),
    ];
    refuses(&settings, &api, &table).await;
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_only_the_hub_can_see_becomes_a_condition_and_starts_nothing() {
    let settings = fleet::three_clusters(3);
    let unknown = json!([{"name": "nothing", "namespace": "dev"}]);
    let windows = json!([{"cron": "0 22 30 2 *", "duration": "6h"}]);
    let zone = json!([{"cron": "0 22 * * *", "duration": "6h", "timeZone": "Mars/Olympus"}]);
    let longest = json!("2562047h");
    let table: [(Changes<'_>, &str, &str); 4] = [
        (
            &[("/upgradeStrategy/clusterUpgradeTimeout", longest)],
            "Failed",
            "\"2562047h\" is too long",
        ),
        (
            &[("/placement", unknown), ("/clusterSelector", json!(null))],
            "Selected",
            "dev/nothing",
        ),
        (
            &[("/upgradeStrategy/startWindows", windows)],
            "Failed",
            "startWindows[0]",
        ),
        (
            &[("/upgradeStrategy/startWindows", zone)],
            "Failed",
            "no time zone \"Mars/Olympus\"",
        ),
    ];
    for (changes, type_, message) in table {
        let fleet = local_fleet::start(settings.clone()).await.unwrap();
        let hub = fleet.user().unwrap();
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(sample(&settings, changes)).unwrap();
        fleet::start(&hub, &upgrade).await.unwrap();
        tokio::time::sleep(HOUR).await;
        let seen = fleet::upgrades(&hub).get(fleet::UPGRADE).await.unwrap();
        let conditions = seen.status.unwrap().conditions.unwrap();
        let condition = conditions
            .iter()
            .find(|condition| condition.type_ == type_)
            .unwrap();
        assert!(condition.message.contains(message), "{changes:?}: {condition:?}");
        assert!(
            fleet::works(&hub).await.unwrap().is_empty(),
            "{changes:?} starts something"
        );
        fleet.shut_down().await.unwrap();
    }
}

/// Takes the bounds of numbers out of the definition, as an earlier one had none.
async fn without_bounds(hub: &kube::Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(hub.clone());
    let name = "managedclustersupgrades.cluster.open-cluster-management.io";
    let mut definition = definitions.get(name).await.unwrap();
    let text = serde_json::to_string(&definition.spec).unwrap();
    definition.spec = serde_json::from_str(&text.replace("\"maximum\":2147483647.0,", "")).unwrap();
    assert_ne!(serde_json::to_string(&definition.spec).unwrap(), text);
    definitions
        .replace(name, &PostParams::default(), &definition)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_number_beyond_all_bounds_is_one_upgrades_own_problem() {
    let settings = fleet::three_clusters(3);
    let mut fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    without_bounds(&hub).await;
    let mut huge = sample(
        &settings,
        &[("/upgradeStrategy/maxConcurrency", json!(99_999_999_999_i64))],
    );
    huge["metadata"]["name"] = json!("huge");
    let api: Api<DynamicObject> = Api::namespaced_with(hub.clone(), "default", &resource());
    let huge: DynamicObject = serde_json::from_value(huge).unwrap();
    api.create(&PostParams::default(), &huge).await.unwrap();
    fleet.kill_hub().await;
    fleet.start_hub(drydock_e2e::local_fleet::hub_settings()).unwrap();
    fleet::start(&hub, &fleet::upgrade(&settings.clusters).unwrap())
        .await
        .unwrap();
    tokio::time::sleep(24 * HOUR).await;
    let upgrades = fleet::upgrades(&hub);
    let find = async |name: &str, type_: &str| {
        let status = upgrades.get(name).await.unwrap().status.unwrap();
        let mut conditions = status.conditions.into_iter().flatten();
        conditions.find(|condition| condition.type_ == type_).unwrap()
    };
    let failed = find("huge", "Failed").await;
    assert_eq!((&*failed.status, &*failed.reason), ("True", "InvalidSpec"));
    assert!(failed.message.contains("99999999999"), "{}", failed.message);
    assert_eq!(find(fleet::UPGRADE, "Complete").await.status, "True");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_spec_that_becomes_invalid_stops_new_starts_and_running_upgrades_continue() {
    let mut settings = fleet::three_clusters(3);
    for cluster in &mut settings.clusters {
        cluster.agent = false;
    }
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    fleet::start(&hub, &fleet::upgrade(&settings.clusters).unwrap())
        .await
        .unwrap();
    tokio::time::sleep(HOUR / 4).await;
    let windows = json!([{"cron": "0 22 * * *", "duration": "6h", "timeZone": "Mars/Olympus"}]);
    let patch = json!({"spec": {"upgradeStrategy": {"startWindows": windows}}});
    let parameters = PatchParams::default();
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &parameters, &Patch::Merge(patch))
        .await
        .unwrap();
    tokio::time::sleep(4 * HOUR).await;
    let works = fleet::works(&hub).await.unwrap();
    let clusters: Vec<&str> = works
        .iter()
        .filter_map(|work| work.metadata.namespace.as_deref())
        .collect();
    assert!(
        clusters.iter().all(|cluster| *cluster == "dev1"),
        "only the canary had started: {clusters:?}"
    );
    let versions: Api<drydock_api::openshift::ClusterVersion> = Api::all(fleet.user_of("dev1").unwrap());
    let status = versions.get("version").await.unwrap().status.unwrap();
    assert!(
        status.history[0].is_completed(),
        "what ran has come to its end: {:?}",
        status.history[0]
    );
    fleet.shut_down().await.unwrap();
}
