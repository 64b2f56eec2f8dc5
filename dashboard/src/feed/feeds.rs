//! A feed for each scope that somebody looks at: who may see the same shares one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Feed;
use crate::access::{Scope, TokenError};
use crate::error::ApiError;

/// How many scopes are kept at a time: each costs its view and its changes.
const MOST_SCOPES: usize = 32;

/// The feeds by what they show.
#[derive(Default)]
pub(crate) struct Feeds(Mutex<BTreeMap<Scope, Feed>>);

impl Feeds {
    /// The feed of a scope. Where there are too many, those go that nobody follows.
    ///
    /// # Errors
    /// If all are followed, or the system gives no random bytes.
    pub fn of(&self, scope: &Scope) -> Result<Feed, ApiError> {
        let mut feeds = self.feeds();
        if let Some(feed) = feeds.get(scope) {
            return Ok(feed.clone());
        }
        if feeds.len() >= MOST_SCOPES {
            feeds.retain(|_, feed| feed.viewers() > 0);
        }
        if feeds.len() >= MOST_SCOPES {
            return Err(ApiError::unavailable(format!(
                "{MOST_SCOPES} pages with different rights are open already: close one"
            )));
        }
        let feed = Feed::new().map_err(|error: TokenError| ApiError::unavailable(error.to_string()))?;
        feeds.insert(scope.clone(), feed.clone());
        Ok(feed)
    }

    /// Those that have been looked at.
    pub fn viewed(&self) -> Vec<(Scope, Feed)> {
        let feeds = self.feeds();
        let viewed = feeds.iter().filter(|(_, feed)| feed.has_view());
        viewed
            .map(|(scope, feed)| (scope.clone(), feed.clone()))
            .collect()
    }

    /// How many follow one.
    pub fn viewers(&self) -> usize {
        self.feeds().values().map(Feed::viewers).sum()
    }

    fn feeds(&self) -> MutexGuard<'_, BTreeMap<Scope, Feed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
