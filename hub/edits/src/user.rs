//! Who writes, as the API server knows them.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};

/// Who the user is, to the API server; `None` where that is not said.
pub async fn user_name(client: &Client) -> Option<String> {
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let asked = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    asked
        .ok()
        .and_then(|review| review.status?.user_info?.username)
        .filter(|name| !name.is_empty())
}
