//! Lists that are read page by page: no list without a limit.

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Api;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
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
    let mut found = Vec::new();
    let mut next = Some(parameters.limit(PAGE));
    while let Some(parameters) = next {
        let page = api.list(&parameters).await?;
        found.extend(page.items);
        next = after(parameters, page.metadata);
    }
    Ok(found)
}

/// Shows each page of the objects that `parameters` select, `size` of them at most: for more objects than should be in memory at once.
///
/// # Errors
/// If a page cannot be read.
pub async fn each_page<K>(
    api: &Api<K>,
    parameters: ListParams,
    size: u32,
    mut seen: impl FnMut(Vec<K>),
) -> Result<(), kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut next = Some(parameters.limit(size));
    while let Some(parameters) = next {
        let page = api.list(&parameters).await?;
        seen(page.items);
        next = after(parameters, page.metadata);
    }
    Ok(())
}

/// All objects that `parameters` select, read `size` at a time and each kept in short: for kinds of which a page of whole objects is much.
///
/// # Errors
/// If a page cannot be read.
pub async fn list_in_short<K, T>(
    api: &Api<K>,
    parameters: ListParams,
    size: u32,
    in_short: impl Fn(K) -> T,
) -> Result<Vec<T>, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut found = Vec::new();
    let keep = |page: Vec<K>| found.extend(page.into_iter().map(&in_short));
    each_page(api, parameters, size, keep).await?;
    Ok(found)
}

/// The metadata of all objects that `parameters` select, read in pages: for kinds whose objects are large.
///
/// # Errors
/// If a page cannot be read.
pub async fn list_all_metadata<K>(
    api: &Api<K>,
    parameters: ListParams,
) -> Result<Vec<PartialObjectMeta<K>>, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut found = Vec::new();
    let mut next = Some(parameters.limit(PAGE));
    while let Some(parameters) = next {
        let page = api.list_metadata(&parameters).await?;
        found.extend(page.items);
        next = after(parameters, page.metadata);
    }
    Ok(found)
}

/// What asks for the page after one; nothing if that was the last.
fn after(parameters: ListParams, page: ListMeta) -> Option<ListParams> {
    let token = page.continue_.filter(|token| !token.is_empty())?;
    Some(parameters.continue_token(&token))
}
