use std::sync::Mutex;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use super::*;

fn begin() -> Timestamp {
    "2026-01-05T08:00:00Z".parse().unwrap()
}

/// What becomes of an object is in its name; when it was looked at is noted.
#[derive(Default)]
struct Scripted {
    objects: Mutex<Vec<Arc<ConfigMap>>>,
    looked_at: Mutex<Vec<(String, Timestamp)>>,
}

impl Scripted {
    fn put(&self, name: &str, version: u64) {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.resource_version = Some(version.to_string());
        let mut objects = self.objects.lock().unwrap();
        objects.retain(|known| known.name_any() != name);
        objects.push(Arc::new(object));
    }

    /// Seconds since `begin` at which an object was looked at.
    fn times(&self, name: &str, begin: Timestamp) -> Vec<i64> {
        let looked_at = self.looked_at.lock().unwrap();
        let own = looked_at.iter().filter(|(known, _)| known == name);
        own.map(|(_, at)| at.duration_since(begin).as_secs()).collect()
    }
}

impl Reconcile for Arc<Scripted> {
    type Object = ConfigMap;

    fn objects(&self) -> Vec<Arc<ConfigMap>> {
        self.objects.lock().unwrap().clone()
    }

    async fn reconcile(
        &self,
        object: &Arc<ConfigMap>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let name = object.name_any();
        self.looked_at.lock().unwrap().push((name.clone(), now));
        match name.as_str() {
            "panics" => panic!("on purpose"),
            "fails" => Err(ReconcileError::Write {
                what: "x".to_owned(),
                why: "y".to_owned(),
            }),
            "changes" => Err(ReconcileError::Outdated { what: "x".to_owned() }),
            "waits" => Ok(Some(begin() + SignedDuration::from_secs(40)).filter(|wake| *wake > now)),
            _ => Ok(None),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_tried_again_more_and_more_rarely_and_at_once_when_it_changes() {
    let begin = begin();
    let scripted = Arc::new(Scripted::default());
    for name in ["panics", "fails", "waits", "rests"] {
        scripted.put(name, 1);
    }
    let changed = Arc::new(Notify::new());
    let controller = Controller {
        reconciler: Arc::clone(&scripted),
        changed: Arc::clone(&changed),
        clock: Clock::simulated(begin),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
    };
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(controller.run(shutdown.clone()));
    changed.notify_one();
    tokio::time::sleep(Duration::from_mins(1)).await;
    for name in ["fails", "panics"] {
        let times = scripted.times(name, begin);
        assert!((5..=7).contains(&times.len()), "{name}: {times:?}");
        let waits: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(waits.is_sorted(), "{name}: {times:?}");
    }
    assert!(scripted.times("waits", begin).contains(&40));

    // A change of others does not shorten the wait; one of its own does.
    let before = scripted.times("fails", begin).len();
    changed.notify_one();
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(scripted.times("fails", begin).len(), before);
    scripted.put("fails", 2);
    changed.notify_one();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(scripted.times("fails", begin).len(), before + 1);

    shutdown.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_rests_is_looked_at_now_and_then() {
    let begin = begin();
    let scripted = Arc::new(Scripted::default());
    scripted.put("rests", 1);
    let controller = Controller {
        reconciler: Arc::clone(&scripted),
        changed: Arc::default(),
        clock: Clock::simulated(begin),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
    };
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(controller.run(shutdown.clone()));
    tokio::time::sleep(Duration::from_hours(3) + Duration::from_secs(1)).await;
    assert_eq!(scripted.times("rests", begin), [3600, 7200, 10800]);
    shutdown.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_has_changed_meanwhile_is_a_failure_only_if_that_goes_on() {
    let scripted = Arc::new(Scripted::default());
    scripted.put("changes", 1);
    let registry = prometheus::Registry::new();
    let changed = Arc::new(Notify::new());
    let controller = Controller {
        reconciler: Arc::clone(&scripted),
        changed: Arc::clone(&changed),
        clock: Clock::simulated(begin()),
        metrics: Metrics::register(&registry).unwrap(),
    };
    let failures = || {
        let families = registry.gather();
        let family = families
            .iter()
            .find(|family| family.name().ends_with("reconcile_errors_total"));
        family.unwrap().get_metric()[0].get_counter().get_value()
    };
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(controller.run(shutdown.clone()));
    changed.notify_one();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(scripted.times("changes", begin()).len() > 1);
    assert!(failures().abs() < f64::EPSILON);
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(failures() >= 1.0);
    shutdown.cancel();
    running.await.unwrap();
}
