//! A ManagedClustersUpgrade that somebody has written, as it is applied.

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::selector::{is_dns_label, is_dns_name};
use drydock_rollout::bounded;
use kube::Resource;
use serde_json::{Number, Value};

pub use changes::{Change, Changes};
pub use write::{Writing, Written, edition, state};

use crate::EditError;

mod changes;
mod compare;
mod write;

/// What the API server gives an object, and who applies it does not.
const GIVEN: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A ManagedClustersUpgrade as a text has it; what is wrong with its spec the API server says.
#[derive(Clone, Debug)]
pub struct Manifest {
    document: Value,
    name: String,
}

impl Manifest {
    /// Reads one from YAML, or JSON. What only the API server writes is left out: it may be what `kubectl get -o yaml` has printed.
    ///
    /// # Errors
    /// If the text is not one ManagedClustersUpgrade with a name.
    pub fn parse(text: &str) -> Result<Self, EditError> {
        let invalid = |why: String| EditError::InvalidManifest(why);
        let mut documents = documents(text).map_err(|error| invalid(format!("it is not YAML: {error}")))?;
        documents.retain(|document| !document.is_null());
        let kind = ManagedClustersUpgrade::kind(&());
        match (documents.pop(), documents.pop()) {
            (Some(document), None) => Self::of(document),
            (Some(one), Some(other)) if (one["kind"] == *kind) != (other["kind"] == *kind) => {
                let beside = if one["kind"] == *kind { other } else { one };
                let beside = beside["kind"]
                    .as_str()
                    .unwrap_or("text without a kind")
                    .to_owned();
                Err(invalid(format!(
                    "beside the {kind} there is a {}: only the {kind} is written here; apply the other with kubectl, and leave it out",
                    bounded(&beside, 63)
                )))
            }
            _ => Err(invalid(format!("give one {kind}, not none or several"))),
        }
    }

    /// One that was read already.
    ///
    /// # Errors
    /// If it is no ManagedClustersUpgrade with a name.
    pub fn of(mut document: Value) -> Result<Self, EditError> {
        let invalid = |why: String| EditError::InvalidManifest(why);
        let kind = ManagedClustersUpgrade::kind(&());
        let version = ManagedClustersUpgrade::api_version(&());
        if document["kind"] != *kind || document["apiVersion"] != *version {
            return Err(invalid(format!(
                "its kind must be {kind}, its apiVersion {version}"
            )));
        }
        let name = document["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if name.is_empty() {
            return Err(invalid("it has no metadata.name".to_owned()));
        }
        if !is_dns_name(&name) {
            return Err(invalid(
                "its metadata.name is no name of an object: up to 253 lower-case letters, digits, - and . are"
                    .to_owned(),
            ));
        }
        let namespace = &document["metadata"]["namespace"];
        if !namespace.is_null() && !namespace.as_str().is_some_and(is_dns_label) {
            return Err(invalid(
                "its metadata.namespace is no name of a namespace".to_owned(),
            ));
        }
        remove_what_the_server_gives(&mut document);
        Ok(Self { document, name })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it says that the upgrade is paused, or that it is not.
    pub fn says_whether_paused(&self) -> bool {
        !self.document["spec"]["paused"].is_null()
    }

    /// Its namespace, if it names one.
    pub fn namespace(&self) -> Option<&str> {
        self.document["metadata"]["namespace"].as_str()
    }
}

/// How much of an upgrade's text is read: its actions have 500 KiB at most. A text of a few lines may say a thing again and again by aliases.
const MOST_NODES: usize = 100_000;
const MOST_TEXT: usize = 4 << 20;
const MOST_REPEATED: usize = 10_000;

/// The documents of a text in YAML, numbers as kubectl reads them: `0400` is octal, `1.0` and `1e1` are integers.
///
/// # Errors
/// If it is not YAML, or more of it than an upgrade can have.
pub fn documents(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let budget = serde_saphyr::budget! {
        max_nodes: MOST_NODES,
        max_total_scalar_bytes: MOST_TEXT,
        max_recorded_anchor_events: MOST_REPEATED,
        max_recorded_anchor_bytes: MOST_TEXT,
    };
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
    };
    let mut documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)?;
    documents.iter_mut().for_each(make_integers);
    Ok(documents)
}

/// Makes integers of the floating-point numbers that are whole, as kubectl does by writing JSON.
fn make_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() <= WHOLE);
            if let Some(whole) = whole {
                *number = Number::from(whole as i64);
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(make_integers),
        Value::Object(fields) => fields.values_mut().for_each(make_integers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Up to here each whole number is a floating-point number of its own.
const WHOLE: f64 = (1_u64 << 53) as f64;

/// Takes out of an object what only the API server writes: it may be what `kubectl get -o yaml` has printed, and its version is old by then.
pub fn remove_what_the_server_gives(document: &mut Value) {
    if let Some(metadata) = document["metadata"].as_object_mut() {
        metadata.retain(|field, _| !GIVEN.contains(&field.as_str()));
    }
    if let Some(fields) = document.as_object_mut() {
        fields.remove("status");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(super) const ONE: &str = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: ManagedClustersUpgrade\nmetadata:\n  name: spring\n  uid: u\nspec: {}\nstatus: {}\n";

    #[test]
    fn what_only_the_api_server_writes_is_left_out() {
        let manifest = Manifest::parse(ONE).unwrap();
        assert_eq!((manifest.name(), manifest.namespace()), ("spring", None));
        assert!(manifest.document["metadata"]["uid"].is_null() && manifest.document["status"].is_null());
    }

    #[test]
    fn anything_but_one_named_upgrade_is_refused() {
        let two = format!("{ONE}---\n{ONE}");
        let beside = format!("kind: ConfigMap\n---\n{ONE}---\n");
        let why = Manifest::parse(&beside).unwrap_err().to_string();
        assert!(
            why.contains("beside the ManagedClustersUpgrade there is a ConfigMap"),
            "{why}"
        );
        assert!(Manifest::parse(&format!("---\n{ONE}---\n")).is_ok());
        let other = ONE.replace("ManagedClustersUpgrade", "Secret");
        let nameless = ONE.replace("name: spring", "namespace: default");
        let number = ONE.replace("name: spring", "name: 7");
        let namespace = ONE.replace("name: spring", "name: spring\n  namespace: a/b");
        for text in [
            "",
            "[",
            "a: &a [*a, *a]",
            "just words",
            &two,
            &other,
            &nameless,
            &number,
            &namespace,
            &ONE.replace("name: spring", "name: spring/status"),
            &ONE.replace("name: spring", "name: \"spring?dryRun=All&x=\""),
            &ONE.replace("name: spring", "name: A b"),
        ] {
            assert!(Manifest::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_short_text_that_says_much_by_aliases_is_refused() {
        let long = "x".repeat(250);
        let mut text = format!("a: &a [{}]\n", [long.as_str(); 9].join(", "));
        for (name, before) in ["b", "c", "d", "e", "f"]
            .into_iter()
            .zip(["a", "b", "c", "d", "e"])
        {
            let repeated = [format!("*{before}").as_str(); 9].join(", ");
            text = [text, format!("{name}: &{name} [{repeated}]\n")].concat();
        }
        assert!(text.len() < 4000);
        assert!(documents(&text).is_err());
        assert!(documents("a: &a [1, 2]\nb: *a\n").is_ok());
    }

    #[test]
    fn numbers_are_those_that_kubectl_reads() {
        let read = documents("a: 0400\nb: 0o400\nc: 400\nd: '0400'\n").unwrap();
        assert_eq!(read, [json!({"a": 256, "b": 256, "c": 400, "d": "0400"})]);
        let read = documents("a: 1.0\nb: [1e1, -2.0, {c: 1.5}]\nd: '1.0'\ne: 1e300\nf: 9007199254740992.0\n")
            .unwrap();
        let most = 9_007_199_254_740_992_i64;
        assert_eq!(
            read,
            [json!({"a": 1, "b": [10, -2, {"c": 1.5}], "d": "1.0", "e": 1e300, "f": most})]
        );
    }
}
