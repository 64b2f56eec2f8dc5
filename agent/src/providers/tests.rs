use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use drydock_api::upgradeconfig::{Desired, UpgradeType};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tower::service_fn;

use super::ocm::{Grace, OcmVersion, Policy, RegisteredCluster};
use super::policy::{State, spec, state_of};
use super::sync::{ConfigChange, change};
use super::*;
use drydock_engine::configuration::UpgraderType;
use drydock_engine::notification::UpgradeEvent;

/// OCM: its answers by method and path, some of which come only after refusals.
#[derive(Clone, Default)]
struct Made {
    answers: Arc<BTreeMap<String, Value>>,
    refusals: Arc<Mutex<Vec<StatusCode>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Made {
    fn ocm(&self) -> Ocm {
        self.ocm_at("https://ocm.example/")
    }

    fn ocm_at(&self, base: &str) -> Ocm {
        let made = self.clone();
        let service = service_fn(move |request: Request<Bytes>| {
            let made = made.clone();
            async move { Ok::<_, std::convert::Infallible>(made.respond(&request)) }
        });
        let exchange = Network::in_process(service).exchange(None).unwrap();
        Ocm::new(exchange, base, "c-1", " secret ")
    }

    fn respond(&self, request: &Request<Bytes>) -> Response<Full<Bytes>> {
        let path = request.uri().path_and_query().unwrap();
        let asked = format!("{} {path}", request.method());
        let body = String::from_utf8_lossy(request.body()).into_owned();
        self.asked
            .lock()
            .unwrap()
            .push(format!("{asked} {body}").trim_end().to_owned());
        let status = if request.headers()["authorization"] != "AccessToken c-1:secret" {
            StatusCode::UNAUTHORIZED
        } else if let Some(refusal) = self.refusals.lock().unwrap().pop() {
            refusal
        } else if self.answers.contains_key(&asked) {
            StatusCode::OK
        } else {
            StatusCode::NOT_FOUND
        };
        let answer = self.answers.get(&asked).cloned().unwrap_or_default();
        let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
        *response.status_mut() = status;
        response
    }
}

const CLUSTERS: &str = "GET /api/clusters_mgmt/v1/clusters?search=external_id%3D%27x-1%27";
const POLICIES: &str = "/api/clusters_mgmt/v1/clusters/c1/upgrade_policies";

fn made() -> Made {
    let answers = BTreeMap::from([
        (
            CLUSTERS.to_owned(),
            json!({"kind": "ClusterList", "items": [{"id": "c1", "version": {"channel_group": "stable"}}]}),
        ),
        (
            format!("GET {POLICIES}?size=100"),
            json!({"kind": "UpgradePolicyList", "items": [{"id": "p1", "version": "4.14.12", "next_run": "2026-01-05T10:00:00Z"}]}),
        ),
        (format!("GET {POLICIES}/p1/state"), json!({"value": "scheduled"})),
        (format!("PATCH {POLICIES}/p1/state"), json!({})),
        ("POST /api/service_logs/v1/cluster_logs".to_owned(), json!({})),
    ]);
    Made {
        answers: Arc::new(answers),
        ..Made::default()
    }
}

#[tokio::test(start_paused = true)]
async fn requests_have_their_paths_their_proof_and_their_bodies() {
    let made = made();
    let ocm = made.ocm();
    let cluster = ocm.cluster("x-1").await.unwrap();
    let policies = ocm.policies(&cluster.id).await.unwrap();
    assert_eq!(
        ocm.state("c1", &policies[0].id).await.unwrap(),
        State("scheduled".to_owned())
    );
    ocm.set_state("c1", "p1", "started", "it has started")
        .await
        .unwrap();
    ocm.log("x-1", "a word").await.unwrap();
    let asked = made.asked.lock().unwrap().clone();
    assert_eq!(
        asked[3],
        format!(r#"PATCH {POLICIES}/p1/state {{"description":"it has started","value":"started"}}"#)
    );
    assert!(asked[4].contains(r#""cluster_uuid":"x-1""#), "{}", asked[4]);
    assert!(matches!(ocm.cluster("x-2").await, Err(ProviderError::Http(_))));
}

#[tokio::test(start_paused = true)]
async fn a_busy_ocm_is_asked_again_and_one_that_refuses_is_not() {
    for (refusals, asked, is_good) in [
        (
            vec![StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE],
            3,
            true,
        ),
        (vec![StatusCode::SERVICE_UNAVAILABLE; 9], 6, false),
        (vec![StatusCode::FORBIDDEN; 9], 1, false),
    ] {
        let made = made();
        *made.refusals.lock().unwrap() = refusals;
        assert_eq!(made.ocm().cluster("x-1").await.is_ok(), is_good);
        assert_eq!(made.asked.lock().unwrap().len(), asked);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_cluster_or_several_is_none() {
    for answer in [
        json!({"kind": "ClusterList", "items": []}),
        json!({"kind": "ClusterList", "items": [{"id": "a"}, {"id": "b"}]}),
        json!({"kind": "ClusterList", "items": "x"}),
        json!({"items": [{"id": "a"}]}),
        json!({}),
        json!({"kind": "Error", "reason": "no"}),
        json!(3),
    ] {
        let made = Made {
            answers: Arc::new(BTreeMap::from([(CLUSTERS.to_owned(), answer.clone())])),
            ..Made::default()
        };
        assert!(made.ocm().cluster("x-1").await.is_err(), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_list_of_policies_is_an_error_and_never_no_policy() {
    for answer in [
        json!({}),
        json!({"kind": "Error", "id": "503", "items": []}),
        json!({"items": []}),
        json!({"kind": "UpgradePolicyList"}),
    ] {
        let asked = format!("GET {POLICIES}?size=100");
        let made = Made {
            answers: Arc::new(BTreeMap::from([(asked, answer.clone())])),
            ..Made::default()
        };
        assert!(made.ocm().policies("c1").await.is_err(), "{answer}");
    }
    let state = format!("GET {POLICIES}/p1/state");
    let made = Made {
        answers: Arc::new(BTreeMap::from([(state, json!({}))])),
        ..Made::default()
    };
    assert!(made.ocm().state("c1", "p1").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_agent_of_ocm_in_the_cluster_is_asked_for_the_cluster_at_its_root() {
    let made = Made {
        answers: Arc::new(BTreeMap::from([(
            "GET /".to_owned(),
            json!({"kind": "Cluster", "id": "c1"}),
        )])),
        ..Made::default()
    };
    let base = "http://ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081";
    assert_eq!(made.ocm_at(base).cluster("x-1").await.unwrap().id, "c1");
}

fn cluster(group: &str, value: f64, unit: &str) -> RegisteredCluster {
    RegisteredCluster {
        id: "c1".to_owned(),
        version: Some(OcmVersion {
            channel_group: group.to_owned(),
        }),
        node_drain_grace_period: Some(Grace {
            value,
            unit: unit.to_owned(),
        }),
    }
}

fn policy(version: &str, next_run: &str) -> Policy {
    Policy {
        id: "p1".to_owned(),
        version: version.to_owned(),
        next_run: next_run.to_owned(),
    }
}

#[test]
fn a_policy_becomes_an_upgrade_config() {
    for (version, group, grace, channel, minutes) in [
        ("4.14.12", "stable", (60.0, "minutes"), "stable-4.14", 60),
        ("4.15.1", "eus", (1.0, "hours"), "eus-4.16", 60),
        ("4.14.12", "", (90.0, "seconds"), "stable-4.14", 1),
        ("4.14.12", "candidate", (-5.0, ""), "candidate-4.14", 0),
    ] {
        let cluster = cluster(group, grace.0, grace.1);
        let made = spec(
            &policy(version, "2026-01-05T10:00:00Z"),
            &cluster,
            UpgraderType::Osd,
        )
        .unwrap();
        assert_eq!(made.desired.channel.as_deref(), Some(channel));
        assert_eq!(made.pdb_force_drain_timeout, minutes);
        assert_eq!(made.upgrade_type, UpgradeType::Osd);
    }
    for (version, at) in [("4.14", "2026-01-05T10:00:00Z"), ("4.14.12", "soon")] {
        let error = spec(&policy(version, at), &cluster("", 0.0, ""), UpgraderType::Aro).unwrap_err();
        assert!(error.to_string().contains("policy p1 cannot be used"), "{error}");
    }
}

#[test]
fn policies_that_are_over_do_not_count_and_states_go_forward_only() {
    for (state, counts) in [
        ("scheduled", true),
        ("Started", true),
        ("pending", false),
        ("COMPLETED", false),
    ] {
        assert_eq!(State(state.to_owned()).counts(), counts, "{state}");
    }
    for (now, event, may) in [
        ("scheduled", UpgradeEvent::Started, true),
        ("started", UpgradeEvent::Started, false),
        ("started", UpgradeEvent::Skipped, true),
        ("delayed", UpgradeEvent::Skipped, true),
        ("delayed", UpgradeEvent::Completed, true),
        ("completed", UpgradeEvent::Failed, false),
        ("pending", UpgradeEvent::Started, false),
    ] {
        let next = state_of(event).unwrap();
        assert_eq!(State(now.to_owned()).may_become(next), may, "{now} {next}");
    }
    assert_eq!(state_of(UpgradeEvent::ControlPlaneStarted), None);
}

#[test]
fn the_provider_is_the_truth_until_an_upgrade_has_commenced() {
    let spec = |version: &str| drydock_api::upgradeconfig::UpgradeConfigSpec {
        desired: Desired {
            version: Some(version.to_owned()),
            ..Desired::default()
        },
        ..drydock_api::upgradeconfig::UpgradeConfigSpec::default()
    };
    let (one, other) = (spec("4.14.12"), spec("4.14.13"));
    for (policy, present, has_commenced, expected) in [
        (None, None, false, ConfigChange::None),
        (Some(one.clone()), None, false, ConfigChange::Create(one.clone())),
        (Some(one.clone()), Some(&one), false, ConfigChange::None),
        (
            Some(other.clone()),
            Some(&one),
            false,
            ConfigChange::Replace(other.clone()),
        ),
        (None, Some(&one), false, ConfigChange::Delete),
        (Some(other), Some(&one), true, ConfigChange::None),
        (None, Some(&one), true, ConfigChange::None),
    ] {
        assert_eq!(change(policy, present, has_commenced), expected);
    }
}
