//! The commands about a cluster's update, as a user runs them: of files, and against a cluster of a sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

#[path = "../upgrades/sandbox.rs"]
#[allow(dead_code, reason = "the other commands need the rest of it")]
mod sandbox;
mod updates;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use drydock_api::conditions::is_true;
use drydock_api::openshift::ClusterVersion;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::{Value, json};

use sandbox::Sandbox;

/// A folder of fixtures beside the project; nothing, with a line that says so, where it is absent.
fn fixtures(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/fixtures")
        .join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is not there", folder.display());
    None
}

fn run(command: &str, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
        .args(["cluster", command, "--from"])
        .arg(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_status_of_objects_in_files_is_what_oc_prints() {
    let Some(cases) = fixtures("oc/status") else {
        return;
    };
    for case in fs::read_dir(cases).unwrap() {
        let folder = case.unwrap().path();
        for (file, arguments) in [("output", &[][..]), ("detailed-output", &["--details=all"])] {
            let printed = run("status", &folder, arguments);
            let expected = fs::read_to_string(folder.join(file)).unwrap();
            assert_eq!(text(&printed.stdout), expected, "{}, {file}", folder.display());
            assert_eq!(text(&printed.stderr), "");
            assert!(printed.status.success());
        }
    }
}

#[test]
fn recommendations_of_objects_in_files_are_what_oc_prints() {
    let Some(folder) = fixtures("oc/recommend/4.14.1-all-recommended") else {
        return;
    };
    for (file, arguments, code) in [
        ("output", &[][..], 0),
        ("show-outdated-output", &["--show-outdated-releases"], 0),
        ("version-4.12.51-output", &["--version", "4.12.51"], 1),
    ] {
        let printed = run("recommend", &folder, arguments);
        let expected = fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(text(&printed.stdout), expected, "{file}");
        assert_eq!(printed.status.code(), Some(code), "{file}");
    }
}

/// A folder with a cluster of 4.14.1 that may be updated to 4.14.2, with a message that a terminal would act on.
fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let version = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"channel": "stable-4.14"},
        "status": {
            "desired": {"version": "4.14.1"},
            "history": [{"state": "Completed", "version": "4.14.1", "startedTime": "2026-03-01T10:00:00Z", "completionTime": "2026-03-01T11:00:00Z"}],
            "availableUpdates": [{"version": "4.14.2", "image": "image", "url": "https://example.com"}],
            "conditions": [
                {"type": "Failing", "status": "True", "reason": "Why", "message": "\u{1b}[2Jred\u{202e}", "lastTransitionTime": "2026-03-01T11:00:00Z"},
                {"type": "Progressing", "status": "False", "lastTransitionTime": "2026-03-01T11:00:00Z"},
                {"type": "Available", "status": "True", "lastTransitionTime": "2026-03-01T11:00:00Z"},
            ],
        },
    });
    let operators = json!({"kind": "ClusterOperatorList", "items": [{
        "metadata": {"name": "etcd"}, "status": {"conditions": [
            {"type": "Available", "status": "True"}, {"type": "Degraded", "status": "False"},
        ]},
    }]});
    let alerts = json!({"status": "success", "data": {"alerts": []}});
    for (file, object) in [
        ("version.json", version),
        ("operators.yml", operators),
        ("alerts.json", alerts),
    ] {
        fs::write(folder.path().join(file), object.to_string()).unwrap();
    }
    fs::write(folder.path().join("notes.txt"), "no object").unwrap();
    folder
}

#[test]
fn what_is_not_accepted_makes_the_exit_code() {
    let folder = written();
    let refused = run("recommend", folder.path(), &["--version", "4.14.2", "--quiet"]);
    assert_eq!(
        (text(&refused.stdout).as_str(), refused.status.code()),
        ("Failing\n", Some(1))
    );
    let accepted = run(
        "recommend",
        folder.path(),
        &["--version", "4.14.2", "--accept", "Other,Failing"],
    );
    assert!(accepted.status.success());
    assert!(text(&accepted.stdout).ends_with(
        "\nUpdate to 4.14.2 has no known issues relevant to this cluster.\nImage: image\nRelease URL: https://example.com\nUpdate to 4.14.2 has no known issues relevant to this cluster other than the accepted Failing.\n"
    ));
}

#[test]
fn nothing_that_clusters_say_acts_on_the_terminal() {
    let folder = written();
    let printed = text(&run("recommend", folder.path(), &[]).stdout);
    assert!(
        printed.starts_with("Failing=True:\n\n  Reason: Why\n  Message: \\u{1b}[2Jred\\u{202e}\n\n"),
        "{printed:?}"
    );
}

#[test]
fn scripts_get_json_or_yaml() {
    let folder = written();
    let status = run("status", folder.path(), &["-o", "json"]);
    let notes = [
        "there are no machine config pools: they are not looked at",
        "there are no nodes: they are not looked at",
    ];
    assert_eq!(
        serde_json::from_slice::<Value>(&status.stdout).unwrap(),
        json!({"update": null, "notes": notes})
    );
    let refused = run("recommend", folder.path(), &["--version", "4.14.2", "-o", "json"]);
    let report: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(report["release"]["unaccepted"], json!(["Failing"]));
    assert_eq!(report["release"]["target"]["version"], "4.14.2");
    assert_eq!(refused.status.code(), Some(1));
    let yaml = text(&run("recommend", folder.path(), &["-o", "yaml"]).stdout);
    assert!(yaml.contains("channel:\n  name: stable-4.14\n"), "{yaml}");
}

#[test]
fn a_folder_must_have_a_cluster_version_and_flags_that_fit() {
    let empty = tempfile::tempdir().unwrap();
    let refused = run("status", empty.path(), &[]);
    assert!(text(&refused.stderr).contains("no cluster version information available"));
    assert_eq!(refused.status.code(), Some(1));
    let folder = written();
    for arguments in [
        &["--quiet"][..],
        &["--version", "4.14.2", "--show-outdated-releases"],
        &["--version", "newest"],
    ] {
        assert_eq!(
            run("recommend", folder.path(), arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

/// A dump is of a stranger: what it links to outside of itself may be a file of the user's, and would be quoted where it is no YAML.
#[test]
fn nothing_outside_of_a_folder_is_read() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "user: a: hunter2").unwrap();
    let folder = written();
    let links = folder.path();
    std::os::unix::fs::symlink(secret.path(), links.join("secret.yaml")).unwrap();
    std::os::unix::fs::symlink("/proc/self/environ", links.join("environ.yaml")).unwrap();
    fs::rename(links.join("version.json"), links.join("version.txt")).unwrap();
    std::os::unix::fs::symlink("version.txt", links.join("version.json")).unwrap();
    let status = run("status", links, &[]);
    assert!(status.status.success(), "{}", text(&status.stderr));
    assert!(!text(&status.stderr).contains("hunter2"));
}

#[tokio::test]
async fn a_cluster_is_asked_itself() {
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
    let status = sandbox.run(&with(&["status"]));
    assert_eq!(text(&status.stdout), "The cluster is not updating.\n");
    let notes = text(&status.stderr);
    let note = "the machine configs could not be read, so versions of nodes are not known";
    assert!(notes.starts_with(note), "{notes}");
    let recommended = sandbox.run(&with(&["recommend"]));
    let printed = text(&recommended.stdout);
    assert!(
        printed.contains("Failed to check for at least some preconditions: failed to get alerts from Thanos"),
        "{printed}"
    );
    assert!(printed.contains("\nUpdates to 4."), "{printed}");
    begin_update(&sandbox.client("dev1").await).await;
    let updating = sandbox.prints(&with(&["status", "--estimate=history"]));
    assert!(
        updating.starts_with("= Control Plane =\nAssessment:      Progressing\nTarget Version:  4."),
        "{updating}"
    );
    assert!(updating.contains("\n= Update Health =\n"), "{updating}");
    // Without an agent, too, nothing is looked at any more: its own update would be in the way of it.
    let target = updating
        .lines()
        .find_map(|line| line.strip_prefix("Target Version:  "));
    let target = target.unwrap().split(' ').next().unwrap();
    let begun = ["cluster", "pre-checks", "--version", target, "--timeout", "1s"];
    let begun = begun.iter().chain(&of_cluster).copied().collect::<Vec<_>>();
    let begun = sandbox.refuses(&begun);
    assert!(
        begun.contains(&format!("the update to {target} has begun")),
        "{begun}"
    );
    let hub = sandbox.refuses(&["cluster", "status", "--context", "hub"]);
    assert!(hub.contains("ClusterVersion"), "{hub}");
}

/// Asks for the first of the available updates, and waits until it is under way.
async fn begin_update(client: &Client) {
    let api: Api<ClusterVersion> = Api::all(client.clone());
    let version = api.get("version").await.unwrap();
    let update = version.status.unwrap().available_updates[0].clone();
    let patch = json!({"spec": {"desiredUpdate": {"version": update.version}}});
    api.patch("version", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let is_under_way = |version: Option<&ClusterVersion>| {
        let status = version.and_then(|version| version.status.as_ref());
        status.is_some_and(|status| is_true(&status.conditions, "Progressing"))
    };
    await_condition(api, "version", is_under_way).await.unwrap();
}
