//! How built-in kinds merge: the `x-kubernetes-*` extensions of the API server's own OpenAPI document, which the
//! Rust types do not carry, and the keys of lists that may be left out.

use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What each definition has besides its Rust type, as a merge patch.
static EXTENSIONS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a file of this crate")]
    serde_json::from_str(include_str!("merge.json")).expect("merge.json holds a patch for each definition")
});

/// Adds to the definition of a type how it merges.
pub(super) fn annotate(definition: &str, schema: &mut Value) {
    if let Some(extension) = EXTENSIONS.get(short(definition)) {
        json_patch::merge(schema, extension);
    }
}

/// `core.v1.Pod` for `io.k8s.api.core.v1.Pod`.
fn short(definition: &str) -> &str {
    let prefixes = [
        "io.k8s.api.",
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
    ];
    prefixes
        .iter()
        .find_map(|prefix| definition.strip_prefix(prefix))
        .unwrap_or(definition)
}

/// Extensions of a type or a field that does not exist.
#[cfg(test)]
pub(super) fn astray(definitions: &BTreeMap<String, Value>) -> Vec<String> {
    let schema_of = |name: &str| {
        let mut found = definitions
            .iter()
            .filter(|(definition, _)| short(definition) == name);
        found.next().map(|(_, schema)| schema)
    };
    let mut astray = Vec::new();
    for (name, extension) in &*EXTENSIONS {
        let Some(schema) = schema_of(name) else {
            astray.push(name.clone());
            continue;
        };
        let fields = extension["properties"].as_object().into_iter().flatten();
        // A field that the Rust type has not is one of which nothing but the extension is said.
        let unknown = fields.filter(|(field, extension)| schema["properties"][field.as_str()] == **extension);
        astray.extend(unknown.map(|(field, _)| format!("{name}.{field}")));
    }
    astray
}
