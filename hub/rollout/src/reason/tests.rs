use jiff::SignedDuration;

use super::*;
use crate::conditions::CLUSTER_MESSAGE;

/// Conditions cut it, and what to do comes last.
#[test]
fn why_a_cluster_does_not_fit_is_said_in_full() {
    let expected = ExpectedDuration::new(SignedDuration::from_mins(99 * 60 + 55), true);
    let never = Reason::NeverFits {
        expected,
        longest: SignedDuration::from_mins(23 * 60 + 55),
    };
    let later = Reason::DoesNotFit {
        expected,
        until: Some("2026-12-01T22:00:00Z".parse().unwrap()),
    };
    for reason in [never, later] {
        let message = reason.to_string();
        assert!(message.len() <= CLUSTER_MESSAGE, "{}: {message}", message.len());
    }
}

#[test]
fn a_namespace_that_is_being_deleted_is_not_missing() {
    for (words, said) in [
        ("namespaces \"c01\" not found", "is missing"),
        ("because it is being terminated", "is being deleted"),
    ] {
        let message = Reason::NamespaceMissing(words.into()).to_string();
        assert!(message.contains(said), "{message}");
    }
}
