//! Query parameters, as the options of operations.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Uri;
use serde_json::Value;

use crate::schema::go_quote;
use crate::server::{
    Cause, DeleteOptions, FieldSelector, FieldValidation, LabelSelector, ListOptions, Propagation, Status,
    VersionMatch, WatchOptions, WriteOptions,
};

/// How long a watch lasts whose client does not say.
const WATCH_LASTS: Duration = Duration::from_mins(45);

/// The parameters of a request; of several with one name the first counts.
#[derive(Debug)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn of(uri: &Uri) -> Self {
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            parameters
                .entry(name.into_owned())
                .or_insert_with(|| value.into_owned());
        }
        Self(parameters)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.text(name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    /// Go reads these words as true; a parameter without a value is true as well.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.0
            .get(name)
            .is_some_and(|value| matches!(value.as_str(), "" | "1" | "t" | "T" | "true" | "TRUE" | "True"))
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, Status> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax")))
    }

    fn labels(&self) -> Result<LabelSelector, Status> {
        self.text("labelSelector")
            .map_or_else(|| Ok(LabelSelector::default()), LabelSelector::parse)
    }

    fn fields(&self) -> Result<FieldSelector, Status> {
        self.text("fieldSelector")
            .map_or_else(|| Ok(FieldSelector::default()), FieldSelector::parse)
    }

    fn version_match(&self) -> Result<Option<VersionMatch>, Status> {
        match self.text("resourceVersionMatch") {
            None => Ok(None),
            Some("NotOlderThan") => Ok(Some(VersionMatch::NotOlderThan)),
            Some("Exact") => Ok(Some(VersionMatch::Exact)),
            Some(other) => {
                let why = format!(
                    "Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
                );
                let cause = Cause::new("FieldValueNotSupported", "resourceVersionMatch", why);
                Err(Status::invalid_of("meta.k8s.io", "ListOptions", "", vec![cause]))
            }
        }
    }

    pub(super) fn list(&self) -> Result<ListOptions, Status> {
        if self.0.contains_key("sendInitialEvents") {
            let why = "Forbidden: sendInitialEvents is forbidden for list";
            let cause = Cause::new("FieldValueForbidden", "sendInitialEvents", why);
            refuse("ListOptions", vec![cause])?;
        }
        Ok(ListOptions {
            labels: self.labels()?,
            fields: self.fields()?,
            limit: usize::try_from(self.number::<i64>("limit")?.unwrap_or(0)).unwrap_or(0),
            continue_token: self.text("continue").map(str::to_owned),
            resource_version: self.text("resourceVersion").map(str::to_owned),
            version_match: self.version_match()?,
        })
    }

    pub(super) fn watch(&self) -> Result<WatchOptions, Status> {
        let seconds = self
            .number::<u64>("timeoutSeconds")?
            .filter(|seconds| *seconds > 0);
        Ok(WatchOptions {
            labels: self.labels()?,
            fields: self.fields()?,
            resource_version: self.text("resourceVersion").map(str::to_owned),
            version_match: self.version_match()?,
            bookmarks: self.flag("allowWatchBookmarks"),
            initial_events: self
                .0
                .contains_key("sendInitialEvents")
                .then(|| self.flag("sendInitialEvents")),
            timeout: Some(seconds.map_or(WATCH_LASTS, Duration::from_secs)),
        })
    }

    fn dry_run(&self, causes: &mut Vec<Cause>) -> bool {
        match self.0.get("dryRun").map(String::as_str) {
            None => false,
            Some("All") => true,
            Some(other) => {
                let why = format!("Unsupported value: [{other:?}]: supported values: \"All\"");
                causes.push(Cause::new("FieldValueNotSupported", "dryRun", why));
                false
            }
        }
    }

    /// Options of a write; `options` is the name of their kind, for what is wrong with them.
    pub(super) fn write(&self, options: &str) -> Result<WriteOptions, Status> {
        let mut causes = Vec::new();
        let field_manager = self.text("fieldManager");
        causes.extend(field_manager.and_then(check_manager));
        let dry_run = self.dry_run(&mut causes);
        let field_validation = match self.text("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let why = format!(
                    "Unsupported value: {other:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                );
                causes.push(Cause::new("FieldValueNotSupported", "fieldValidation", why));
                FieldValidation::Warn
            }
        };
        refuse(options, causes)?;
        Ok(WriteOptions {
            field_manager: field_manager.map(str::to_owned),
            field_validation,
            dry_run,
            force: self.flag("force"),
            duplicates: Vec::new(),
        })
    }

    /// Options of a delete: those of the body, or without one those of the query.
    pub(super) fn delete(&self, body: Option<&Value>) -> Result<DeleteOptions, Status> {
        let text = |name: &str| {
            body.and_then(|body| body[name].as_str())
                .or_else(|| self.text(name))
                .map(str::to_owned)
        };
        let from_body = |pointer: &str| {
            body.and_then(|body| body.pointer(pointer)?.as_str())
                .map(str::to_owned)
        };
        let grace_period = match body.and_then(|body| body["gracePeriodSeconds"].as_i64()) {
            Some(seconds) => Some(seconds),
            None => self.number("gracePeriodSeconds")?,
        };
        let orphan = body.and_then(|body| body["orphanDependents"].as_bool());
        let mut causes = Vec::new();
        if let Some(body) = body {
            check_options_kind(body)?;
        }
        if orphan.is_some() && text("propagationPolicy").is_some() {
            causes.push(Cause::invalid(
                "propagationPolicy",
                &Value::from(text("propagationPolicy")),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        let propagation = match text("propagationPolicy").as_deref() {
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let why = format!(
                    "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                causes.push(Cause::new("FieldValueNotSupported", "propagationPolicy", why));
                None
            }
            None => orphan.map(|orphan| {
                if orphan {
                    Propagation::Orphan
                } else {
                    Propagation::Background
                }
            }),
        };
        let dry_run = body.is_some_and(|body| body["dryRun"][0] == "All") || self.dry_run(&mut causes);
        refuse("DeleteOptions", causes)?;
        Ok(DeleteOptions {
            grace_period,
            propagation,
            uid: from_body("/preconditions/uid"),
            resource_version: from_body("/preconditions/resourceVersion"),
            dry_run,
        })
    }
}

/// 422 for options that are not what they may be.
fn refuse(options: &str, causes: Vec<Cause>) -> Result<(), Status> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid_of("meta.k8s.io", options, "", causes))
}

/// The body of a delete is `DeleteOptions`, or does not say what it is.
fn check_options_kind(body: &Value) -> Result<(), Status> {
    let kind = body["kind"].as_str().unwrap_or("DeleteOptions");
    if kind == "DeleteOptions" {
        return Ok(());
    }
    let version = body["apiVersion"].as_str().unwrap_or_default();
    Err(Status::bad_request(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )))
}

/// What is wrong with the name of a manager.
fn check_manager(name: &str) -> Option<Cause> {
    if name.len() > 128 {
        return Some(Cause::new(
            "FieldValueTooLong",
            "fieldManager",
            "Too long: may not be more than 128 bytes",
        ));
    }
    let (at, unprintable) = name.chars().enumerate().find(|(_, letter)| letter.is_control())?;
    let message = format!(
        "Invalid value: {}: invalid character U+{:04X} (at position {at})",
        go_quote(name),
        u32::from(unprintable)
    );
    Some(Cause::new("FieldValueInvalid", "fieldManager", message))
}
