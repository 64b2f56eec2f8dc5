//! The launcher of real control planes.

use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings, client_by};
use drydock_e2e::manifests;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client};

fn config_map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: owner
                .map(|owner| vec![kube::Resource::owner_ref(owner, &()).expect("the owner has a UID")]),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

#[tokio::test]
async fn api_servers_that_share_an_etcd_share_nothing_else() -> anyhow::Result<()> {
    let etcd = Etcd::start()?;
    let (one, other) = (Settings::named("one"), Settings::named("other"));
    let (one, other) = tokio::try_join!(
        ControlPlane::start_with(&one, etcd.clone()),
        ControlPlane::start_with(&other, etcd)
    )?;
    let folder = one.folder().to_owned();
    let (first, second) = (one.client(ADMIN).await?, other.client(ADMIN).await?);

    config_maps(&first)
        .create(&PostParams::default(), &config_map("a", None))
        .await?;
    assert!(config_maps(&second).get_opt("a").await?.is_none());
    let version = first.apiserver_version().await?;
    assert_ne!(version.git_version, "v0.0.0-master+$Format:%H$");

    drop(one);
    assert!(!folder.exists());
    assert!(config_maps(&first).get("a").await.is_err(), "the server is gone");
    assert!(
        config_maps(&second)
            .list(&kube::api::ListParams::default())
            .await
            .is_ok()
    );
    Ok(())
}

#[tokio::test]
async fn one_control_plane_has_rbac_real_kinds_and_a_garbage_collector() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start().await?;
    let admin = control_plane.client(ADMIN).await?;

    manifests::install(&admin, &manifests::definitions()?).await?;

    Api::<ServiceAccount>::namespaced(admin.clone(), "default")
        .create(
            &PostParams::default(),
            &serde_json::from_value(serde_json::json!({"metadata": {"name": "nobody"}}))?,
        )
        .await?;
    let nobody = control_plane
        .service_account_kubeconfig("default", "nobody")
        .await?;
    let refused = config_maps(&client_by(&nobody).await?)
        .get("a")
        .await
        .expect_err("nobody may read nothing");
    assert!(
        refused
            .to_string()
            .contains(r#"User "system:serviceaccount:default:nobody" cannot get"#),
        "{refused}"
    );

    let api = config_maps(&admin);
    let owner = api
        .create(&PostParams::default(), &config_map("owner", None))
        .await?;
    let owned = api
        .create(&PostParams::default(), &config_map("owned", Some(&owner)))
        .await?;
    api.delete("owner", &DeleteParams::default()).await?;
    let gone = kube::runtime::wait::conditions::is_deleted(owned.metadata.uid.as_deref().unwrap_or_default());
    tokio::time::timeout(
        std::time::Duration::from_mins(1),
        kube::runtime::wait::await_condition(api, "owned", gone),
    )
    .await??;
    Ok(())
}
