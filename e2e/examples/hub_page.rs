//! The fleet page as a server of a real hub, for a browser: prints where it is, and the tokens of its users, and goes on until its input
//! ends. A line of it is the name of a user who is deleted: from then on the token is none.
#![allow(clippy::print_stdout, reason = "it says where it is")]

use std::path::Path;

use anyhow::Context;
use drydock_e2e::hub_page::PageHub;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let hub = PageHub::start().await?;
    let page = hub
        .page(
            "manifests/dashboard-actions",
            &["--actions", "--place", "a real hub"],
        )
        .await?;
    let mut tokens = serde_json::Map::new();
    for user in ["ann", "bob", "cyd"] {
        let file = hub.server.service_account_kubeconfig("people", user).await?;
        tokens.insert(user.to_owned(), token(&file)?.into());
    }
    println!(
        "{}",
        json!({"url": format!("https://{}/", page.address), "tokens": tokens})
    );
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let users: Api<ServiceAccount> = Api::namespaced(hub.admin.clone(), "people");
    while let Some(user) = lines.next_line().await? {
        users
            .delete(&user, &DeleteParams::default())
            .await
            .with_context(|| format!("deleting {user}"))?;
    }
    Ok(())
}

fn token(kubeconfig: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(kubeconfig).context("reading a kubeconfig")?;
    let kubeconfig: Value = serde_saphyr::from_str(&text).context("parsing a kubeconfig")?;
    let token = kubeconfig.pointer("/users/0/user/token").and_then(Value::as_str);
    Ok(token.context("the kubeconfig has no token")?.to_owned())
}
