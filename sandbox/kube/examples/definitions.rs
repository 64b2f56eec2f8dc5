//! CustomResourceDefinitions with defaults and CEL rules: objects are refused in the words of a real API server.
//!
//! `cargo run --package kube-sandbox --example definitions`

use jiff::Timestamp;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube_sandbox::Clock;
use kube_sandbox::server::{ApiServer, ServerSettings, Types, read_definitions};
use serde_json::json;

const BACKUPS: &str = r#"
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Backup, plural: backups}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [every]
            properties:
              every: {type: integer, minimum: 1}
              keep: {type: integer, default: 7}
            x-kubernetes-validations:
            - {rule: "self.keep >= self.every", message: keep at least as many as are made}
            - {rule: "self.every == oldSelf.every", message: how often cannot be changed}
"#;

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[expect(clippy::print_stdout, reason = "it is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let types = Types::with_definition_values(read_definitions(&[BACKUPS])?)?;
    let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
    let server = ApiServer::new(ServerSettings::new("demo", clock, 1, types));
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Backup"));
    let backups: Api<DynamicObject> = Api::namespaced_with(server.client("user"), "default", &kind);

    let backup = |every: i64| DynamicObject::new("nightly", &kind).data(json!({"spec": {"every": every}}));
    let made = backups.create(&PostParams::default(), &backup(1)).await?;
    println!("with its defaults: {}", made.data["spec"]);
    for change in [json!({"spec": {"every": 0}}), json!({"spec": {"every": 2}})] {
        let changed = backups
            .patch("nightly", &PatchParams::default(), &Patch::Merge(&change))
            .await;
        match changed {
            Err(kube::Error::Api(refused)) => println!("{change}: {}", refused.message),
            other => println!("{change}: {other:?}"),
        }
    }
    Ok(())
}
