//! What is known of informers since the program started: when they were asked, and how they answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::conditions::TRUE;
use drydock_api::insights::{Handler, INJECT_CA_ANNOTATION, UpdateInformer, UpdateInformerStatus, condition};
use drydock_insights::online::{Contact, ContactFailure};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::reconcile::changes::Wakers;

/// How an informer answered last.
#[derive(Clone, Debug)]
pub(super) struct LastContact {
    /// Which object it is about: of another one it says nothing.
    identity: Identity,
    /// When it was asked what it can do.
    pub discovered_at: Option<Timestamp>,
    /// What came of that.
    discovery: Contact,
    /// Why it gave no good answer to the last question.
    failure: Option<ContactFailure>,
}

impl LastContact {
    /// What is to be said of it: that it says what it can do does not mean that it can.
    pub fn contact(&self) -> Contact {
        match (&self.discovery, &self.failure) {
            (Contact::Failed(failure), _) | (_, Some(failure)) => Contact::Failed(failure.clone()),
            (discovery, None) => discovery.clone(),
        }
    }
}

/// How all informers answered last. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Contacts {
    known: Arc<Mutex<BTreeMap<String, LastContact>>>,
    wakers: Wakers,
}

impl Contacts {
    /// Nothing is known yet; `wakers` wakes who depends on it.
    pub fn new(wakers: Wakers) -> Self {
        Self {
            known: Arc::default(),
            wakers,
        }
    }

    /// How an informer answered last, if it is still the same.
    pub fn of(&self, informer: &UpdateInformer) -> Option<LastContact> {
        let known = self.lock().get(&informer.name_any()).cloned();
        known.filter(|known| known.identity == identity(informer))
    }

    /// Notes what an informer says that it can do.
    pub fn discovered(&self, informer: &UpdateInformer, discovery: Contact, now: Timestamp) {
        let before = self.of(informer);
        // One that can do something else than before is another one.
        let is_same = before
            .as_ref()
            .is_some_and(|before| handlers(&before.discovery) == handlers(&discovery));
        let known = LastContact {
            identity: identity(informer),
            discovered_at: Some(now),
            discovery,
            failure: before.and_then(|before| before.failure).filter(|_| is_same),
        };
        self.lock().insert(informer.name_any(), known);
    }

    /// Notes how an informer has answered another question.
    pub fn answered(&self, informer: &UpdateInformer, failure: Option<ContactFailure>) {
        let before = self.of(informer);
        if before.as_ref().is_some_and(|before| before.failure == failure) {
            return;
        }
        let known = LastContact {
            failure,
            ..before.unwrap_or_else(|| LastContact {
                identity: identity(informer),
                discovered_at: None,
                discovery: Contact::Answered,
                failure: None,
            })
        };
        self.lock().insert(informer.name_any(), known);
        self.wakers.wake();
    }

    /// Forgets informers that are gone.
    pub fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.lock().retain(|name, _| is_there(name));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, LastContact>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn handlers(contact: &Contact) -> Option<&[Handler]> {
    match contact {
        Contact::Discovered(discovery) => Some(&discovery.handlers),
        Contact::Answered | Contact::Failed(_) | Contact::Disabled | Contact::NotAsked => None,
    }
}

/// The uid and the generation of an object, and where its authority is, which stands beside its spec.
type Identity = (Option<String>, Option<i64>, Option<String>);

fn identity(informer: &UpdateInformer) -> Identity {
    let authority = informer.annotations().get(INJECT_CA_ANNOTATION).cloned();
    (informer.uid(), informer.metadata.generation, authority)
}

/// Whether an informer has a hook, as far as its status says; nothing if that is not known: it has not been asked yet, or is not well, and may
/// have said less than it can do.
pub(super) fn implements(informer: &UpdateInformer, handler: Handler) -> Option<bool> {
    let status = informer.status.as_ref()?;
    let is_current = status.observed_generation == informer.metadata.generation;
    let is_known = is_current && status.last_discovery_time.is_some();
    let has_it = status.handlers.contains(&handler);
    (is_known && (has_it || is_online(status))).then_some(has_it)
}

fn is_online(status: &UpdateInformerStatus) -> bool {
    let online = status
        .conditions
        .iter()
        .find(|known| known.type_ == condition::ONLINE);
    online.is_some_and(|online| online.status == TRUE)
}
