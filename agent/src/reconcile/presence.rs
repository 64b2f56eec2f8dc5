//! Which kinds of a group the cluster has. A kind may be installed later, or go: as long as one is missing, the API server is asked every
//! few minutes which there are; once all are there, not at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::{Notify, watch};

use crate::refusal;

/// How often it is asked for kinds that are missing.
const LOOK_AGAIN: Duration = Duration::from_mins(2);
/// After how long it is asked again where the API server did not answer, or a watch says that its kind is gone.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Which kinds there are, by their plurals. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    served: watch::Receiver<Option<BTreeSet<String>>>,
    lost: Arc<Notify>,
}

/// Asks which kinds there are.
pub(crate) struct Discovery {
    client: Client,
    /// The group and its version.
    version: String,
    /// The kinds that are needed.
    wanted: BTreeSet<String>,
    served: watch::Sender<Option<BTreeSet<String>>>,
    lost: Arc<Notify>,
}

/// Nothing is known yet; the second part finds out.
pub(crate) fn presence(client: Client, version: String, wanted: BTreeSet<String>) -> (Presence, Discovery) {
    let (sender, served) = watch::channel(None);
    let lost = Arc::new(Notify::new());
    let presence = Presence {
        served,
        lost: Arc::clone(&lost),
    };
    let discovery = Discovery {
        client,
        version,
        wanted,
        served: sender,
        lost,
    };
    (presence, discovery)
}

impl Presence {
    /// Waits until it is known whether there is such a kind.
    pub async fn is_served(&self, plural: &str) -> bool {
        let mut served = self.served.clone();
        let known = served.wait_for(Option::is_some).await;
        known.is_ok_and(|known| known.as_ref().is_some_and(|served| served.contains(plural)))
    }

    /// Whether there is such a kind, as far as is known.
    pub fn serves(&self, plural: &str) -> bool {
        let served = self.served.borrow();
        served.as_ref().is_some_and(|served| served.contains(plural))
    }

    /// Waits until there is one of these kinds.
    pub async fn wait_for_any(&self, plurals: &BTreeSet<String>) {
        let mut served = self.served.clone();
        let is_any = |served: &Option<BTreeSet<String>>| {
            let served = served.as_ref();
            served.is_some_and(|served| !served.is_disjoint(plurals))
        };
        if served.wait_for(is_any).await.is_err() {
            // The other side goes with the process.
            std::future::pending::<()>().await;
        }
    }

    /// A watch says that its kind is gone: what is known does not hold any more. Waits, so that nobody asks all the time.
    pub async fn lost(&self) {
        tokio::time::sleep(ASK_AGAIN).await;
        let mut served = self.served.clone();
        served.mark_unchanged();
        self.lost.notify_one();
        let _ended = served.changed().await;
    }
}

impl Discovery {
    /// Asks for as long as it is polled.
    pub async fn run(self) {
        loop {
            let pause = match self.ask().await {
                Ok(served) => {
                    let is_complete = self.wanted.is_subset(&served);
                    self.served.send_replace(Some(served));
                    if is_complete {
                        self.lost.notified().await;
                        continue;
                    }
                    LOOK_AGAIN
                }
                Err(error) => {
                    let why = refusal::words(&error);
                    let version = &self.version;
                    tracing::warn!(
                        why,
                        "asking which kinds of {version} there are; it is asked again"
                    );
                    ASK_AGAIN
                }
            };
            tokio::select! {
                () = self.lost.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn ask(&self) -> Result<BTreeSet<String>, kube::Error> {
        match self.client.list_api_group_resources(&self.version).await {
            Ok(list) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
            Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }
}
