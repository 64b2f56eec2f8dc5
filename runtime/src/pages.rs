//! Lists that are read page by page: no list without a limit.

use std::fmt::Debug;

use kube::Api;
use kube::api::ListParams;
use serde::de::DeserializeOwned;

/// Objects of a page.
const PAGE: u32 = 500;

/// All objects that `parameters` select, read in pages.
///
/// # Errors
/// If a page cannot be read.
pub async fn list_all<K>(api: &Api<K>, parameters: ListParams) -> Result<Vec<K>, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut parameters = parameters.limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = api.list(&parameters).await?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(found),
        }
    }
}
