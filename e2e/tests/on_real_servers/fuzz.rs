//! Random sequences of requests to the sandbox and to a real kube-apiserver: both must answer the same, but for the words
//! of refusals. A sequence that differs is shrunk and printed as a case for `e2e/cases`.
//!
//! `FUZZ_MINUTES` is how long to run (default: a tenth of a minute), `FUZZ_SEED` where to begin.
#![allow(
    clippy::disallowed_methods,
    clippy::struct_field_names,
    reason = "it runs for a real time"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::differential::{Difference, Pair, Request, Script, Step};
use drydock_e2e::manifests;
use drydock_runtime::Clock;
use kube::Api;
use kube::api::ListParams;
use kube_sandbox::server::{ApiServer, ServerSettings, Types};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use serde_json::{Value, json};

/// Sequences between two looks at the clock.
const ROUND: u32 = 20;

/// Differences after which it ends.
const ENOUGH: usize = 10;

fn variable<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn random_requests_are_answered_the_same() {
    let minutes: f64 = variable("FUZZ_MINUTES", 0.1);
    let first: u64 = variable("FUZZ_SEED", 1);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pair = runtime.block_on(start()).unwrap();
    let mut found = 0;
    let until = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let (mut seed, sequences, requests) = (first, AtomicUsize::new(0), AtomicUsize::new(0));
    loop {
        let config = Config {
            cases: ROUND,
            max_shrink_iters: 200,
            failure_persistence: None,
            ..Config::default()
        };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let outcome = TestRunner::new_with_rng(config, random).run(&sequence(), |steps| {
            let number = sequences.fetch_add(1, Ordering::Relaxed);
            requests.fetch_add(steps.len(), Ordering::Relaxed);
            let script = Script {
                name: "a random sequence".to_owned(),
                subject: "fuzz".to_owned(),
                steps,
            };
            let namespace = format!("fuzz-{number}");
            let differences = runtime
                .block_on(pair.differences(&namespace, &script))
                .map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
            let reported: Vec<String> = differences
                .iter()
                .filter(|difference| !is_wording(difference))
                // Warnings come with what succeeds only.
                .filter(|difference| difference.pointer != "/headers/warning" || difference.sandbox.is_some())
                .map(ToString::to_string)
                .collect();
            prop_assert!(reported.is_empty(), "{}", reported.join("\n"));
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(why, steps)) => {
                found += 1;
                println!("seed {seed} differs:\n{why}\nin\n{}", written(&steps));
            }
            Err(TestError::Abort(why)) => panic!("seed {seed}: {why}"),
        }
        if Instant::now() >= until || found >= ENOUGH {
            break;
        }
        seed += 1;
    }
    println!(
        "seeds {first} to {seed}: {} sequences with {} requests, {found} differences",
        sequences.into_inner(),
        requests.into_inner()
    );
    runtime.block_on(pair.stop()).unwrap();
    assert_eq!(found, 0, "differences, each with the seed that shows it");
}

async fn start() -> anyhow::Result<Pair> {
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.client(ADMIN).await?;
    manifests::install(&client, &drydock_api::crds()).await?;
    // A definition that has just been made is served in a moment.
    let upgrades: Api<ManagedClustersUpgrade> = Api::all(client);
    while upgrades.list(&ListParams::default().limit(1)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let types = Types::with_definitions(&drydock_api::crds())?;
    let sandbox = ApiServer::new(ServerSettings::new("hub", Clock::system(), 1, types));
    Pair::start(sandbox, control_plane).await
}

/// The words of a refusal, which carry Go's structures, and those that describe a column.
fn is_wording(difference: &Difference) -> bool {
    // What an apply takes away as a whole is null for the real server, and missing for the sandbox.
    let is_null_or_missing = difference.pointer.ends_with("/reason")
        && difference.sandbox == Some(json!("FieldValueRequired"))
        && difference.real == Some(json!("FieldValueTypeInvalid"));
    is_null_or_missing
        || difference.pointer == "/body/message"
        || difference.pointer.ends_with("/description")
        || (difference.pointer.starts_with("/body/details/causes/")
            && difference.pointer.ends_with("/message"))
}

/// A sequence as a case would have it.
fn written(steps: &[Step]) -> String {
    let lines = steps.iter().map(|step| match step {
        Step::Send(request) => {
            let words: Vec<String> = request
                .headers
                .iter()
                .map(|(name, value)| format!("{name}:{value}"))
                .collect();
            let body = request
                .body
                .as_ref()
                .map_or(String::new(), |body| format!(": {body}"));
            format!("{} {} {}{body}", request.method, request.path, words.join(" "))
        }
        other => format!("{other:?}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn sequence() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(request().prop_map(Step::Send), 2..12)
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => select(&["a", "b"][..]), 1 => Just("A"), 1 => Just("")]
}

/// A value that is mostly what the field wants.
fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => select(&["x", "y", ""][..]).prop_map(|text| json!(text)),
        1 => Just(Value::Null),
        1 => select(vec![json!(1), json!(true), json!(["x"]), json!({"x": "y"})]),
    ]
}

fn map_of_texts() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(select(&["k", "l", "example.com/m"][..]), text(), 0..3)
        .prop_map(|map| json!(map))
}

fn metadata() -> impl Strategy<Value = Value> {
    (
        name(),
        prop::option::weighted(0.5, map_of_texts()),
        prop::option::weighted(0.2, map_of_texts()),
        prop::option::weighted(
            0.15,
            select(vec![json!([]), json!(["example.com/f"]), json!(["f"])]),
        ),
    )
        .prop_map(|(name, labels, annotations, finalizers)| {
            let mut metadata = json!({"name": name});
            for (field, value) in [
                ("labels", labels),
                ("annotations", annotations),
                ("finalizers", finalizers),
            ] {
                if let Some(value) = value {
                    metadata[field] = value;
                }
            }
            metadata
        })
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    plural: &'static str,
    api_version: &'static str,
    kind: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        plural: "configmaps",
        api_version: "v1",
        kind: "ConfigMap",
    },
    Kind {
        plural: "deployments",
        api_version: "apps/v1",
        kind: "Deployment",
    },
    Kind {
        plural: "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/$ns/managedclustersupgrades",
        api_version: "cluster.open-cluster-management.io/v1beta1",
        kind: "ManagedClustersUpgrade",
    },
];

/// What an object holds besides its metadata.
fn content(kind: Kind) -> BoxedStrategy<Value> {
    match kind.kind {
        "ConfigMap" => prop::option::of(map_of_texts())
            .prop_map(|data| data.map_or_else(|| json!({}), |data| json!({"data": data})))
            .boxed(),
        "Deployment" => (
            prop::option::of(prop_oneof![6 => (0..4).prop_map(|count| json!(count)), 1 => text()]),
            prop::collection::vec((select(&["c", "d"][..]), text()), 0..3),
            prop::option::weighted(0.3, map_of_texts()),
        )
            .prop_map(|(replicas, containers, nodes)| {
                let containers: Vec<Value> = containers
                    .into_iter()
                    .map(|(name, image)| json!({"name": name, "image": image}))
                    .collect();
                let mut spec = json!({
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
                });
                if let Some(replicas) = replicas {
                    spec["replicas"] = replicas;
                }
                if let Some(nodes) = nodes {
                    spec["template"]["spec"]["nodeSelector"] = nodes;
                }
                json!({"spec": spec})
            })
            .boxed(),
        _ => (
            prop::option::of(select(vec![json!({"clusterSets": ["dev"]}), json!({}), json!(7)])),
            prop::option::of(select(vec![
                json!({"version": "4.14.12", "channel": "stable-4.14"}),
                json!({"version": "four"}),
                json!({"version": "4.14.12", "nonsense": 1}),
            ])),
            prop::option::weighted(
                0.3,
                select(vec![
                    json!({"maxConcurrency": 2}),
                    json!({"maxConcurrency": "10%"}),
                    json!({"timeout": "x"}),
                ]),
            ),
        )
            .prop_map(|(selector, version, strategy)| {
                let mut spec = json!({});
                for (field, value) in [
                    ("clusterSelector", selector),
                    ("clusterVersion", version),
                    ("upgradeStrategy", strategy),
                ] {
                    if let Some(value) = value {
                        spec[field] = value;
                    }
                }
                json!({"spec": spec})
            })
            .boxed(),
    }
}

fn object(kind: Kind) -> impl Strategy<Value = Value> {
    (metadata(), content(kind)).prop_map(move |(metadata, mut object)| {
        object["apiVersion"] = json!(kind.api_version);
        object["kind"] = json!(kind.kind);
        object["metadata"] = metadata;
        object
    })
}

fn request() -> impl Strategy<Value = Request> {
    select(KINDS).prop_flat_map(|kind| {
        prop_oneof![
            4 => create(kind),
            2 => update(kind),
            3 => merge_patch(kind),
            2 => json_patch(kind),
            5 => apply(kind),
            2 => delete(kind),
            3 => read(kind),
        ]
    })
}

fn plain(method: &str, path: String, body: Option<Value>) -> Request {
    Request {
        method: method.to_owned(),
        path,
        body,
        ..Request::default()
    }
}

fn options() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        8 => Just(""),
        1 => Just("dryRun=All"),
        1 => Just("fieldValidation=Strict"),
        1 => Just("fieldManager=one"),
    ]
}

fn create(kind: Kind) -> BoxedStrategy<Request> {
    (object(kind), options())
        .prop_map(move |(body, options)| plain("POST", format!("{}?{options}", kind.plural), Some(body)))
        .boxed()
}

fn update(kind: Kind) -> BoxedStrategy<Request> {
    (object(kind), options())
        .prop_map(move |(body, options)| {
            let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let name = if name.is_empty() { "a".to_owned() } else { name };
            plain("PUT", format!("{}/{name}?{options}", kind.plural), Some(body))
        })
        .boxed()
}

fn merge_patch(kind: Kind) -> BoxedStrategy<Request> {
    let body = (prop::option::of(map_of_texts()), content(kind)).prop_map(|(labels, mut body)| {
        if let Some(labels) = labels {
            body["metadata"] = json!({"labels": labels});
        }
        body
    });
    (select(&["a", "b"][..]), body, options())
        .prop_map(move |(name, body, options)| {
            let mut request = plain("PATCH", format!("{}/{name}?{options}", kind.plural), Some(body));
            request
                .headers
                .push(("content-type", "application/merge-patch+json".to_owned()));
            request
        })
        .boxed()
}

fn json_patch(kind: Kind) -> BoxedStrategy<Request> {
    let path = select(
        &[
            "/data/k",
            "/metadata/labels",
            "/metadata/labels/k",
            "/spec/replicas",
            "/metadata/finalizers",
        ][..],
    );
    let operation = (select(&["add", "remove", "replace", "test"][..]), path, text()).prop_map(
        |(operation, path, value)| match operation {
            "remove" => json!({"op": operation, "path": path}),
            _ => json!({"op": operation, "path": path, "value": value}),
        },
    );
    (select(&["a", "b"][..]), prop::collection::vec(operation, 0..3))
        .prop_map(move |(name, body)| {
            let mut request = plain("PATCH", format!("{}/{name}", kind.plural), Some(json!(body)));
            request
                .headers
                .push(("content-type", "application/json-patch+json".to_owned()));
            request
        })
        .boxed()
}

fn apply(kind: Kind) -> BoxedStrategy<Request> {
    (object(kind), select(&["one", "two", "three"][..]), any::<bool>())
        .prop_map(move |(body, manager, force)| {
            let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let name = if name.is_empty() { "a".to_owned() } else { name };
            let path = format!("{}/{name}?fieldManager={manager}&force={force}", kind.plural);
            let mut request = plain("PATCH", path, Some(body));
            request
                .headers
                .push(("content-type", "application/apply-patch+yaml".to_owned()));
            request
        })
        .boxed()
}

fn delete(kind: Kind) -> BoxedStrategy<Request> {
    let query = select(
        &[
            "",
            "?propagationPolicy=Background",
            "?dryRun=All",
            "?gracePeriodSeconds=0",
        ][..],
    );
    (select(&["a", "b"][..]), query)
        .prop_map(move |(name, query)| plain("DELETE", format!("{}/{name}{query}", kind.plural), None))
        .boxed()
}

fn read(kind: Kind) -> BoxedStrategy<Request> {
    let one =
        select(&["a", "b"][..]).prop_map(move |name| plain("GET", format!("{}/{name}", kind.plural), None));
    let query = select(
        &[
            "",
            "?limit=1",
            "?labelSelector=k",
            "?labelSelector=k%3Dx",
            "?labelSelector=k%20notin%20(x)",
            "?fieldSelector=metadata.name%3Da",
        ][..],
    );
    // Not `resourceVersion=0`: the real server may answer that from a cache that is behind.
    let many = query.prop_map(move |query| plain("GET", format!("{}{query}", kind.plural), None));
    let form = select(&["Table", "PartialObjectMetadataList"][..]);
    let shown = form.prop_map(move |form| {
        let mut request = plain("GET", format!("{}?includeObject=None", kind.plural), None);
        let accept = format!("application/json;as={form};v=v1;g=meta.k8s.io");
        request.headers.push(("accept", accept));
        request
    });
    prop_oneof![2 => one, 3 => many, 1 => shown].boxed()
}
