//! Every command of the docs runs, in the order of its page: the tutorial of the sandbox from its first line to its last, other pages in a
//! sandbox with the upgrade of the tutorial, and those about a real hub on a real API server. What is left out is named, with why.

use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::shell::{Sandbox, Shell};
use super::{Block, blocks, objects::objects};

const TUTORIAL: &str = "docs/tutorial-sandbox.md";

/// Pages about a hub that is no sandbox, in an order in which each finds installed what it needs. All others are read
/// beside a sandbox.
const ABOUT_A_REAL_HUB: [&str; 6] = [
    "docs/tutorial-hub.md",
    "docs/install.md",
    "docs/fleet-page.md",
    "docs/compatibility.md",
    "docs/backup-and-restore.md",
    "docs/upgrade-and-removal.md",
];

/// What no test can do, by how it begins.
const LEFT_OUT: [(&str, &str); 12] = [
    ("git clone ", "a stranger's network"),
    ("make ", "a build or a bench, which `.ci/run` and people start"),
    ("cargo ", "tests of this repository"),
    ("UPDATE=1 cargo ", "tests of this repository"),
    ("clusteradm ", "a program of OCM"),
    ("STORAGE_DRIVER=", "a registry of somebody"),
    ("export ", "the environment that the test gives"),
    ("curl ", "the port is another one each time"),
    ("cd ", "the folder that the test gives"),
    (
        "kubectl -n drydock create secret tls ",
        "a certificate of the reader",
    ),
    (
        "kubectl drydock accept first UUID",
        "on a server without clusters nothing is found",
    ),
    (
        "kubectl drydock status first -n upgrades --watch",
        "nobody upgrades there: the tutorial of the sandbox watches",
    ),
];

/// Parts of commands that need what no API server has by itself.
const NEEDS_NODES: [&str; 2] = ["rollout status", "logs deployment"];

/// Commands that go on until they are stopped, by how they begin or end.
const SERVING: [&str; 5] = [
    "kubectl drydock sandbox",
    "kubectl drydock dashboard",
    "kubectl drydock demo --keep",
    "kubectl drydock demo --fault",
    "kubectl get mcu -w",
];

/// Commands that may say no, and in which words: the pages say so, or the fleet of the test is not in that state.
const MAY_REFUSE: [(&str, &str); 24] = [
    (
        "kubectl drydock cluster status",
        "no cluster operator information",
    ),
    (
        "kubectl -n platform patch managedclustersupgrade",
        "find the requested resource",
    ),
    ("kubectl drydock plan", "not confident"),
    ("kubectl drydock plan", "at the latest"),
    ("kubectl drydock retry", "failed"),
    ("kubectl drydock cluster recommend", ""),
    ("kubectl drydock cluster start", "not requested"),
    // No OCM and no agent run beside the API server.
    ("kubectl drydock plan", "finds no clusters"),
    (
        "kubectl drydock clusters first",
        "there is no ManagedClustersUpgrade",
    ),
    ("kubectl get updatestatus cluster", "not found"),
    ("kubectl -n drydock get lease", "not found"),
    // Something is broken there.
    ("kubectl drydock cluster pre-checks", "not accepted"),
    ("kubectl drydock pre-checks spring", "not accepted"),
    // It is applied a moment before.
    (
        "kubectl drydock pre-checks",
        "clusters that are asked have answered",
    ),
    (
        "kubectl drydock cluster start",
        "the upgrade lock of the cluster belongs to",
    ),
    (
        "kubectl drydock pre-checks checked-first --cluster",
        "takes no part in",
    ),
    (
        "kubectl drydock accept checked-first",
        "no cluster that is named reports",
    ),
    // The simulated clusters have no schedules.
    ("kubectl drydock schedule --explain", "there is no UpgradeConfig"),
    // It was applied as YAML.
    ("kubectl create configmap company-freezes", "already exists"),
    // What was backed up is there, and nothing of some kinds was.
    ("kubectl create -f ", "already exists"),
    ("kubectl create -f ", "no objects passed to create"),
    // Nothing is complete yet.
    ("kubectl wait --for=condition=Complete", "condition not met"),
    // The simulated clusters have no acks to give.
    (
        "kubectl -n openshift-config patch configmap admin-acks",
        "not found",
    ),
    // Two pages say it.
    ("kubectl create clusterrolebinding", "already exists"),
];

/// What stands in the docs for what a reader has, and what the test has.
const OF_THE_TEST: [(&str, &str); 8] = [
    ("NAME", "spring"),
    ("4.16.32", "4.14.12"),
    // Some day it is over.
    ("2026-12-", "2096-12-"),
    // It is looked at once, and the upgrade of the test is in another namespace.
    ("--timeout=168h", "--timeout=0"),
    ("mcu/spring -n platform --timeout=72h", "mcu/spring --timeout=0"),
    ("mcu spring -n platform", "mcu spring"),
    (
        "demo --clusters 50 --canaries 2",
        "demo --clusters 3 --canaries 1",
    ),
    (
        "demo --output json | jq .maxInFlight",
        "demo --as-fast-as-possible --output json",
    ),
];

/// The uuid of a finding of the reader.
const DOCUMENTED_FINDING: &str = "0123456789abcdef0123456789abcdef";

/// A command of a page.
struct Documented {
    place: String,
    line: String,
}

/// The commands of a block for a shell, each with the lines that belong to it.
fn commands(block: &Block) -> Vec<Documented> {
    let is_console = block.kind == "console";
    let mut lines = block.text.lines().enumerate();
    let mut commands = Vec::new();
    while let Some((number, line)) = lines.next() {
        let begins = match (block.kind.as_str(), line.strip_prefix("$ ")) {
            ("console" | "", Some(line)) => line,
            ("sh", _) => line,
            ("", None) if line.starts_with("kubectl ") => line,
            _ => continue,
        };
        if begins.trim().is_empty() || begins.starts_with('#') {
            continue;
        }
        let mut command = begins.to_owned();
        let end = begins.split_once("<<").map(|(_, end)| end.trim());
        let is_open = |command: &str| match end {
            Some(end) => !command.ends_with(&format!("\n{end}")),
            None => command.ends_with('\\'),
        };
        while is_open(&command) {
            let (_, more) = lines
                .next()
                .unwrap_or_else(|| panic!("{}: {begins} has no end", block.place()));
            command = format!("{command}\n{more}");
        }
        assert!(!is_console || !command.is_empty());
        commands.push(Documented {
            place: format!("{}:{}", block.page, block.line + number),
            line: command,
        });
    }
    commands
}

/// Writes the objects of a block into a file that is named as their last one, and gives its name.
fn write_objects(block: &Block, shell: &Shell) -> Option<String> {
    if block.kind != "yaml" {
        return None;
    }
    let objects = objects(block);
    let name = objects.last()?["metadata"]["name"].as_str()?;
    let file = format!("{name}.yaml");
    shell.write(&file, &block.text);
    Some(file)
}

/// Runs a command, and says what is wrong with what came of it.
async fn run(command: &Documented, shell: &Shell) -> Result<(), String> {
    let Documented { place, line } = command;
    let is_left_out = LEFT_OUT.iter().any(|(begin, _)| line.starts_with(begin))
        || NEEDS_NODES.iter().any(|part| line.contains(part));
    if is_left_out {
        return Ok(());
    }
    if SERVING.iter().any(|begin| line.starts_with(begin)) {
        let said = shell.first_line(line).await;
        return said
            .map(|_| ())
            .ok_or(format!("{place}: {line}: it says nothing"));
    }
    let done = shell.run(line).await;
    let mut refusals = MAY_REFUSE.iter();
    let may_refuse = refusals.any(|(begin, words)| line.starts_with(begin) && done.output.contains(words));
    match done.code {
        Some(0) => Ok(()),
        Some(1) if may_refuse => Ok(()),
        code => Err(format!("{place}: {line}\nends with {code:?}: {}", done.output)),
    }
}

#[tokio::test]
async fn the_tutorial_of_the_sandbox_goes_as_it_says() {
    let sandbox = Sandbox::start("--clusters 6 --speed 1200 --dashboard").await;
    let shell = Shell::new(&sandbox.kubeconfig);
    let mut wrong = Vec::new();
    for block in blocks().iter().filter(|block| block.page == TUTORIAL) {
        write_objects(block, &shell);
        for command in commands(block) {
            let line = command.line.as_str();
            if line.contains("--state failed") {
                shell.until(line, "dev3 ").await;
            }
            // It is running already.
            if !line.starts_with("kubectl drydock sandbox") {
                wrong.extend(run(&command, &shell).await.err());
            }
            if line == "kubectl drydock history spring" {
                let history = shell.run(line).await.output;
                let outcomes = |outcome: &str| history.lines().filter(|line| line.contains(outcome)).count();
                assert_eq!(
                    (outcomes(" Complete "), outcomes(" Failed ")),
                    (6, 1),
                    "{history}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    sandbox.stop().await;
}

#[tokio::test]
async fn every_command_about_a_sandbox_or_a_cluster_runs() {
    let sandbox = Sandbox::start("--clusters 6 --speed 60").await;
    let hub = Shell::new(&sandbox.kubeconfig);
    let cluster = Shell::new(&sandbox.kubeconfig_of("dev6").await);
    let all = blocks();
    let spring = all
        .iter()
        .find(|block| block.page == TUTORIAL && block.kind == "yaml")
        .unwrap();
    // One cluster is held for what it has found, for as long as the test lasts.
    hub.write(
        "spring.yaml",
        &spring
            .text
            .replace("spec:\n", "spec:\n  preChecks: {mode: Require}\n"),
    );
    hub.write(
        "freezes.ics",
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//docs//EN\nEND:VCALENDAR\n",
    );
    let operator = "kubectl get clusteroperator monitoring -o jsonpath='{.status.conditions[?(@.type==\"Available\")].status}'";
    let broken = hub
        .run("kubectl annotate managedcluster dev6 sandbox.drydock.dev/fault=F2")
        .await;
    assert_eq!(broken.code, Some(0), "{}", broken.output);
    cluster.until(operator, "False").await;
    let labeled = hub
        .run("kubectl label managedcluster --all environment=dev")
        .await;
    assert_eq!(labeled.code, Some(0), "{}", labeled.output);
    assert_eq!(hub.run("kubectl apply -f spring.yaml").await.code, Some(0));
    hub.until("kubectl drydock pre-checks spring -o json", "\"uuid\"")
        .await;
    let findings = hub.run("kubectl drydock pre-checks spring -o json").await.output;
    let findings: Value = serde_json::from_str(&findings).unwrap();
    let finding = findings["findings"][0]["uuid"].as_str().unwrap();
    let mut wrong = Vec::new();
    for block in all
        .iter()
        .filter(|block| block.page != TUTORIAL && !is_about_a_real_hub(&block.page))
    {
        if let Some(file) = write_objects(block, &hub).filter(|_| !block.text.contains("name: spring\n")) {
            // What is for a cluster has no kind on the hub.
            hub.run(&format!("kubectl apply -f {file}")).await;
            write_objects(block, &cluster);
            cluster.run("kubectl create namespace maintenance").await;
            cluster.run(&format!("kubectl apply -f {file}")).await;
        }
        for mut command in commands(block) {
            for (documented, real) in OF_THE_TEST {
                command.line = command.line.replace(documented, real);
            }
            command.line = command.line.replace(DOCUMENTED_FINDING, finding);
            let is_for_cluster = ["kubectl drydock cluster ", "kubectl drydock schedule"]
                .iter()
                .any(|begin| command.line.starts_with(begin));
            let shell = if is_for_cluster { &cluster } else { &hub };
            wrong.extend(run(&command, shell).await.err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    sandbox.stop().await;
}

fn is_about_a_real_hub(page: &str) -> bool {
    ABOUT_A_REAL_HUB.contains(&page)
}

#[tokio::test]
async fn every_command_about_a_hub_runs_on_a_real_api_server() {
    let settings = Settings::named("docs-commands");
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    manifests::install(&admin, &manifests::definitions().unwrap())
        .await
        .unwrap();
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let cluster = |name: &str| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": name}, "spec": {},
        })
    };
    let spring: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "spring", "namespace": "platform"},
        "spec": {"clusterSelector": {"clusterSets": ["dev"]}, "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"}},
    }))
    .unwrap();
    let version = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "4b0f4d55-0000-4000-8000-000000000000"},
    });
    let monitor = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com", "scope": "Namespaced",
            "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let names = [
        "platform",
        "prod1",
        "prod2",
        "openshift-config",
        "openshift-machine-api",
        "openshift-managed-upgrade-operator",
        "openshift-monitoring",
    ];
    let objects = names.map(namespace).into_iter();
    for object in objects.chain([monitor, cluster("prod1"), cluster("prod2"), version]) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        manifests::apply(&admin, &object).await.unwrap();
    }
    let shell = Shell::new(&server.kubeconfig(ADMIN).unwrap());
    let mut wrong = Vec::new();
    let all = blocks();
    for page in ABOUT_A_REAL_HUB {
        // A page may have removed it, with its kind.
        let _unless_it_has_no_kind = manifests::apply(&admin, &spring).await;
        for block in all.iter().filter(|block| block.page == page) {
            write_objects(block, &shell);
            for mut command in commands(block) {
                // The overlay of the reader is made of it.
                command.line = command.line.replace("-k ../hub", "-k manifests/hub");
                wrong.extend(run(&command, &shell).await.err());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
