//! What other upgrades do.

use std::collections::BTreeSet;
use std::sync::Arc;

use drydock_rollout::{
    Applied, AttemptOutcome, ClusterName, EndState, Enforcement, Entry, EntryPlace, Goal, LiveUpgrades,
    Owner, RecordPageHeader, RecordedEntry, RecordedOutcome, RetryToken, Revision, StageSeconds, Uid,
    UpgradeKey, UpgradeMethod, VersionFeedback, Work, WorkFeedback, WorkKind,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::{World, name, target};

/// Which works somebody else's upgrade has on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theirs {
    /// One in flight.
    InFlight,
    /// One that has ended and is on its record.
    Recorded,
    /// One that has ended and is on no record.
    Unrecorded,
    /// Of an upgrade that does not exist any more.
    Orphaned,
    /// None; a record says that they have had the cluster.
    Gone,
}

impl World {
    pub(super) fn another_upgrade(&mut self, number: usize, theirs: Theirs, later: bool) {
        let hour = SignedDuration::from_hours(1);
        let since = if later {
            self.now + hour
        } else {
            self.now - hour * 2000
        };
        let lives = theirs != Theirs::Orphaned;
        let owner = Owner {
            uid: Uid::new(if lives { "theirs" } else { "gone" }),
            upgrade: Some(UpgradeKey::new("team", if lives { "theirs" } else { "gone" })),
        };
        let ended = matches!(theirs, Theirs::Recorded | Theirs::Unrecorded | Theirs::Orphaned);
        let (now, made) = (self.now, self.made + 1);
        self.made = made;
        let Some(row) = self.row(number) else { return };
        // One upgrade at a time has works on a cluster.
        if !row.works.is_empty() && theirs != Theirs::Gone {
            return;
        }
        if theirs != Theirs::Gone {
            let work = their_work(&owner, since, now, made, ended);
            row.works.insert(WorkKind::Cluster, Arc::new(work));
        }
        if matches!(theirs, Theirs::Recorded | Theirs::Gone) {
            let entry = their_entry(name(number), owner, since, now);
            row.entries = row.entries.iter().cloned().chain([Arc::new(entry)]).collect();
        }
    }

    /// Their upgrade was deleted, and another one of its name has been created since.
    pub fn their_upgrade_is_made_anew(&mut self, number: usize) {
        let Some(row) = self.row(number) else { return };
        let of_before = row.entries.iter().map(|recorded| {
            let mut recorded = (**recorded).clone();
            let page = Arc::make_mut(&mut recorded.page);
            (page.owner.uid, page.closed) = (Uid::new("before"), true);
            Arc::new(recorded)
        });
        row.entries = of_before.collect();
        self.update_decider();
    }

    /// Their owner writes what is on no record yet.
    pub(super) fn others_record(&mut self) {
        let now = self.now;
        for (name, row) in &mut self.observed.rows {
            let theirs = row
                .works
                .get(WorkKind::Cluster)
                .filter(|work| work.owner.uid.as_str() == "theirs");
            let Some(work) = theirs.filter(|work| work.outcome.is_some()).cloned() else {
                continue;
            };
            let started = Some(work.attempt_since());
            if row
                .entries
                .iter()
                .all(|recorded| recorded.entry.started != started)
            {
                let since = work.revision.as_ref().unwrap().rollout_since;
                let mut entry = their_entry(name.clone(), work.owner.clone(), since, now);
                entry.entry.started = started;
                row.entries = row.entries.iter().cloned().chain([Arc::new(entry)]).collect();
            }
        }
    }
}

pub(super) fn live(uid: &str, theirs: bool) -> LiveUpgrades {
    let others = theirs.then(|| (Uid::new("theirs"), UpgradeKey::new("team", "theirs")));
    let ours = (Uid::new(uid), UpgradeKey::new("default", "upgrade"));
    LiveUpgrades {
        uids: [ours.0]
            .into_iter()
            .chain(others.clone().map(|(uid, _)| uid))
            .collect(),
        keys: [ours.1].into_iter().chain(others.map(|(_, key)| key)).collect(),
        gone_namespaces: BTreeSet::new(),
    }
}

pub(super) fn their_work(owner: &Owner, since: Timestamp, now: Timestamp, made: u64, ended: bool) -> Work {
    Work {
        uid: Uid::new(format!("their-{made}")),
        owner: owner.clone(),
        created: now,
        deleting: false,
        labelled: true,
        revision: Some(Arc::new(Revision {
            generation: 1,
            rollout_since: since,
            goal: Arc::new(Goal::platform(target(Version::new(4, 14, 11)))),
            method: UpgradeMethod::ClusterVersion,
            timeout_seconds: 3600,
            started_at: now,
            from: None,
            started_by: "others".into(),
            enforcement: Enforcement::Enforced,
        })),
        outcome: ended.then(|| {
            Arc::new(AttemptOutcome {
                state: EndState::Complete,
                reason: "Upgraded".into(),
                message: "upgraded".into(),
                at: Some(now),
                retry: RetryToken::default(),
            })
        }),
        applied: Applied::Yes,
        available: true,
        degraded: None,
        feedback: WorkFeedback::ClusterVersion(VersionFeedback::default()),
    }
}

pub(super) fn their_entry(
    cluster: ClusterName,
    owner: Owner,
    since: Timestamp,
    now: Timestamp,
) -> RecordedEntry {
    RecordedEntry {
        page: Arc::new(RecordPageHeader {
            owner,
            rollout_since: since,
            goal: "theirs".into(),
            closed: false,
        }),
        place: EntryPlace {
            page: "theirs".into(),
            index: 0,
        },
        entry: Entry {
            cluster,
            canary: false,
            outcome: RecordedOutcome::Complete,
            reason: "Upgraded".into(),
            message: "upgraded".into(),
            from: Some("4.14.9".into()),
            to: "4.14.11".into(),
            started: Some(now),
            stages: StageSeconds::default(),
            completed: now,
            retry: RetryToken::default(),
        },
    }
}
