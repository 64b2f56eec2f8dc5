//! What `plan` says, for the fleet page.

use anyhow::Context;
use drydock_dashboard::{BlockedView, CurvePoint, PlanError, PlannedUpgrade, Planner, StopView, WaitView};
use drydock_objects::Fleet;
use drydock_rollout::UpgradeKey;
use drydock_runtime::Clock;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::Client;

use super::arguments::{PlanArguments, Share};
use super::clusters::ClusterEntry;
use super::fleet::PlannedFleet;
use super::render::{Detail, render};
use super::report::{PlanReport, whole_seconds};
use super::subject::{self, Subject};
use crate::upgrades::arguments::{Connection, Output};
use crate::upgrades::{self, hub::Hub};

/// How many points a curve has.
const POINTS: i64 = 60;

/// Forecasts for the page, as `plan` does for a terminal.
pub struct PagePlanner {
    clock: Clock,
}

impl PagePlanner {
    /// By the clock of the hub.
    pub fn new(clock: Clock) -> Self {
        Self { clock }
    }

    fn hub(&self, client: Client, namespace: &str) -> Hub {
        Hub::new(client, namespace.to_owned(), &self.clock)
    }
}

impl Planner for PagePlanner {
    fn forecast(&self, client: Client, key: &UpgradeKey) -> BoxFuture<'_, Result<PlannedUpgrade, PlanError>> {
        let (hub, name) = (self.hub(client, &key.namespace), key.name.to_string());
        let forecast = async move {
            let fleet = upgrades::fleet::read(&hub).await?;
            let subject = subject::of_hub(&hub, &name).await?;
            let planned = plan_all(fleet, hub.now(), vec![subject]).await?;
            planned.into_iter().next().context("nothing was forecast")
        };
        forecast
            .map(|planned| planned.map_err(|failed| error(&failed)))
            .boxed()
    }

    fn plan(
        &self,
        client: Client,
        namespace: &str,
        yaml: String,
        compare: Option<String>,
    ) -> BoxFuture<'_, Result<Vec<PlannedUpgrade>, PlanError>> {
        let hub = self.hub(client, namespace);
        let plan = async move {
            let fleet = upgrades::fleet::read(&hub).await?;
            let mut subjects = vec![subject::of_text(&hub, &yaml, None).await?];
            if let Some(other) = compare {
                let other = subject::of_text(&hub, &other, subjects.first()).await;
                subjects.push(other.context("the other upgrade")?);
            }
            plan_all(fleet, hub.now(), subjects).await
        };
        plan.map(|planned| planned.map_err(|failed| error(&failed)))
            .boxed()
    }
}

/// With what caused it: the page shows one line. Of what the API server refuses it is the server's words; the rest of the answer is for a log.
fn error(error: &anyhow::Error) -> PlanError {
    let mut words = Vec::new();
    for cause in error.chain() {
        if let Some(kube::Error::Api(refusal)) = cause.downcast_ref() {
            words.push(refusal.message.clone());
            break;
        }
        words.push(cause.to_string());
    }
    PlanError(words.join(": "))
}

/// Simulates on a thread of its own: what else is served goes on.
async fn plan_all(
    fleet: Fleet,
    now: Timestamp,
    subjects: Vec<Subject>,
) -> anyhow::Result<Vec<PlannedUpgrade>> {
    let simulating = tokio::task::spawn_blocking(move || {
        let arguments = without_flags();
        let mut fleet = PlannedFleet::new(fleet, whole_seconds(now), &arguments);
        let plans = subjects.iter().map(|subject| {
            let report = super::plan(&mut fleet, subject, &[], &arguments)?;
            Ok(planned(&report))
        });
        plans.collect()
    });
    simulating.await.context("simulating the rollout")?
}

/// As `plan` is called without flags.
fn without_flags() -> PlanArguments {
    PlanArguments {
        name: None,
        file: None,
        runs: 200,
        seed: 0,
        group_by: None,
        failure_rate: None,
        no_failures: false,
        clusters: false,
        finish_by: None,
        confidence: Share(0.9),
        ignore_blocked: false,
        sweep: Vec::new(),
        compare: None,
        output: Output::Table,
        connection: Connection {
            kubeconfig: None,
            context: None,
            namespace: None,
        },
    }
}

fn planned(report: &PlanReport) -> PlannedUpgrade {
    let figures = &report.figures;
    let seconds = |at: Timestamp| at.as_second();
    let stops = figures.stops.iter().map(|stop| StopView {
        cause: stop.cause.to_owned(),
        share: stop.share,
    });
    let waits = figures.waits.iter().map(|wait| WaitView {
        what: wait.waits_for.to_owned(),
        share: wait.share,
    });
    let blocked = report.blocked.iter().map(|group| BlockedView {
        reason: group.reason.clone(),
        message: group.message.clone(),
        clusters: group.clusters.clone(),
    });
    PlannedUpgrade {
        computed_at: report.computed_at.as_second(),
        title: format!("{}/{} to {}", report.namespace, report.upgrade, report.target),
        clusters: report.clusters.len(),
        text: render(report, Detail::default()),
        p10: figures.ends.map(|ends| seconds(ends.p10)),
        p50: figures.ends.map(|ends| seconds(ends.p50)),
        p90: figures.ends.map(|ends| seconds(ends.p90)),
        confident: report.confident,
        stops: stops.collect(),
        waits_for: waits.collect(),
        failures: figures.failed_clusters.p50,
        in_flight_at_most: figures.most_in_flight.max,
        curve: curve(report.computed_at, &report.clusters),
        blocked: blocked.collect(),
    }
}

/// How many clusters have ended by when. Each cluster is counted by its own percentiles: that many ended by its p90 have so in most runs.
fn curve(from: Timestamp, clusters: &[ClusterEntry]) -> Vec<CurvePoint> {
    let ends: Vec<_> = clusters.iter().filter_map(|cluster| cluster.ends).collect();
    let Some(to) = ends.iter().map(|ends| ends.p90).max().filter(|to| *to > from) else {
        return Vec::new();
    };
    let length = to.as_second() - from.as_second();
    let point = |number: i64| {
        let at = from.as_second() + (length * number).div_euclid(POINTS - 1);
        let ended = |by: fn(&super::report::Times) -> Timestamp| {
            ends.iter().filter(|ends| by(ends).as_second() <= at).count()
        };
        CurvePoint {
            at,
            p10: ended(|ends| ends.p90),
            p50: ended(|ends| ends.p50),
            p90: ended(|ends| ends.p10),
        }
    };
    (0..POINTS).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::super::report::Times;
    use super::*;

    #[test]
    fn what_the_api_server_refuses_is_said_in_its_words() {
        let status = kube::core::Status::failure("ann may not list them", "Forbidden").with_code(403);
        let refused = || kube::Error::Api(Box::new(status.clone()));
        let because = |why: &'static str| anyhow::Error::new(refused()).context(why);
        for (failed, expected) in [
            (anyhow::Error::new(refused()), "ann may not list them"),
            (because("listing works"), "listing works: ann may not list them"),
            (
                because("listing works").context("the other upgrade"),
                "the other upgrade: listing works: ann may not list them",
            ),
            (anyhow::anyhow!("it has no target"), "it has no target"),
        ] {
            assert_eq!(error(&failed).0, expected);
        }
    }

    #[test]
    fn a_curve_ends_with_all_that_come_to_an_end() {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        let cluster = |ends: Option<i64>| ClusterEntry {
            name: "dev1".to_owned(),
            canary: false,
            state: "Waiting",
            from: None,
            starts: None,
            ends: ends.map(|end| Times {
                p10: at(end - 100),
                p50: at(end),
                p90: at(end + 100),
            }),
            left: 0.0,
            fails: 0.0,
        };
        let clusters = [cluster(Some(1000)), cluster(Some(2000)), cluster(None)];
        let curve = curve(at(0), &clusters);
        assert_eq!(curve.len(), 60);
        let counts = |point: &CurvePoint| (point.at, point.p10, point.p50, point.p90);
        assert_eq!(counts(&curve[0]), (0, 0, 0, 0));
        assert_eq!(counts(&curve[59]), (2100, 2, 2, 2));
        assert!(curve.is_sorted_by_key(|point| (point.at, point.p10, point.p50, point.p90)));
        assert!(
            curve
                .iter()
                .all(|point| point.p10 <= point.p50 && point.p50 <= point.p90)
        );
        assert!(super::curve(at(5000), &clusters).is_empty(), "all have ended");
    }
}
