//! What is kept in memory of each cluster, as the fleet page keeps it: what is seen of it, what is decided, its work in flight, and what
//! that feeds back. Prints bytes a cluster; nothing is asserted. `MEMORY_PROFILE=1` also writes where they were allocated (`dhat-heap.json`).
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "it measures for a person, with objects that are written here"
)]

mod fleet;

use drydock_objects::works::{PartialManifestWork, WorkTemplate, build, default_agent_image, digest};
use drydock_rollout::{Action, UpgradeKey};
use fleet::Bench;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const CLUSTERS: usize = 10_000;

fn main() {
    let mut profile = dhat::Profiler::builder();
    if std::env::var_os("MEMORY_PROFILE").is_none() {
        profile = profile.testing();
    }
    let _profile = profile.build();
    let works = Bench::new(CLUSTERS).works();
    let mut before = dhat::HeapStats::get().curr_bytes;
    let mut show = |what: &str| {
        let now = dhat::HeapStats::get().curr_bytes;
        println!(
            "{what:<36} {:>6} bytes a cluster",
            now.saturating_sub(before) / CLUSTERS
        );
        before = now;
    };
    let mut bench = Bench::new(CLUSTERS);
    show("what is seen of it");
    bench.look();
    show("what is decided");
    for work in &works {
        bench.bring(work);
    }
    show("its work in flight");
    bench.look();
    show("what is decided with its work");
}

impl Bench {
    fn look(&mut self) {
        let looked = self
            .fleet
            .looked_at(&UpgradeKey::new("default", "spring"), self.now);
        let looked = looked.expect("the upgrade is there");
        let clusters = looked.clusters().filter(|(_, details)| details.selected).count();
        assert_eq!(clusters, CLUSTERS);
    }

    /// The watch brings a work.
    fn bring(&mut self, work: &Value) {
        self.version += 1;
        let work: PartialManifestWork = serde_json::from_value(work.clone()).expect("it is a work");
        let digest = digest(&work, self.now).expect("it is one of ours");
        let _change = self
            .fleet
            .set_work(&digest.cluster, digest.kind, digest.work, self.version);
    }

    /// The works that start all clusters, with what their clusters feed back.
    fn works(&mut self) -> Vec<Value> {
        let key = UpgradeKey::new("default", "spring");
        let planned = self.fleet.plan(&key, self.now).expect("the upgrade is there");
        let template = WorkTemplate {
            upgrade: &key,
            uid: &planned.rollout.upgrade.uid,
            grant_cluster_admin: false,
            agent_image: default_agent_image(),
        };
        let built = planned.plan.actions.iter().filter_map(|action| match action {
            Action::CreateWork(new) => Some(build(&template, new, self.now)),
            _ => None,
        });
        let works: Vec<Value> = built.map(in_flight).collect();
        assert_eq!(works.len(), CLUSTERS, "all start");
        works
    }
}

/// The work, applied, with what a cluster says that is on its way.
fn in_flight(mut work: Value) -> Value {
    let name = work["metadata"]["namespace"].as_str().unwrap_or_default();
    work["metadata"]["uid"] = format!("52655781-7283-4860-92ea-3892c5{name:0>10}").into();
    work["metadata"]["creationTimestamp"] = "2026-03-01T12:00:00Z".into();
    work["metadata"]["generation"] = 1.into();
    let value = |(name, value): (&str, &str)| json!({"name": name, "fieldValue": {"type": "String", "string": value}});
    let values: Vec<Value> = SAID.into_iter().map(value).collect();
    let applied =
        json!([{"type": "Applied", "status": "True", "reason": "", "message": "", "observedGeneration": 1}]);
    work["status"] = json!({
        "conditions": applied,
        "resourceStatus": {"manifests": [{
            "resourceMeta": {"group": "config.openshift.io", "resource": "clusterversions", "kind": "ClusterVersion", "name": "version"},
            "conditions": applied, "statusFeedback": {"values": values},
        }]},
    });
    work
}

const SAID: [(&str, &str); 9] = [
    ("version", "4.14.12"),
    ("state", "Partial"),
    (
        "image",
        "quay.io/openshift-release-dev/ocp-release@sha256:7913bdc886dfc43a0556b0c2e1d6adffb4e9d9916fb0ba8c024d6d5fb2761ed1",
    ),
    ("channel", "stable-4.14"),
    ("asked", "4.14.12"),
    (
        "message",
        "Working towards 4.14.12: 735 of 862 done (85% complete), waiting on machine-config",
    ),
    ("failing", "False"),
    ("failingSince", "2026-02-26T22:12:02Z"),
    ("releaseAccepted", "True"),
];
