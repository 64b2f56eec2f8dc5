//! Logs: structured, the object as a field.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// A JSON object a line.
    #[default]
    Json,
    /// Human-readable.
    Text,
}

impl std::str::FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" => Ok(Self::Json),
            "text" => Ok(Self::Text),
            other => Err(format!("`{other}` is not a log format: json or text")),
        }
    }
}

/// Sends logs to standard error. `filter` is in the form of `RUST_LOG`, for example `drydock=info,kube=warn`; the
/// environment variable wins over it.
///
/// # Errors
/// If a subscriber is in place already.
pub fn start(format: LogFormat, filter: &str) -> Result<(), TryInitError> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter));
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    match format {
        // The innermost span says which object is looked at; the list of spans would say it again.
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_span_list(false);
            registry.with(lines).try_init()
        }
        LogFormat::Text => registry.with(lines).try_init(),
    }
}
