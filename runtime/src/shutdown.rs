//! The end of a process: the first signal drains, the second aborts.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that got a second signal to stop.
const ABORTED: i32 = 130;

/// A token that is cancelled by the first SIGINT or SIGTERM; a second one ends the process at once. Signals have a thread of their own: they are
/// heard whatever the caller's runtime is busy with.
///
/// # Errors
/// If signals cannot be received.
pub fn on_signals() -> std::io::Result<CancellationToken> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (mut interrupt, mut terminate) = {
        let _context = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let token = CancellationToken::new();
    let drained = token.clone();
    let listen = move || {
        runtime.block_on(async {
            either(&mut interrupt, &mut terminate).await;
            tracing::info!("stopping: finishing what is under way; a second signal aborts");
            drained.cancel();
            either(&mut interrupt, &mut terminate).await;
            tracing::warn!("second signal: aborting");
            std::process::exit(ABORTED);
        });
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen)?;
    Ok(token)
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
