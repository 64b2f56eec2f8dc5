//! What `plan` says, for the fleet page.

use anyhow::Context;
use drydock_dashboard::{
    BlockedView, CurvePoint, PlanError, PlanTexts, PlannedUpgrade, Planner, StopView, WaitView,
};
use drydock_forecast::EndedClusters;
use drydock_objects::{Fleet, hint};
use drydock_rollout::UpgradeKey;
use drydock_runtime::Clock;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::Client;

use super::arguments::{PlanArguments, Share};
use super::fleet::PlannedFleet;
use super::render::{Detail, render, shared};
use super::report::{PlanReport, whole_seconds};
use super::subject::{self, Subject};
use crate::upgrades::arguments::{Connection, Output};
use crate::upgrades::{self, hub::Hub};

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
    fn forecast(
        &self,
        client: Client,
        key: &UpgradeKey,
        own: &str,
    ) -> BoxFuture<'_, Result<PlannedUpgrade, PlanError>> {
        let (hub, name) = (self.hub(client, &key.namespace), key.name.to_string());
        let own = own.to_owned();
        let forecast = async move {
            let fleet = upgrades::fleet::read(&hub).await?;
            let subject = subject::of_hub(&hub, &name).await?;
            let planned = plan_all(fleet, hub.now(), vec![subject], own).await?;
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
        own: &str,
        texts: PlanTexts,
    ) -> BoxFuture<'_, Result<Vec<PlannedUpgrade>, PlanError>> {
        let (hub, own) = (self.hub(client, namespace), own.to_owned());
        let plan = async move {
            let fleet = upgrades::fleet::read(&hub).await?;
            let opened = texts.opened.as_deref();
            let mut subjects = vec![subject::of_page(&hub, &texts.yaml, opened).await?];
            if let Some(other) = &texts.compare {
                let other = subject::of_page(&hub, other, opened).await;
                subjects.push(other.context("the second text")?);
            }
            plan_all(fleet, hub.now(), subjects, own).await
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
    own: String,
) -> anyhow::Result<Vec<PlannedUpgrade>> {
    let simulating = tokio::task::spawn_blocking(move || {
        let arguments = without_flags();
        let mut fleet = PlannedFleet::new(fleet, whole_seconds(now), &arguments);
        let plans = subjects.iter().map(|subject| {
            let mut report = super::plan(&mut fleet, subject, &[], &arguments)?;
            report.named = hint::named(&report.namespace, &report.upgrade, &own);
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
        key: format!("{}/{}", report.namespace, report.upgrade),
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
        curve: report.ended.iter().map(curve_point).collect(),
        blocked: blocked.collect(),
        shared: shared(report).collect(),
    }
}

fn curve_point(point: &EndedClusters) -> CurvePoint {
    CurvePoint {
        at: point.at.as_second(),
        p10: point.p10,
        p50: point.p50,
        p90: point.p90,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drydock_api::mcu::ManagedClustersUpgrade;
    use drydock_sandbox::local_fleet::{LocalFleet, LocalFleetSettings};
    use drydock_sandbox::test_env::TestEnvSettings;
    use kube::Api;
    use kube::api::PostParams;
    use serde_json::json;

    use super::super::tests;
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
                because("listing works").context("the second text"),
                "the second text: listing works: ann may not list them",
            ),
            (anyhow::anyhow!("it has no target"), "it has no target"),
        ] {
            assert_eq!(error(&failed).0, expected);
        }
    }

    /// Whoever applies the second text applies the upgrade that it names: by that it is forecast, and by no pause of the first one.
    #[tokio::test(start_paused = true)]
    async fn each_of_two_texts_is_forecast_as_the_upgrade_that_it_names() {
        let settings = LocalFleetSettings::new(TestEnvSettings::demo(2, 7));
        let fleet = LocalFleet::start(settings).await.unwrap();
        let text = |name: &str, version: &str, paused: bool| {
            let spec = json!({
                "paused": paused, "clusterSelector": {}, "clusterVersion": {"version": version, "channel": "stable-4.14"},
            });
            json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
                "metadata": {"name": name, "namespace": "default"}, "spec": spec,
            })
        };
        let hub = fleet.user().unwrap();
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(hub.clone(), "default");
        let spring = serde_json::from_value(text("spring", "4.14.12", true)).unwrap();
        api.create(&PostParams::default(), &spring).await.unwrap();
        tokio::time::sleep(Duration::from_mins(5)).await;
        let planner = PagePlanner::new(fleet.clock.clone());
        let texts =
            [text("spring", "4.14.12", true), text("autumn", "4.14.11", false)].map(|text| text.to_string());
        let [yaml, second] = texts;
        let texts = PlanTexts {
            yaml,
            compare: Some(second),
            opened: None,
        };
        let plans = planner.plan(hub, "default", "team", texts).await.unwrap();
        let said: Vec<_> = plans
            .iter()
            .map(|plan| {
                (
                    plan.title.as_str(),
                    plan.stops.first().map(|stop| stop.cause.as_str()),
                )
            })
            .collect();
        assert_eq!(said[0], ("default/spring to 4.14.12", Some("Paused")));
        assert_eq!(said[1].0, "default/autumn to 4.14.11");
        let text = &plans[0].text;
        assert!(
            text.contains("kubectl drydock resume spring -n default"),
            "{text}"
        );
        assert_ne!(said[1].1, Some("Paused"));
        fleet.shut_down().await.unwrap();
    }

    /// Who applies a text on the page leaves to others what they manage; who edits an upgrade there, does not.
    #[tokio::test(start_paused = true)]
    async fn a_text_is_forecast_as_the_page_writes_it() {
        let settings = LocalFleetSettings::new(TestEnvSettings::demo(4, 7));
        let fleet = LocalFleet::start(settings).await.unwrap();
        let hub = fleet.user().unwrap();
        let text = |strategy: serde_json::Value| {
            json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
                "metadata": {"name": "spring", "namespace": "default"},
                "spec": {
                    "clusterSelector": {}, "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"},
                    "upgradeStrategy": strategy,
                },
            })
        };
        let soon = json!([{"cron": "0 1 * * 6", "duration": "12h"}]);
        let applied = text(json!({"maxConcurrency": 3, "startWindows": soon}));
        let mut there = applied.clone();
        let last = json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()});
        there["metadata"]["annotations"] = last;
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(hub.clone(), "default");
        let there = serde_json::from_value(there).unwrap();
        api.create(&PostParams::default(), &there).await.unwrap();
        tokio::time::sleep(Duration::from_mins(5)).await;
        let planner = PagePlanner::new(fleet.clock.clone());
        for (opened, at_most) in [
            (None, 3),
            (Some("default/autumn"), 3),
            (Some("default/spring"), 1),
        ] {
            let texts = PlanTexts {
                yaml: text(json!({"startWindows": soon})).to_string(),
                compare: None,
                opened: opened.map(str::to_owned),
            };
            let plans = planner.plan(hub.clone(), "default", "default", texts).await;
            assert_eq!(plans.unwrap()[0].in_flight_at_most, at_most, "{opened:?}");
        }
        let unchanged = PlanTexts {
            yaml: applied.to_string(),
            compare: None,
            opened: Some("default/spring".to_owned()),
        };
        let plans = planner.plan(hub, "default", "default", unchanged).await;
        assert_eq!(plans.unwrap()[0].in_flight_at_most, 3);
        fleet.shut_down().await.unwrap();
    }

    /// The chart says the same as the sentence above it, also where clusters are in flight at once.
    #[test]
    fn all_clusters_have_ended_when_the_text_says_so() {
        let arguments = without_flags();
        let now = whole_seconds("2026-03-01T00:00:00Z".parse().unwrap());
        let mut fleet = PlannedFleet::new(tests::fleet(5), now, &arguments);
        let subject = tests::spring(&json!({"maxConcurrency": 4}));
        let plan = planned(&super::super::plan(&mut fleet, &subject, &[], &arguments).unwrap());
        let full = |count: fn(&CurvePoint) -> usize| {
            let point = plan.curve.iter().find(|point| count(point) == 4);
            point.map(|point| point.at)
        };
        assert_eq!(full(|point| point.p90), plan.p10);
        assert_eq!(full(|point| point.p50), plan.p50);
        assert_eq!(full(|point| point.p10), plan.p90);
        assert!(plan.p10 < plan.p50 && plan.p50 < plan.p90);
    }
}
