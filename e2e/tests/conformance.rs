//! Every case of `e2e/cases` on the sandbox and on a real kube-apiserver, and the cases of `conformance` on the real one.
//! Ends with a line `N cases, N equal, N known differences`.
//!
//! `cargo test --features control-plane --test conformance -- WORD` runs the cases whose names contain the word.
#![allow(clippy::print_stdout, reason = "it reports to a person")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::differential::{Difference, Known, Pair, Script};
use drydock_e2e::{conformance, manifests};
use drydock_runtime::Clock;
use futures::StreamExt;
use kube_sandbox::server::{ApiServer, ServerSettings, Types};

/// How many cases run at once.
const AT_ONCE: usize = 8;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let word = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known = Known::read(&folder.join("known-differences.yaml"))?;
    let mut scripts = Script::read_all(&folder.join("cases"))?;
    scripts.retain(|script| word.as_ref().is_none_or(|word| script.name.contains(word)));
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.client(ADMIN).await?;
    manifests::install(&client, &drydock_api::crds()).await?;
    let mut report = Report::default();
    if word.is_none() {
        for (name, outcome) in conformance::all(&client).await {
            report.add(name, outcome.map(|()| Vec::new()), &known);
        }
    }
    let types = Types::with_definitions(&drydock_api::crds())?;
    let sandbox = ApiServer::new(ServerSettings::new("hub", Clock::system(), 1, types));
    let pair = Arc::new(Pair::start(sandbox, control_plane).await?);
    let runs = scripts.iter().enumerate().map(|(number, script)| {
        let pair = Arc::clone(&pair);
        async move {
            let namespace = format!("{}-{number}", script.subject);
            (script, pair.differences(&namespace, script).await)
        }
    });
    let outcomes: Vec<_> = futures::stream::iter(runs).buffered(AT_ONCE).collect().await;
    for (script, outcome) in outcomes {
        report.add(&script.name, outcome, &known);
    }
    if let Some(pair) = Arc::into_inner(pair) {
        pair.stop().await?;
    }
    report.end(&known, word.is_none())
}

#[derive(Default)]
struct Report {
    equal: usize,
    known: usize,
    failed: usize,
    used: BTreeSet<usize>,
}

impl Report {
    fn add(&mut self, name: &str, outcome: anyhow::Result<Vec<Difference>>, known: &Known) {
        let differences = match outcome {
            Ok(differences) => differences,
            Err(error) => {
                self.failed += 1;
                println!("FAILED {name}\n    {error:#}");
                return;
            }
        };
        let mut unknown = Vec::new();
        for difference in &differences {
            match known.covering(name, difference) {
                Some(number) => {
                    self.used.insert(number);
                }
                None => unknown.push(difference),
            }
        }
        if !unknown.is_empty() {
            self.failed += 1;
            println!("DIFFERENT {name}");
            unknown.iter().for_each(|difference| println!("    {difference}"));
        } else if differences.is_empty() {
            self.equal += 1;
        } else {
            self.known += 1;
        }
    }

    fn end(self, known: &Known, whole: bool) -> anyhow::Result<()> {
        let stale: Vec<String> = known
            .all()
            .enumerate()
            .filter(|(number, _)| whole && !self.used.contains(number))
            .map(|(_, known)| format!("{} at {}", known.case, known.at))
            .collect();
        let readme = std::fs::read_to_string(manifests::in_repository("sandbox/kube/README.md"))?;
        let undocumented: Vec<&str> = known
            .all()
            .map(|known| known.reason.as_str())
            .filter(|reason| !readme.contains(reason))
            .collect();
        let cases = self.equal + self.known + self.failed;
        println!(
            "{cases} cases, {} equal, {} known differences",
            self.equal, self.known
        );
        anyhow::ensure!(
            undocumented.is_empty(),
            "sandbox/kube/README.md does not list: {undocumented:#?}"
        );
        anyhow::ensure!(
            stale.is_empty(),
            "entries for differences that no longer exist: {stale:#?}"
        );
        anyhow::ensure!(self.failed == 0, "{} cases differ or failed", self.failed);
        Ok(())
    }
}
