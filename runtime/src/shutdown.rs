//! The end of a process: the first signal drains, the second aborts.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that got a second signal to stop.
const ABORTED: i32 = 130;

/// A token that is cancelled by the first SIGINT or SIGTERM; a second one ends the process at once.
///
/// # Errors
/// If signals cannot be received.
pub fn on_signals() -> std::io::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let token = CancellationToken::new();
    let drained = token.clone();
    tokio::spawn(async move {
        either(&mut interrupt, &mut terminate).await;
        tracing::info!("stopping: finishing what is under way; a second signal aborts");
        drained.cancel();
        either(&mut interrupt, &mut terminate).await;
        tracing::warn!("second signal: aborting");
        std::process::exit(ABORTED);
    });
    Ok(token)
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
