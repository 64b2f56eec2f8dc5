//! A feed for each scope that somebody looks at: who may see the same shares one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;

use super::{Feed, LARGEST};
use crate::access::{Scope, TokenError};
use crate::error::ApiError;

/// How many may follow at a time.
const MOST_FOLLOWERS: usize = 1000;
/// What all feeds together may count: so many large ones, or more that are small.
const ROOM: usize = 32 * LARGEST;

/// The feeds by what they show, and who follows. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Feeds(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    kept: BTreeMap<Scope, Kept>,
    /// How often a feed was asked for.
    asked: u64,
    /// How many pages each user follows on.
    followers: BTreeMap<String, usize>,
}

struct Kept {
    feed: Feed,
    /// When it was last asked for.
    asked: u64,
}

impl Feeds {
    /// The feed of a scope. Where there is no room, those go that nobody follows, first of all those that nobody has asked for longest.
    ///
    /// # Errors
    /// If all are followed, or the system gives no random bytes.
    pub fn of(&self, scope: &Scope) -> Result<Feed, ApiError> {
        let mut open = self.open();
        open.asked += 1;
        let asked = open.asked;
        if let Some(kept) = open.kept.get_mut(scope) {
            kept.asked = asked;
            return Ok(kept.feed.clone());
        }
        if !always_has_a_place(scope) && !open.make_room() {
            return Err(ApiError::unavailable(
                "too many pages with different rights are open already: close one",
            ));
        }
        let feed = Feed::new().map_err(|error: TokenError| ApiError::unavailable(error.to_string()))?;
        let kept = Kept {
            feed: feed.clone(),
            asked,
        };
        open.kept.insert(scope.clone(), kept);
        Ok(feed)
    }

    /// A user follows the feed of a scope, until what is returned is dropped; on so many pages at most, if there is such a limit.
    ///
    /// # Errors
    /// If the user follows on too many pages, or too many follow.
    pub fn enter(
        &self,
        scope: &Scope,
        feed: Feed,
        user: &str,
        most: Option<usize>,
    ) -> Result<Follower, ApiError> {
        let mut open = self.open();
        let own = open.followers.get(user).copied().unwrap_or_default();
        if let Some(most) = most
            && own >= most
        {
            let why = format!("{user} has {most} pages open already: close one");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, why));
        }
        if open.followers() >= MOST_FOLLOWERS {
            let why = format!("{MOST_FOLLOWERS} pages are open already: close one");
            return Err(ApiError::unavailable(why));
        }
        let asked = open.asked;
        // It may have been given up since it was asked for.
        let kept = open.kept.entry(scope.clone());
        let feed = kept.or_insert(Kept { feed, asked }).feed.clone();
        feed.enter();
        open.followers.insert(user.to_owned(), own + 1);
        Ok(Follower {
            feed,
            user: user.to_owned(),
            feeds: self.clone(),
        })
    }

    /// Those that have been looked at.
    pub fn viewed(&self) -> Vec<(Scope, Feed)> {
        let open = self.open();
        let viewed = open.kept.iter().filter(|(_, kept)| kept.feed.has_view());
        viewed
            .map(|(scope, kept)| (scope.clone(), kept.feed.clone()))
            .collect()
    }

    /// How many follow one.
    pub fn viewers(&self) -> usize {
        self.open().followers()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who may see all upgrades is not kept out by who may see a part. There are two such scopes, with and without the other clusters.
fn always_has_a_place(scope: &Scope) -> bool {
    scope.namespaces.is_none()
}

impl Open {
    /// Whether there is room for one more feed, which may become a large one, once those have gone that may.
    fn make_room(&mut self) -> bool {
        let counted = self.kept.iter().filter(|(scope, _)| !always_has_a_place(scope));
        let mut taken: usize = counted.map(|(_, kept)| kept.feed.weight()).sum();
        while taken + LARGEST > ROOM {
            let counted = self.kept.iter().filter(|(scope, _)| !always_has_a_place(scope));
            let idle = counted.filter(|(_, kept)| !kept.feed.is_followed());
            let oldest = idle.min_by_key(|(_, kept)| kept.asked);
            let Some((scope, weight)) = oldest.map(|(scope, kept)| (scope.clone(), kept.feed.weight()))
            else {
                return false;
            };
            self.kept.remove(&scope);
            taken = taken.saturating_sub(weight);
        }
        true
    }

    fn followers(&self) -> usize {
        self.followers.values().sum()
    }
}

/// A user who follows a feed.
pub(crate) struct Follower {
    feed: Feed,
    user: String,
    feeds: Feeds,
}

impl Follower {
    /// What is followed.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.feed.leave();
        let followers = &mut self.feeds.open().followers;
        if let Some(count) = followers.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                followers.remove(&self.user);
            }
        }
    }
}
