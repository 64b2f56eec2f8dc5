//! How a manifest is written: applied, or as the edit of what somebody has opened; and what comes of it, before it is done.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::{Patch, PatchParams, ValidationDirective};
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Manifest;
use super::changes::{content, difference};
use crate::{EditError, MANAGER, hex};

/// How often a write is tried that another one came before.
const TRIES: usize = 5;

/// How a manifest is written.
#[derive(Clone, Copy, Debug)]
pub enum Writing<'a> {
    /// Server-side apply: fields of others are left to them.
    Apply {
        /// What others manage is written nevertheless; otherwise it is a conflict.
        takes_over: bool,
        /// The [`state`] that was there when somebody was asked, empty if none was: what came since is not written over.
        seen: Option<&'a str>,
    },
    /// Spec and labels become those of the text, whoever manages them; only what differs is written.
    Edit {
        /// The [`edition`] that somebody has opened: what came since is not written over.
        opened: &'a str,
    },
}

/// What a write makes of an upgrade.
#[derive(Debug)]
pub struct Written {
    /// What was there; nothing if it is new.
    pub before: Option<ManagedClustersUpgrade>,
    /// What is there now, or would be.
    pub after: ManagedClustersUpgrade,
}

impl Written {
    /// Whether the upgrade was paused, and stays so.
    pub fn stays_paused(&self) -> bool {
        let is_paused = |upgrade: &ManagedClustersUpgrade| upgrade.spec.paused == Some(true);
        self.before.as_ref().is_some_and(is_paused) && is_paused(&self.after)
    }
}

/// What of an upgrade somebody has seen who edits it, in short: which object it is, its spec and its labels.
pub fn edition(upgrade: &ManagedClustersUpgrade) -> String {
    let metadata = &upgrade.metadata;
    short(&json!([
        metadata.uid,
        metadata.generation,
        upgrade.labels(),
        upgrade.spec
    ]))
}

/// All that people write of an upgrade, in short, with which object it is: what a text is applied over.
pub fn state(upgrade: &ManagedClustersUpgrade) -> String {
    let metadata = &upgrade.metadata;
    short(&json!([metadata.uid, metadata.generation, content(upgrade)]))
}

fn short(seen: &Value) -> String {
    hex(&Sha256::digest(seen.to_string()), 8)
}

impl Manifest {
    /// Writes it in a namespace, if all that becomes different is listed by [`Written::changes`].
    ///
    /// # Errors
    /// If the API server refuses, others manage fields that are applied, the upgrade is another one by now than somebody has seen, or more
    /// becomes different than is listed.
    pub async fn write(
        &self,
        client: &Client,
        namespace: &str,
        writing: Writing<'_>,
    ) -> Result<Written, EditError> {
        let more = self.preview(client, namespace, writing).await?.changes().more;
        if more > 0 {
            let upgrade = format!("{namespace}/{}", self.name);
            return Err(EditError::NotAllShown { upgrade, more });
        }
        self.send(client, namespace, writing, false).await
    }

    /// What writing it would do, as the API server says it. Nothing is written.
    ///
    /// # Errors
    /// Those of writing it.
    pub async fn preview(
        &self,
        client: &Client,
        namespace: &str,
        writing: Writing<'_>,
    ) -> Result<Written, EditError> {
        self.send(client, namespace, writing, true).await
    }

    async fn send(
        &self,
        client: &Client,
        namespace: &str,
        writing: Writing<'_>,
        dry_run: bool,
    ) -> Result<Written, EditError> {
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), namespace);
        let upgrade = format!("{namespace}/{}", self.name);
        let refused = |source| EditError::Server {
            doing: format!("applying the ManagedClustersUpgrade {upgrade}"),
            source,
        };
        for _ in 0..TRIES {
            let before = api.get_opt(&self.name).await.map_err(refused)?;
            let is_leaving = |before: &ManagedClustersUpgrade| before.metadata.deletion_timestamp.is_some();
            if before.as_ref().is_some_and(is_leaving) {
                return Err(EditError::BeingDeleted(upgrade));
            }
            let (parameters, patch) = self.patch(before.as_ref(), writing, &upgrade)?;
            let parameters = PatchParams {
                field_validation: Some(ValidationDirective::Strict),
                dry_run,
                ..parameters
            };
            match api.patch(&self.name, &parameters, &patch).await {
                Ok(after) => return Ok(Written { before, after }),
                Err(kube::Error::Api(status)) if is_of_managers(&status) => {
                    return Err(EditError::FieldsOfOthers {
                        upgrade,
                        fields: status.message.clone(),
                    });
                }
                // Only its status may have changed since it was read, which is written often.
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(EditError::Contended(format!(
            "changing the ManagedClustersUpgrade {upgrade}"
        )))
    }

    /// What is sent to write it over what is there.
    fn patch(
        &self,
        before: Option<&ManagedClustersUpgrade>,
        writing: Writing<'_>,
        upgrade: &str,
    ) -> Result<(PatchParams, Patch<Value>), EditError> {
        match writing {
            Writing::Apply { takes_over, seen } => {
                let parameters = PatchParams {
                    force: takes_over,
                    ..PatchParams::apply(MANAGER)
                };
                let mut document = self.document.clone();
                if let Some(seen) = seen {
                    if before.map(state).unwrap_or_default() != seen {
                        return Err(EditError::ChangedSinceAsked(upgrade.to_owned()));
                    }
                    if let Some(before) = before {
                        document["metadata"]["resourceVersion"] = before.resource_version().into();
                    }
                }
                Ok((parameters, Patch::Apply(document)))
            }
            Writing::Edit { opened } => {
                self.is_an_edit()?;
                let before = before.filter(|before| edition(before) == opened);
                let before = before.ok_or_else(|| EditError::ChangedSince(upgrade.to_owned()))?;
                let mut patch = self.edit_of(before);
                if patch == json!({}) {
                    return Err(EditError::NothingChanged(upgrade.to_owned()));
                }
                patch["metadata"]["resourceVersion"] = before.resource_version().into();
                Ok((crate::parameters(), Patch::Merge(patch)))
            }
        }
    }

    /// The merge patch that makes spec and labels of an upgrade those of the text.
    fn edit_of(&self, before: &ManagedClustersUpgrade) -> Value {
        let mut patch = json!({});
        if let Some(spec) = difference(&json!(before.spec), &self.document["spec"]) {
            patch["spec"] = spec;
        }
        let labels = self.document["metadata"].get("labels").cloned();
        let labels = labels.filter(|labels| !labels.is_null()).unwrap_or(json!({}));
        if let Some(labels) = difference(&json!(before.labels()), &labels) {
            patch["metadata"]["labels"] = labels;
        }
        patch
    }

    /// An edit that says more would do less than it says.
    fn is_an_edit(&self) -> Result<(), EditError> {
        const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
        // Nobody who edits sees annotations.
        const METADATA: [&str; 3] = ["name", "namespace", "labels"];
        let unknown = |object: &Value, known: &[&str], of: &str| {
            let fields = object.as_object().into_iter().flat_map(Map::keys);
            let mut others = fields.filter(|field| !known.contains(&field.as_str()));
            others
                .next()
                .map(|field| format!("{of}{field} is nothing that an edit changes"))
        };
        let why = unknown(&self.document, &TOP, "")
            .or_else(|| unknown(&self.document["metadata"], &METADATA, "metadata."))
            .or_else(|| (!self.document["spec"].is_object()).then(|| "it has no spec".to_owned()));
        why.map_or(Ok(()), |why| Err(EditError::InvalidManifest(why)))
    }
}

/// Whether a conflict is about who manages fields.
fn is_of_managers(status: &kube::core::Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_conflict() && causes.any(|cause| cause.reason == "FieldManagerConflict")
}

#[cfg(test)]
mod tests {
    use super::super::tests::ONE;
    use super::*;

    #[test]
    fn an_edit_of_anything_else_is_refused() {
        for (text, why) in [
            (
                ONE.replace("  uid: u", "  finalizers: [a]"),
                "metadata.finalizers",
            ),
            (ONE.replace("  uid: u", "  annotations:"), "metadata.annotations"),
            (ONE.replace("spec: {}", "specs: {}"), "specs"),
            (ONE.replace("spec: {}", "spec: 7"), "no spec"),
        ] {
            let said = Manifest::parse(&text)
                .unwrap()
                .is_an_edit()
                .unwrap_err()
                .to_string();
            assert!(said.contains(why), "{said}");
        }
        Manifest::parse(ONE).unwrap().is_an_edit().unwrap();
    }
}
