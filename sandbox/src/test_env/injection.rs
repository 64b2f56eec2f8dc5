//! Failure modes injected into a running cluster: by an annotation of its ManagedCluster.

use std::collections::BTreeSet;

use futures::StreamExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use kube_sandbox::access::{Access, Key, Selection, WatchEvent};
use kube_sandbox::store::Object;
use ocm_sandbox::kinds;
use openshift_sandbox::cluster::Fault;

/// The annotation: the codes of failure modes, separated by commas, as `F4` or `F2,F10`.
pub const FAULT_ANNOTATION: &str = "sandbox.drydock.dev/fault";

/// Follows the annotation of one cluster until `shutdown`; `lasting` are the modes that it has in any case.
pub(super) async fn follow(
    cluster: String,
    hub: Access,
    lasting: BTreeSet<Fault>,
    faults: watch::Sender<BTreeSet<Fault>>,
    shutdown: CancellationToken,
) {
    let mut events = hub.watch(
        &kinds::MANAGED_CLUSTER,
        &Selection::one(&Key::cluster(cluster.as_str())),
    );
    loop {
        let event = tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            Some(event) = events.next() => event,
        };
        let object = match &event {
            WatchEvent::Applied(object) => Some(object),
            WatchEvent::Resync(objects) => objects.first(),
            WatchEvent::Deleted(_) => None,
        };
        let Some(object) = object else { continue };
        let wanted: BTreeSet<Fault> = lasting.union(&annotated(&cluster, object)).copied().collect();
        faults.send_if_modified(|present| {
            let differs = *present != wanted;
            if differs {
                tracing::info!(cluster, faults = ?wanted, "the cluster's failure modes change");
                present.clone_from(&wanted);
            }
            differs
        });
    }
}

/// The modes that the annotation names. An unknown name is logged and ignored.
fn annotated(cluster: &str, object: &Object) -> BTreeSet<Fault> {
    let text = object.annotation(FAULT_ANNOTATION).unwrap_or_default();
    let mut faults = BTreeSet::new();
    for code in text.split(',').map(str::trim).filter(|code| !code.is_empty()) {
        match code.parse::<Fault>() {
            Ok(fault) => {
                faults.insert(fault);
            }
            Err(error) => {
                tracing::warn!(cluster, %error, "the annotation {FAULT_ANNOTATION} is not understood");
            }
        }
    }
    faults
}
