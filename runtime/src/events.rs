//! Transitions that a user can see: each becomes an Event, a metric and a log line with the same words.
//!
//! kube's recorder merges events of the same reason and keeps the first note only, and takes its times from the wall
//! clock; here every transition is an Event of its own, at the clock's time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::api::PostParams;
use kube::{Api, Client};
use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Clock;
use crate::metrics::MetricGroup;

/// Events that may wait to be written; beyond, they are dropped and counted, and the log line stays.
const WAITING_EVENTS: usize = 4096;
/// The longest note that the API accepts, in bytes.
const LONGEST_MESSAGE: usize = 1024;

/// Whether a transition is as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As wanted.
    Normal,
    /// Somebody should look.
    Warning,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Something that happened to an object and that a user wants to know.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The object it happened to.
    pub object: ObjectReference,
    /// Another object that takes part, such as the managed cluster.
    pub related: Option<ObjectReference>,
    /// Whether it is as wanted.
    pub severity: Severity,
    /// Why, in CamelCase, for machines: one of [`drydock_names::events`], so that each is documented.
    pub reason: &'static str,
    /// What was being done, in CamelCase.
    pub action: &'static str,
    /// What happened, for people.
    pub message: String,
}

/// Takes events; never blocks the publisher.
#[derive(Clone, Debug)]
pub struct Publisher {
    queue: mpsc::Sender<Event>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    component: &'static str,
    sequence: AtomicU64,
    metrics: EventMetrics,
}

/// What is counted of transitions and their Events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventMetrics {
    transitions: IntCounterVec,
    dropped: IntCounter,
}

impl EventMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If `registry` has them already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            transitions: IntCounterVec::new(
                Opts::new(
                    "drydock_transitions_total",
                    "What happened, by the reason that its Event has.",
                ),
                &["kind", "reason", "type"],
            )?,
            dropped: IntCounter::new(
                "drydock_events_dropped_total",
                "Events that could not be written.",
            )?,
        };
        metrics.register_in(registry)?;
        Ok(metrics)
    }
}

impl MetricGroup for EventMetrics {
    fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self { transitions, dropped } = self;
        vec![Box::new(transitions.clone()), Box::new(dropped.clone())]
    }
}

/// The part that writes the Events; run it as a task of the process.
pub struct EventWriter {
    queue: mpsc::Receiver<Event>,
    client: Client,
    dropped: IntCounter,
}

/// A publisher that reports as `component`, and the writer behind it.
///
/// # Errors
/// If `registry` has the metrics already.
pub fn publisher(
    client: Client,
    clock: Clock,
    component: &'static str,
    registry: &Registry,
) -> Result<(Publisher, EventWriter), prometheus::Error> {
    let metrics = EventMetrics::register(registry)?;
    let dropped = metrics.dropped.clone();
    let (sender, receiver) = mpsc::channel(WAITING_EVENTS);
    let shared = Arc::new(Shared {
        clock,
        component,
        sequence: AtomicU64::new(0),
        metrics,
    });
    Ok((
        Publisher {
            queue: sender,
            shared,
        },
        EventWriter {
            queue: receiver,
            client,
            dropped,
        },
    ))
}

impl Publisher {
    /// Publishes a transition: counts it, logs it, and has its Event written in the background.
    pub fn publish(&self, transition: &NewEvent) {
        let kind = transition.object.kind.as_deref().unwrap_or("Unknown");
        debug_assert!(
            drydock_names::events::is_documented(transition.reason),
            "the Event {} is not documented in drydock_names::events",
            transition.reason
        );
        self.shared
            .metrics
            .transitions
            .with_label_values(&[kind, transition.reason, transition.severity.as_str()])
            .inc();
        log(transition);
        if self.queue.try_send(self.event(transition)).is_err() {
            self.shared.metrics.dropped.inc();
        }
    }

    fn event(&self, transition: &NewEvent) -> Event {
        let now = self.shared.clock.now();
        let sequence = self.shared.sequence.fetch_add(1, Ordering::Relaxed);
        let moment = now.as_nanosecond().unsigned_abs() as u64;
        // The time distinguishes two processes, the number two events of one moment.
        let ending = format!(".{moment:x}{:x}", sequence & 0xfff);
        Event {
            metadata: ObjectMeta {
                name: Some(name(
                    transition.object.name.as_deref().unwrap_or_default(),
                    &ending,
                )),
                namespace: Some(
                    transition
                        .object
                        .namespace
                        .clone()
                        .unwrap_or_else(|| "default".to_owned()),
                ),
                ..ObjectMeta::default()
            },
            involved_object: transition.object.clone(),
            related: transition.related.clone(),
            type_: Some(transition.severity.as_str().to_owned()),
            reason: Some(transition.reason.to_owned()),
            action: Some(transition.action.to_owned()),
            message: Some(cut(&transition.message, LONGEST_MESSAGE).to_owned()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            event_time: Some(MicroTime(now)),
            count: Some(1),
            reporting_component: Some(self.shared.component.to_owned()),
            reporting_instance: Some(self.shared.component.to_owned()),
            source: Some(EventSource {
                component: Some(self.shared.component.to_owned()),
                host: None,
            }),
            ..Event::default()
        }
    }
}

/// The longest name of an object, in bytes.
const LONGEST_NAME: usize = 253;

/// The name of an Event: that of its object, cut where it would be too long, and an ending.
fn name(object: &str, ending: &str) -> String {
    let cut = cut(object, LONGEST_NAME - ending.len());
    format!("{}{ending}", cut.trim_end_matches(['-', '.']))
}

fn log(transition: &NewEvent) {
    let object = format!(
        "{}/{}/{}",
        transition.object.kind.as_deref().unwrap_or_default(),
        transition.object.namespace.as_deref().unwrap_or_default(),
        transition.object.name.as_deref().unwrap_or_default()
    );
    let related = transition
        .related
        .as_ref()
        .and_then(|related| related.name.as_deref())
        .unwrap_or_default();
    let (reason, action) = (transition.reason, transition.action);
    match transition.severity {
        Severity::Normal => tracing::info!(object, related, reason, action, "{}", transition.message),
        Severity::Warning => tracing::warn!(object, related, reason, action, "{}", transition.message),
    }
}

/// The beginning of a text of at most this many bytes, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl EventWriter {
    /// Writes Events until `shutdown`, then those that still wait. An Event that cannot be written is counted and
    /// logged: no upgrade waits for it.
    ///
    /// # Errors
    /// Never before `shutdown`; the result fits the other tasks of a process.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), std::convert::Infallible> {
        loop {
            let event = tokio::select! {
                biased;
                event = self.queue.recv() => event,
                () = shutdown.cancelled() => break,
            };
            let Some(event) = event else {
                // Nobody is left who could publish.
                shutdown.cancelled().await;
                return Ok(());
            };
            self.write(event).await;
        }
        self.queue.close();
        while let Ok(event) = self.queue.try_recv() {
            self.write(event).await;
        }
        Ok(())
    }

    async fn write(&self, event: Event) {
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if let Err(error) = api.create(&PostParams::default(), &event).await {
            self.dropped.inc();
            let reason = event.reason.as_deref().unwrap_or_default();
            tracing::debug!(
                namespace,
                reason,
                error = &error as &dyn std::error::Error,
                "an Event was not written"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_writer_ends_though_everybody_who_publishes_has_ended_before_the_shutdown() {
        let transport = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::from(
                std::io::ErrorKind::ConnectionRefused,
            ))
        });
        let client = Client::new(transport, "default");
        let clock = Clock::simulated(jiff::Timestamp::UNIX_EPOCH);
        let (publisher, writer) = publisher(client, clock, "test", &prometheus::Registry::new()).unwrap();
        drop(publisher);
        let shutdown = CancellationToken::new();
        shutdown.cancel();
        writer.run(shutdown).await.unwrap();
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let message = "é".repeat(1000);
        let cut = cut(&message, LONGEST_MESSAGE);
        assert!(cut.len() <= LONGEST_MESSAGE && cut.chars().all(|c| c == 'é'));
        assert_eq!(super::cut("short", LONGEST_MESSAGE), "short");
    }
}
