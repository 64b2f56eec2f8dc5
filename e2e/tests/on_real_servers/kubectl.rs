//! kubectl as the judge: everyday commands say the same of the sandbox and of a real kube-apiserver.

use std::path::Path;
use std::process::Stdio;

use drydock_e2e::control_plane::{ADMIN, ControlPlane, find_binary};
use drydock_e2e::manifests;
use drydock_e2e::process::Workplace;
use drydock_runtime::Clock;
use kube_sandbox::server::Types;
use kube_sandbox::server::{ApiServer, ServerSettings};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

const MAP: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default, labels: {app: web}}
data: {x: '1', y: '2'}
";
const MAP_CHANGED: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default, labels: {app: web}}
data: {x: '1', z: '3'}
";
const OTHER_MAP: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: default}
data: {x: '1'}
";
const LIST: &str = "
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, namespace: default}
";
const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: n1}
";
const UPGRADE: &str = "
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: a, namespace: default}
spec:
  clusterSelector: {clusterSets: [dev]}
  clusterVersion: {version: 4.14.12, channel: stable-4.14}
";
const UPGRADE_UNKNOWN_FIELD: &str = "
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: b, namespace: default}
spec:
  clusterSelector: {clusterSets: [dev]}
  clusterVersion: {version: 4.14.12, chanel: stable-4.14}
";
const UPGRADE_INVALID: &str = "
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: b, namespace: default}
spec:
  clusterSelector: {clusterSets: [dev]}
  clusterVersion: {version: four}
";
const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: example.com/c}]}
";

/// Commands, in their order, with what they read.
const COMMANDS: &[(&str, &str)] = &[
    ("apply -f -", MAP),
    ("apply -f -", MAP),
    ("apply -f -", MAP_CHANGED),
    ("get configmap a -o jsonpath={.data}", ""),
    ("apply --server-side --force-conflicts -f -", MAP),
    ("apply --server-side --field-manager=other -f -", MAP_CHANGED),
    ("get configmaps -l app=web -o name", ""),
    (
        "get configmap a --no-headers -o custom-columns=NAME:.metadata.name,X:.data.x",
        "",
    ),
    ("patch configmap a -p {\"data\":{\"w\":\"9\"}}", ""),
    ("patch configmap a --type=merge -p {\"data\":{\"w\":null}}", ""),
    (
        "patch configmap a --type=json -p [{\"op\":\"remove\",\"path\":\"/data/none\"}]",
        "",
    ),
    ("label configmap a tier=data", ""),
    ("annotate configmap a note=here", ""),
    ("get configmap a -o jsonpath={.metadata.labels}", ""),
    ("annotate configmap a --overwrite note=there", ""),
    ("label configmap a tier-", ""),
    ("describe configmap a", ""),
    ("create -f -", OTHER_MAP),
    ("create -f -", OTHER_MAP),
    ("replace -f -", OTHER_MAP),
    ("get configmaps --sort-by=.metadata.name -o name", ""),
    ("create -f -", LIST),
    ("delete configmap b c", ""),
    ("create -f -", NODE),
    ("cordon n1", ""),
    ("uncordon n1", ""),
    ("taint nodes n1 a=b:NoSchedule", ""),
    ("delete node n1", ""),
    ("apply -f -", UPGRADE),
    ("apply -f -", UPGRADE),
    ("apply -f -", UPGRADE_UNKNOWN_FIELD),
    ("apply -f -", UPGRADE_INVALID),
    ("get mcu a -o jsonpath={.spec.clusterVersion}", ""),
    ("get mcu -o name", ""),
    ("explain mcu.spec.clusterVersion", ""),
    ("explain mcu.spec --recursive", ""),
    ("explain configmap.data", ""),
    (
        "api-resources --api-group=cluster.open-cluster-management.io -o name",
        "",
    ),
    ("apply -f -", DEPLOYMENT),
    ("scale deployment d --replicas=5", ""),
    (
        "get deployment d -o jsonpath={.spec.replicas},{.metadata.generation}",
        "",
    ),
    ("set image deployment/d c=example.com/c:2", ""),
    ("set env deployment/d A=1", ""),
    ("rollout pause deployment/d", ""),
    ("rollout resume deployment/d", ""),
    ("get deployment d -o wide --no-headers", ""),
    (
        "wait --for=jsonpath={.spec.replicas}=5 deployment/d --timeout=5s",
        "",
    ),
    ("delete deployment d", ""),
    ("get configmap nothing", ""),
    ("get nonsense", ""),
    ("delete mcu a", ""),
    ("wait --for=delete mcu/a --timeout=20s", ""),
    ("delete configmap a", ""),
    ("delete configmap a", ""),
    // What follows is sent as protobuf.
    ("create namespace made", ""),
    (
        "get namespace made -o jsonpath={.spec}{.status}{.metadata.labels}",
        "",
    ),
    ("create configmap made --from-literal=k=v", ""),
    (
        "get configmap made -o jsonpath={.data}{.metadata.managedFields[*].fieldsV1}",
        "",
    ),
    ("create configmap made", ""),
    ("create secret generic made --from-literal=k=v", ""),
    ("get secret made -o jsonpath={.data}{.type}", ""),
    ("create serviceaccount made", ""),
    (
        "create deployment made --image=example.com/c --replicas=2 --port=80",
        "",
    ),
    (
        "get deployment made -o jsonpath={.metadata.labels}{.spec}{.metadata.managedFields[0].fieldsV1}",
        "",
    ),
    ("create job made --image=example.com/c -- true", ""),
    (
        "get job made -o jsonpath={.spec.template.spec}{.spec.backoffLimit}",
        "",
    ),
    (
        "create role made --verb=get,list --resource=pods,deployments.apps",
        "",
    ),
    ("get role made -o jsonpath={.rules}", ""),
    (
        "create rolebinding made --role=made --serviceaccount=default:made",
        "",
    ),
    ("get rolebinding made -o jsonpath={.roleRef}{.subjects}", ""),
    ("create clusterrole made --verb=get --non-resource-url=/x", ""),
    ("create clusterrole sum --aggregation-rule=a=b", ""),
    ("get clusterrole sum -o jsonpath={.aggregationRule}", ""),
    ("create clusterrolebinding made --clusterrole=made --user=u", ""),
    ("create pdb made --selector=a=b --max-unavailable=30%", ""),
    ("get pdb made -o jsonpath={.spec}", ""),
    ("create service externalname made --external-name=example.com", ""),
    ("get service made -o jsonpath={.spec}", ""),
    ("delete deployment,job,pdb --all", ""),
];

struct Said {
    code: Option<i32>,
    text: String,
}

/// The text without how many seconds ago something was made: the servers are asked one after the other.
fn ageless(text: &str) -> String {
    let age = regex::Regex::new(r"\b\d+s +").unwrap();
    age.replace_all(text, "AGE ").into_owned()
}

async fn run(kubeconfig: &Path, home: &Path, arguments: &str, input: &str) -> Said {
    let mut child = Command::new(find_binary("kubectl").unwrap())
        .args(arguments.split(' '))
        .env("KUBECONFIG", kubeconfig)
        // Discovery is cached below the home folder: each server gets its own.
        .env("HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let text = [output.stdout, output.stderr].concat();
    Said {
        code: output.status.code(),
        text: String::from_utf8_lossy(&text).into_owned(),
    }
}

#[tokio::test]
async fn everyday_commands_say_the_same_of_the_sandbox_and_of_a_real_server() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start().await?;
    manifests::install(&control_plane.client(ADMIN).await?, &drydock_api::crds()).await?;
    let workplace = Workplace::new("kubectl")?;
    let sandbox = ApiServer::new(ServerSettings::new(
        "hub",
        Clock::system(),
        1,
        Types::with_definitions(&drydock_api::crds())?,
    ));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let served = tokio::spawn({
        let stop = stop.clone();
        async move { sandbox.serve(listener, stop).await }
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "sandbox",
        "clusters": [{"name": "sandbox", "cluster": {"server": format!("http://{address}")}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "nobody"}}],
        "users": [{"name": "nobody", "user": {}}],
    });
    let ours = workplace.write("sandbox.kubeconfig", &config.to_string())?;
    let real = control_plane.kubeconfig(ADMIN)?;
    let homes = ["ours", "real"].map(|name| workplace.folder().join(name));
    let mut differences = Vec::new();
    for (arguments, input) in COMMANDS {
        let said = run(&ours, &homes[0], arguments, input).await;
        let expected = run(&real, &homes[1], arguments, input).await;
        if (said.code, ageless(&said.text)) != (expected.code, ageless(&expected.text)) {
            differences.push(format!(
                "kubectl {arguments}\n--- the sandbox ({:?})\n{}\n--- a real server ({:?})\n{}",
                said.code, said.text, expected.code, expected.text
            ));
        }
    }
    stop.cancel();
    served.await??;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}
