//! What is known of informers since the program started: when they were asked, and how they answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::insights::{Handler, INJECT_CA_ANNOTATION, UpdateInformer};
use drydock_insights::online::{Contact, ContactFailure};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::hook_client::HookClient;
use crate::reconcile::changes::Wakers;

/// How long a failure counts: what is asked at all is asked more often than that.
const FAILURE_COUNTS: SignedDuration = SignedDuration::from_mins(15);

/// How an informer answered last.
#[derive(Clone, Debug)]
pub(super) struct LastContact {
    /// Which object it is about: of another one it says nothing.
    identity: Identity,
    /// When it was asked what it can do.
    pub discovered_at: Option<Timestamp>,
    /// What came of that.
    discovery: Contact,
    /// Why it gave no good answer to the last question of a kind, and when: that it answers another says nothing about it.
    failures: BTreeMap<Handler, (ContactFailure, Timestamp)>,
}

impl LastContact {
    /// What came of asking what it can do.
    pub fn discovery(&self) -> &Contact {
        &self.discovery
    }

    /// What is to be said of it: that it says what it can do does not mean that it can.
    pub fn contact(&self) -> Contact {
        match (&self.discovery, self.failures.values().next()) {
            (Contact::Failed(failure), _) | (_, Some((failure, _))) => Contact::Failed(failure.clone()),
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

    /// Asks an informer what it can do.
    pub async fn discover(&self, hooks: &HookClient, informer: &UpdateInformer, now: Timestamp) -> Contact {
        let contact = match hooks.discover(informer).await {
            Ok(discovery) => Contact::Discovered(discovery),
            Err(failure) => Contact::Failed(failure),
        };
        self.discovered(informer, contact.clone(), now);
        contact
    }

    /// Notes what an informer says that it can do.
    fn discovered(&self, informer: &UpdateInformer, discovery: Contact, now: Timestamp) {
        let before = self.of(informer);
        let before_said = before.as_ref().map(LastContact::contact);
        // One that can do something else than before is another one.
        let is_same = before
            .as_ref()
            .is_some_and(|before| handlers(&before.discovery) == handlers(&discovery));
        let mut failures = before
            .filter(|_| is_same)
            .map_or_else(BTreeMap::new, |before| before.failures);
        failures.retain(|_, (_, at)| now.duration_since(*at) < FAILURE_COUNTS);
        let known = LastContact {
            identity: identity(informer),
            discovered_at: Some(now),
            discovery,
            failures,
        };
        let is_news = before_said != Some(known.contact());
        self.lock().insert(informer.name_any(), known);
        if is_news {
            self.wakers.wake();
        }
    }

    /// Notes how an informer has answered another question. One that could not be asked what it can do, and answers, is asked that again.
    pub fn answered(
        &self,
        informer: &UpdateInformer,
        question: Handler,
        failure: Option<ContactFailure>,
        now: Timestamp,
    ) {
        let before = self.of(informer);
        let is_known = before.is_some();
        let mut known = before.unwrap_or_else(|| LastContact {
            identity: identity(informer),
            discovered_at: None,
            discovery: Contact::Answered,
            failures: BTreeMap::new(),
        });
        let said = known.contact();
        if let Some(failure) = failure {
            known.failures.insert(question, (failure, now));
        } else {
            known.failures.remove(&question);
            if matches!(known.discovery, Contact::Failed(_)) {
                known.discovered_at = None;
            }
        }
        let is_news = !is_known || known.discovered_at.is_none() || said != known.contact();
        self.lock().insert(informer.name_any(), known);
        if is_news {
            self.wakers.wake();
        }
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

#[cfg(test)]
mod tests {
    use drydock_insights::online::FailureKind;

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn informer() -> UpdateInformer {
        let spec = serde_json::json!({
            "metadata": {"name": "disks", "uid": "u", "generation": 1},
            "spec": {"clientConfig": {"service": {"namespace": "n", "name": "s"}}},
        });
        serde_json::from_value(spec).unwrap()
    }

    fn failure() -> ContactFailure {
        ContactFailure {
            kind: FailureKind::InvalidResponse,
            message: "it says Nope".to_owned(),
        }
    }

    #[test]
    fn that_it_answers_one_question_says_nothing_about_another() {
        let (contacts, informer) = (Contacts::new(Wakers::default()), informer());
        let contact = || contacts.of(&informer).unwrap().contact();
        contacts.answered(&informer, Handler::Status, Some(failure()), at(0));
        contacts.answered(&informer, Handler::Plan, None, at(1));
        assert_eq!(contact(), Contact::Failed(failure()));
        contacts.discovered(&informer, Contact::Answered, at(2));
        assert_eq!(contact(), Contact::Failed(failure()));
        contacts.answered(&informer, Handler::Status, None, at(3));
        assert_eq!(contact(), Contact::Answered);
        // A plan that is gone is asked about no more.
        contacts.answered(&informer, Handler::Plan, Some(failure()), at(4));
        contacts.discovered(&informer, Contact::Answered, at(18));
        assert_eq!(contact(), Contact::Failed(failure()));
        contacts.discovered(&informer, Contact::Answered, at(19));
        assert_eq!(contact(), Contact::Answered);
    }

    #[test]
    fn one_that_answers_is_asked_again_what_it_can_do() {
        let (contacts, informer) = (Contacts::new(Wakers::default()), informer());
        contacts.discovered(&informer, Contact::Failed(failure()), at(0));
        assert_eq!(contacts.of(&informer).unwrap().discovered_at, Some(at(0)));
        contacts.answered(&informer, Handler::Plan, None, at(1));
        assert_eq!(contacts.of(&informer).unwrap().discovered_at, None);
    }
}
