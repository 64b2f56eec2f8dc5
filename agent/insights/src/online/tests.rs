use drydock_api::insights::Handler;

use super::*;

const INTERVAL: SignedDuration = SignedDuration::from_secs(30);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + seconds).unwrap()
}

fn discovered(report: SelfReport, level: &str) -> Contact {
    Contact::Discovered(Discovery {
        api_levels: vec![level.to_owned()],
        handlers: vec![Handler::Plan],
        report,
        message: "m".to_owned(),
    })
}

fn after(previous: Option<&UpdateInformerStatus>, contact: &Contact, seconds: i64) -> UpdateInformerStatus {
    status(previous, contact, Some(1), INTERVAL, at(seconds))
}

#[test]
fn every_answer_has_its_reason() {
    let failed = |kind| {
        Contact::Failed(ContactFailure {
            kind,
            message: "m".to_owned(),
        })
    };
    let cases = [
        (discovered(SelfReport::Fine, "v1alpha"), "True", "AsExpected"),
        (
            discovered(SelfReport::Updating, "v1alpha"),
            "False",
            "InformerUpdating",
        ),
        (discovered(SelfReport::Degraded, "v1alpha"), "False", "Degraded"),
        (discovered(SelfReport::Fine, "v2"), "False", "DiscoveryFailed"),
        (Contact::Answered, "True", "AsExpected"),
        (failed(FailureKind::Timeout), "False", "Timeout"),
        (failed(FailureKind::ConnectionFailed), "False", "ConnectionFailed"),
        (
            failed(FailureKind::TLSVerificationFailed),
            "False",
            "TLSVerificationFailed",
        ),
        (failed(FailureKind::InvalidResponse), "False", "InvalidResponse"),
        (failed(FailureKind::CAUnavailable), "False", "CAUnavailable"),
        (Contact::Disabled, "False", "Disabled"),
    ];
    for (contact, expected, reason) in cases {
        let online = after(None, &contact, 0).conditions.remove(0);
        assert_eq!(
            (online.status.as_str(), online.reason.as_str()),
            (expected, reason),
            "{contact:?}"
        );
    }
}

#[test]
fn a_heartbeat_is_written_every_half_minute_and_says_nothing_about_failures() {
    let first = after(None, &discovered(SelfReport::Fine, "v1alpha"), 0);
    assert_eq!(
        after(Some(&first), &discovered(SelfReport::Fine, "v1alpha"), 29),
        first
    );
    let later = after(Some(&first), &Contact::Answered, 30);
    let online = &later.conditions[0];
    assert_eq!(online.last_heartbeat_time, Some(Time(at(30))));
    assert_eq!(online.last_transition_time, Time(at(0)));
    let failure = Contact::Failed(ContactFailure {
        kind: FailureKind::Timeout,
        message: "m".to_owned(),
    });
    let failed = after(Some(&later), &failure, 60);
    let online = &failed.conditions[0];
    assert_eq!(online.last_heartbeat_time, Some(Time(at(30))));
    assert_eq!(online.last_transition_time, Time(at(60)));
}

#[test]
fn a_heartbeat_expires_after_three_that_are_missing_and_three_minutes_at_least() {
    let first = after(None, &discovered(SelfReport::Fine, "v1alpha"), 0);
    assert_eq!(after(Some(&first), &Contact::NotAsked, 180), first);
    let expired = after(Some(&first), &Contact::NotAsked, 181);
    assert_eq!(
        (
            expired.conditions[0].status.as_str(),
            expired.conditions[0].reason.as_str()
        ),
        ("Unknown", "HeartbeatExpired")
    );
    let idle = SignedDuration::from_mins(5);
    assert_eq!(
        status(Some(&first), &Contact::NotAsked, Some(1), idle, at(900)),
        first
    );
}

#[test]
fn an_informer_that_says_it_is_degraded_is_until_it_says_otherwise() {
    let degraded = after(None, &discovered(SelfReport::Degraded, "v1alpha"), 0);
    assert_eq!(
        after(Some(&degraded), &Contact::Answered, 10).conditions[0].reason,
        "Degraded"
    );
}

/// Hooks that are missing where an informer is not well, or speaks another language, are not gone.
#[test]
fn what_an_informer_can_do_only_one_that_is_well_says() {
    let known = after(None, &discovered(SelfReport::Fine, "v1alpha"), 0);
    assert_eq!(known.handlers, [Handler::Plan]);
    let levels = "it speaks the API levels \"v2\", and not v1alpha: update it, or the agent";
    for (report, level, readiness) in [
        (
            SelfReport::Updating,
            "v1alpha",
            Readiness::Updating("m".to_owned()),
        ),
        (
            SelfReport::Degraded,
            "v1alpha",
            Readiness::Degraded("m".to_owned()),
        ),
        (SelfReport::Fine, "v2", Readiness::Unavailable(levels.to_owned())),
        (
            SelfReport::Updating,
            "v2",
            Readiness::Unavailable(levels.to_owned()),
        ),
        (SelfReport::Fine, "v1alpha", Readiness::NotImplemented),
    ] {
        let contact = Contact::Discovered(Discovery {
            api_levels: vec![level.to_owned()],
            handlers: Vec::new(),
            report,
            message: "m".to_owned(),
        });
        let then = after(Some(&known), &contact, 60);
        let is_well = report == SelfReport::Fine && level == "v1alpha";
        assert_eq!(then.handlers.is_empty(), is_well, "{report:?} {level}");
        assert_eq!(contact.readiness(Handler::Plan), readiness);
    }
}
