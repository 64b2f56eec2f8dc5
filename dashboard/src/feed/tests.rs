//! A browser that follows sees what one sees that takes a snapshot.

use std::collections::BTreeMap;
use std::io::Read;

use drydock_rollout::{ClusterName, ClusterState};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::access::Scope;
use crate::rows::{Words, blank};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A fleet of which each cluster says something.
fn view(messages: &BTreeMap<String, String>) -> View {
    let mut words = Words::default();
    let rows = messages.iter().map(|(name, message)| {
        let mut row = blank(&mut words);
        row.message = message.as_str().into();
        row.state = Some(ClusterState::PartialUpgrade);
        (ClusterName::from(name.as_str()), row.into())
    });
    View {
        rows: rows.collect(),
        ..View::default()
    }
}

fn fleet(messages: &[(&str, &str)]) -> View {
    let owned = messages
        .iter()
        .map(|(name, message)| ((*name).to_owned(), (*message).to_owned()));
    view(&owned.collect())
}

/// What a browser knows: a message a cluster.
type Known = BTreeMap<String, String>;

/// Takes over columns as a browser does.
fn take(known: &mut Known, columns: &Value) {
    let words = columns["words"].as_array().unwrap();
    assert_eq!(words[0], "");
    let names = columns["name"].as_array().unwrap();
    for (column, values) in columns.as_object().unwrap() {
        let length = values.as_array().unwrap().len();
        assert!(column == "words" || length == names.len(), "{column}: {columns}");
    }
    for (name, message) in names.iter().zip(columns["message"].as_array().unwrap()) {
        let message = &words[usize::try_from(message.as_u64().unwrap()).unwrap()];
        known.insert(
            name.as_str().unwrap().to_owned(),
            message.as_str().unwrap().to_owned(),
        );
    }
}

/// A snapshot as who unpacks it reads it, and who gets it unpacked.
fn unpacked(bytes: &SnapshotBytes) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes.gzip()[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    let plain: Vec<Bytes> = bytes.plain().map(Result::unwrap).collect();
    assert_eq!(unpacked, plain.concat());
    unpacked
}

fn snapshot(feed: &Feed) -> (Known, u64) {
    let bytes = feed.snapshot(NOW, SignedDuration::ZERO).unwrap().unwrap();
    let json: Value = serde_json::from_slice(&unpacked(&bytes)).unwrap();
    let mut known = Known::new();
    take(&mut known, &json["clusters"]);
    (known, json["revision"].as_u64().unwrap())
}

/// The changes in events, as a browser reads them; false if it has to start over.
fn follow(known: &mut Known, feed: &Feed, since: u64) -> bool {
    let Since::Changes(events, revision) = feed.since(since) else {
        return false;
    };
    let mut seen = since;
    for bytes in events {
        let text = std::str::from_utf8(&bytes).unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        let [id, event, data, "", ""] = lines[..] else {
            panic!("an event has three lines: {text:?}");
        };
        assert_eq!(event, "event: change");
        let change: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        seen = change["revision"].as_u64().unwrap();
        assert_eq!(id, format!("id: {seen}"));
        if change["clusters"].is_object() {
            take(known, &change["clusters"]);
        }
        for name in change["removedClusters"].as_array().into_iter().flatten() {
            known.remove(name.as_str().unwrap());
        }
    }
    assert_eq!(seen, revision);
    true
}

proptest! {
    #[test]
    fn who_follows_knows_what_a_snapshot_shows(
        views in prop::collection::vec(prop::collection::btree_map("[ab][0-9]", "[xy]{0,2}", 0..6), 1..12),
        cut in 0..12_usize,
    ) {
        let feed = Feed::new().unwrap();
        feed.update(view(&views[0]), NOW).unwrap();
        let (mut early, mut seen) = snapshot(&feed);
        for (number, messages) in views.iter().enumerate().skip(1) {
            feed.update(view(messages), NOW).unwrap();
            if number == cut {
                prop_assert!(follow(&mut early, &feed, seen));
                seen = *feed.revisions().borrow();
            }
        }
        prop_assert!(follow(&mut early, &feed, seen));
        prop_assert_eq!(early, snapshot(&feed).0);
    }
}

#[test]
fn nothing_is_sent_where_nothing_changes() {
    let feed = Feed::new().unwrap();
    assert!(feed.snapshot(NOW, SignedDuration::ZERO).unwrap().is_none());
    feed.update(fleet(&[("dev1", "a")]), NOW).unwrap();
    let revisions = feed.revisions();
    let before = *revisions.borrow();
    feed.update(fleet(&[("dev1", "a")]), NOW).unwrap();
    assert_eq!(feed.since(before), Since::Changes(Vec::new(), before));
    assert!(!revisions.has_changed().unwrap());
}

#[test]
fn who_has_seen_what_is_not_kept_starts_over() {
    let feed = Feed::new().unwrap();
    feed.update(fleet(&[("dev1", "")]), NOW).unwrap();
    let first = *feed.revisions().borrow();
    let most = feed.state().most_log_bytes();
    let long = |number: usize| "x".repeat(most / 4) + &number.to_string();
    for number in 0..6 {
        feed.update(fleet(&[("dev1", &long(number))]), NOW).unwrap();
    }
    assert_eq!(feed.since(first), Since::Reset, "it is too long ago");
    assert_eq!(feed.since(first + 7), Since::Reset, "of another server");
    assert!(follow(&mut Known::new(), &feed, first + 5));
    let state = feed.state();
    assert!(state.log_bytes <= most);
    assert_eq!(
        state.log_bytes,
        state.log.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    );
}

#[test]
fn who_is_far_behind_gets_a_part_at_a_time() {
    let feed = Feed::new().unwrap();
    feed.update(fleet(&[("dev1", "")]), NOW).unwrap();
    let first = *feed.revisions().borrow();
    for number in 0..3 {
        let long = "x".repeat(BYTES_AT_A_TIME / 2) + &number.to_string();
        feed.update(fleet(&[("dev1", &long)]), NOW).unwrap();
    }
    for seen in first..first + 3 {
        let Since::Changes(changes, reached) = feed.since(seen) else {
            panic!("it is kept");
        };
        assert_eq!((changes.len(), reached), (1, seen + 1));
    }
    assert_eq!(feed.since(first + 3), Since::Changes(Vec::new(), first + 3));
}

#[test]
fn what_clusters_say_cannot_end_an_event() {
    let hostile = "<img src=x onerror=alert(1)>\n\nevent: reset\ndata: {}\n\n\u{202e}\u{0}\r\u{2028}\"";
    let feed = Feed::new().unwrap();
    feed.update(fleet(&[]), NOW).unwrap();
    let since = *feed.revisions().borrow();
    feed.update(fleet(&[("dev1", hostile)]), NOW).unwrap();
    let mut known = Known::new();
    assert!(follow(&mut known, &feed, since));
    assert_eq!(known["dev1"], hostile);
    assert_eq!(snapshot(&feed).0["dev1"], hostile);
}

#[test]
fn a_snapshot_serves_until_something_changes_or_it_is_old() {
    let feed = Feed::new().unwrap();
    feed.update(fleet(&[("dev1", "a")]), NOW).unwrap();
    let age = SignedDuration::from_secs(1);
    let at = |seconds: i64| {
        let now = Timestamp::from_second(seconds).unwrap();
        unpacked(&feed.snapshot(now, age).unwrap().unwrap())
    };
    let first = at(0);
    assert_eq!(at(1), first);
    assert_ne!(at(2), first, "it says what time it is");
    let newest = at(2);
    feed.update(fleet(&[("dev1", "b")]), NOW).unwrap();
    assert_ne!(at(2), newest);
}

#[test]
fn rows_are_sent_as_people_count() {
    let feed = Feed::new().unwrap();
    feed.update(fleet(&[("dev10", ""), ("dev2", "")]), NOW).unwrap();
    let bytes = feed.snapshot(NOW, SignedDuration::ZERO).unwrap().unwrap();
    let json: Value = serde_json::from_slice(&unpacked(&bytes)).unwrap();
    assert_eq!(json["clusters"]["name"], serde_json::json!(["dev2", "dev10"]));
}

/// Ten thousand clusters in the middle of an upgrade: what a browser loads, and what a change of a hundred of them is.
#[test]
fn a_large_fleet_is_small_on_the_wire() {
    let mut words = Words::default();
    let mut fleet = |share: usize| {
        let rows = (0..10_000).map(|number| {
            let mut row = blank(&mut words);
            row.version = if number < 3000 { "4.14.12" } else { "4.14.9" }.into();
            row.upgrade = "platform/spring".into();
            row.available = true;
            row.labels = format!(
                "cluster.open-cluster-management.io/clusterset=retail,region=r{},vendor=OpenShift",
                number % 7
            )
            .into();
            let (state, message) = match number {
                0..3000 => (ClusterState::Complete, "the cluster runs 4.14.12".into()),
                3000..3100 => (
                    ClusterState::PartialUpgrade,
                    format!(
                        "upgrading: Working towards 4.14.12: {} of 862 done",
                        share + number % 300
                    )
                    .into(),
                ),
                _ => (
                    ClusterState::NotStarted,
                    "waiting for a slot: 100 of 100 are taken".into(),
                ),
            };
            (row.state, row.message) = (Some(state), message);
            let since = 1_767_600_000 + i64::try_from(number * 7919 % 86_400).unwrap();
            row.since = (number < 3100).then(|| Timestamp::from_second(since).unwrap());
            (ClusterName::from(format!("store-{number}")), row.into())
        });
        View {
            rows: rows.collect(),
            ..View::default()
        }
    };
    let feed = Feed::new().unwrap();
    feed.update(fleet(0), NOW).unwrap();
    let since = *feed.revisions().borrow();
    feed.update(fleet(1), NOW).unwrap();
    let snapshot = feed.snapshot(NOW, SignedDuration::ZERO).unwrap().unwrap();
    let Since::Changes(changes, _) = feed.since(since) else {
        panic!("it is kept");
    };
    println!(
        "10,000 clusters: {} bytes, compressed {}; a change of 100: {} bytes",
        unpacked(&snapshot).len(),
        snapshot.gzip().len(),
        changes[0].len()
    );
    assert!(snapshot.gzip().len() < 100_000);
    assert!(changes[0].len() < 30_000);
}

/// The upgrades of one namespace, and their clusters.
fn of_namespace(number: usize) -> Scope {
    Scope {
        all_clusters: false,
        ..Scope::of(Some(&format!("team-{number}")))
    }
}

/// So many clusters.
fn of_size(clusters: usize) -> View {
    view(
        &(0..clusters)
            .map(|number| (format!("c{number}"), String::new()))
            .collect(),
    )
}

/// As many scopes as there is room for, each followed by somebody else.
fn full(feeds: &Feeds, clusters: usize) -> Vec<Follower> {
    let followers = (0..).map_while(|number| {
        let scope = of_namespace(number);
        let feed = feeds.of(&scope).ok()?;
        feed.update(of_size(clusters), NOW).unwrap();
        feeds.enter(&scope, feed, &format!("user-{number}"), None).ok()
    });
    followers.collect()
}

#[test]
fn who_may_see_all_upgrades_always_has_a_place_and_small_views_leave_room_for_more() {
    for (clusters, most) in [(3, 249), (LARGEST + 1, 32)] {
        let feeds = Feeds::default();
        let mut followers = full(&feeds, clusters);
        assert_eq!(followers.len(), most, "of {clusters} clusters");
        let refused = feeds.of(&of_namespace(9999)).err().unwrap();
        assert_eq!(refused.status(), http::StatusCode::SERVICE_UNAVAILABLE);
        for all_clusters in [true, false] {
            let all = Scope {
                all_clusters,
                ..Scope::of(None)
            };
            let feed = feeds.of(&all).unwrap();
            followers.push(feeds.enter(&all, feed, "ann", None).unwrap());
        }
        followers.remove(0);
        assert!(feeds.of(&of_namespace(9999)).is_ok(), "its place is free");
    }
}

#[test]
fn the_feed_that_nobody_has_asked_for_longest_goes_first() {
    let feeds = Feeds::default();
    let ask = |number: usize| {
        let feed = feeds.of(&of_namespace(number)).unwrap();
        feed.update(of_size(LARGEST), NOW).unwrap();
    };
    let is_kept = |number: usize| {
        let kept = feeds.viewed();
        kept.iter().any(|(scope, _)| *scope == of_namespace(number))
    };
    let _all = feeds.of(&Scope::of(None)).unwrap();
    (0..32).for_each(ask);
    ask(0);
    ask(32);
    assert_eq!((is_kept(0), is_kept(1), is_kept(2)), (true, false, true));
    let feed = feeds.of(&of_namespace(2)).unwrap();
    let follower = feeds.enter(&of_namespace(2), feed, "bob", None).unwrap();
    (33..65).for_each(ask);
    assert!(is_kept(2), "it is followed");
    assert_eq!(feeds.viewers(), 1);
    drop(follower);
    assert_eq!(feeds.viewers(), 0);
    (65..98).for_each(ask);
    assert!(!is_kept(2));
}

#[test]
fn a_feed_that_was_given_up_is_kept_again_once_it_is_followed() {
    let feeds = Feeds::default();
    let scope = of_namespace(0);
    let early = feeds.of(&scope).unwrap();
    early.update(of_size(1), NOW).unwrap();
    for number in 1..34 {
        let feed = feeds.of(&of_namespace(number)).unwrap();
        feed.update(of_size(LARGEST), NOW).unwrap();
    }
    assert!(feeds.viewed().iter().all(|(kept, _)| *kept != scope));
    let _follower = feeds.enter(&scope, early, "bob", None).unwrap();
    assert!(feeds.viewed().iter().any(|(kept, _)| *kept == scope));
}

#[test]
fn one_user_does_not_take_the_places_of_others() {
    let feeds = Feeds::default();
    let scope = Scope::of(None);
    let enter = |user: &str, most| feeds.enter(&scope, feeds.of(&scope).unwrap(), user, most);
    let mut own: Vec<Follower> = (0..16).map(|_| enter("bob", Some(16)).unwrap()).collect();
    let refused = enter("bob", Some(16)).err().unwrap();
    assert_eq!(refused.status(), http::StatusCode::TOO_MANY_REQUESTS);
    let others: Vec<Follower> = (0..984).map(|_| enter("ann", None).unwrap()).collect();
    let refused = enter("ann", None).err().unwrap();
    assert_eq!(refused.status(), http::StatusCode::SERVICE_UNAVAILABLE);
    own.pop();
    assert!(enter("bob", Some(16)).is_ok());
    drop((own, others));
    assert_eq!(feeds.viewers(), 0);
}
