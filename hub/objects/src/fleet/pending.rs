//! Writes of works that have not come back, and works of which it is not known whether they are there. What was written counts as seen
//! from the moment that it is decided, so that nothing is decided twice and no other upgrade takes the cluster meanwhile.

use std::sync::Arc;

use drydock_rollout::{Uid, Work};
use jiff::{SignedDuration, Timestamp};

/// How long a write may take to come back before its work is read by name.
const COMES_BACK: SignedDuration = SignedDuration::from_mins(1);

/// How far a write is.
#[derive(Clone, Debug, PartialEq)]
enum WriteProgress {
    /// It is decided, and about to be made or being made.
    UnderWay,
    /// The server has accepted it as this version; the watch has not brought it back yet. Without a version the object is gone.
    Written { version: Option<u64>, since: Timestamp },
    /// It is not known whether it was made.
    Unknown { since: Timestamp },
    /// The watch says that the work is gone, which nobody has deleted: its labels may have been taken off.
    Vanished { since: Timestamp },
    /// A status says that there is one which no list has brought.
    Unlisted { since: Timestamp },
    /// It was read by name: the watch does not see it.
    Read,
}

/// A work as it is known, though the watch does not say so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pending {
    /// The work; `None` if it is gone.
    pub work: Option<Arc<Work>>,
    progress: WriteProgress,
    /// The version that the watch had brought when this began.
    seen: u64,
    /// The work as it was known before the write.
    before: Option<Arc<Work>>,
    /// An earlier write that had not come back when this one began.
    earlier: Option<Box<Pending>>,
}

impl Pending {
    /// A write is decided that leaves the work so; before it, the work was known to be as `before`.
    pub fn under_way(
        work: Option<Arc<Work>>,
        seen: u64,
        before: Option<Arc<Work>>,
        earlier: Option<Self>,
    ) -> Self {
        let earlier = earlier.map(|earlier| {
            Box::new(Self {
                earlier: None,
                ..earlier
            })
        });
        Self {
            work,
            progress: WriteProgress::UnderWay,
            seen,
            before,
            earlier,
        }
    }

    fn about(work: Arc<Work>, progress: WriteProgress, seen: u64) -> Self {
        Self {
            work: Some(work),
            progress,
            seen,
            before: None,
            earlier: None,
        }
    }

    /// A work that nobody has deleted has gone out of the watch's sight.
    pub fn vanished(work: Arc<Work>, seen: u64, now: Timestamp) -> Self {
        Self::about(work, WriteProgress::Vanished { since: now }, seen)
    }

    /// The work that had gone out of the watch's sight, if this is about one.
    pub fn into_vanished(self) -> Option<Arc<Work>> {
        match self.progress {
            WriteProgress::Vanished { .. } => self.work,
            WriteProgress::UnderWay
            | WriteProgress::Written { .. }
            | WriteProgress::Unknown { .. }
            | WriteProgress::Unlisted { .. }
            | WriteProgress::Read => None,
        }
    }

    /// A status says that there is a work that no list has brought.
    pub fn unlisted(now: Timestamp) -> Self {
        Self {
            work: None,
            progress: WriteProgress::Unlisted { since: now },
            seen: 0,
            before: None,
            earlier: None,
        }
    }

    /// Whether a status says that there is a work of which nothing else is known.
    pub fn is_unlisted(&self) -> bool {
        matches!(self.progress, WriteProgress::Unlisted { .. })
    }

    /// A work was read by name.
    pub fn read(work: Arc<Work>, seen: u64) -> Self {
        Self::about(work, WriteProgress::Read, seen)
    }

    /// The write was accepted: as this version, with the uid of the object; without a version the object is gone.
    pub fn written(&mut self, version: Option<u64>, uid: Option<Uid>, now: Timestamp) {
        self.progress = WriteProgress::Written { version, since: now };
        match (&mut self.work, version, uid) {
            (work, None, _) => *work = None,
            (Some(work), Some(_), Some(uid)) if work.uid != uid => Arc::make_mut(work).uid = uid,
            _ => {}
        }
    }

    /// Whether the write was made is not known. One that would have given the cluster's slot back counts as not made.
    pub fn unknown(&mut self, frees: bool, now: Timestamp) {
        self.progress = WriteProgress::Unknown { since: now };
        if frees {
            self.work = self.before.take();
        }
    }

    /// What is left if the write was not made: the earlier one, unless the watch has brought that meanwhile.
    pub fn undone(self, seen: Option<(&Work, u64)>) -> Option<Self> {
        if self.progress != WriteProgress::UnderWay {
            return Some(self);
        }
        let earlier = self.earlier?;
        let is_back = seen.is_some_and(|(work, version)| earlier.is_confirmed_by(work, version));
        (!is_back).then_some(*earlier)
    }

    /// Whether this is over because the watch has brought `work` in this version.
    pub fn is_confirmed_by(&self, work: &Work, version: u64) -> bool {
        match &self.progress {
            WriteProgress::UnderWay => false,
            WriteProgress::Written {
                version: Some(written),
                ..
            } => version >= *written,
            WriteProgress::Written { version: None, .. } => {
                self.work.as_ref().is_none_or(|gone| gone.uid != work.uid) && version > self.seen
            }
            WriteProgress::Unknown { .. } => version > self.seen,
            WriteProgress::Vanished { .. } | WriteProgress::Unlisted { .. } | WriteProgress::Read => true,
        }
    }

    /// Whether this is over because the watch says that the object is gone, in this version.
    pub fn is_confirmed_by_removal(&self, version: Option<u64>) -> bool {
        match &self.progress {
            WriteProgress::Written { version: None, .. } => true,
            WriteProgress::Written {
                version: Some(written),
                ..
            } => version.is_some_and(|version| version >= *written),
            WriteProgress::Unknown { .. } => version.is_some_and(|version| version > self.seen),
            WriteProgress::UnderWay
            | WriteProgress::Vanished { .. }
            | WriteProgress::Unlisted { .. }
            | WriteProgress::Read => false,
        }
    }

    /// When the work is to be read by name; `None` while there is nothing to doubt.
    pub fn doubted_at(&self) -> Option<Timestamp> {
        match &self.progress {
            WriteProgress::UnderWay | WriteProgress::Read => None,
            WriteProgress::Written { since, .. } => since.saturating_add(COMES_BACK).ok(),
            WriteProgress::Unknown { since }
            | WriteProgress::Vanished { since }
            | WriteProgress::Unlisted { since } => Some(*since),
        }
    }
}
