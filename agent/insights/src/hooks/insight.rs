//! One finding of an answer.

use std::str::FromStr;

use drydock_api::GoDuration;
use drydock_api::insights::hooks::{
    MAX_POOLS, MAX_RESOURCES, ResponseImpact, ResponseInsight, ResponseReference, ResponseRemediation,
    ResponseScope,
};
use drydock_api::insights::{
    Impact, ImpactType, Level, PoolReference, Remediation, ResourceReference, Scope, ScopeType,
};
use drydock_api::selector::is_dns_label;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{MAX_SKEW_MINUTES, RESERVED_UIDS, sanitized};
use crate::finding::Finding;

const MAX_SUMMARY: usize = 256;
const MAX_DESCRIPTION: usize = 4096;
const MAX_REFERENCE: usize = 512;
const MAX_KIND: usize = 63;
const MAX_NAMESPACE: usize = 63;
const MAX_NAME: usize = 253;

/// What is wrong with a finding.
pub(super) struct Problem {
    pub field: &'static str,
    pub why: String,
}

fn problem(field: &'static str, why: impl Into<String>) -> Problem {
    Problem {
        field,
        why: why.into(),
    }
}

/// Checks a finding.
pub(super) fn finding(insight: &ResponseInsight, now: Timestamp) -> Result<Finding, Problem> {
    if !is_dns_label(&insight.uid) {
        let why = "it must be lower-case letters, digits and hyphens, at most 63";
        return Err(problem("uid", why));
    }
    if RESERVED_UIDS
        .iter()
        .any(|reserved| insight.uid.starts_with(reserved))
    {
        return Err(problem("uid", "it is one of those that the agent itself uses"));
    }
    let acquired = acquired(&insight.acquisition_time, now)?;
    Ok(Finding {
        uid: insight.uid.clone(),
        acquired,
        scope: scope(&insight.scope)?,
        impact: impact(&insight.impact)?,
        remediation: match &insight.remediation {
            Some(remedy) => Some(remediation(remedy, acquired)?),
            None => None,
        },
    })
}

fn acquired(text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    const FIELD: &str = "acquisitionTime";
    let time = Timestamp::from_str(text).map_err(|_| problem(FIELD, "it must be a time of RFC 3339"))?;
    if time.duration_since(now) > SignedDuration::from_mins(MAX_SKEW_MINUTES) {
        let why = format!("it is more than {MAX_SKEW_MINUTES} minutes ahead of the cluster's clock");
        return Err(problem(FIELD, why));
    }
    Ok(time)
}

const POOLS: &str = "scope.workerPool";

fn scope(scope: &ResponseScope) -> Result<Scope, Problem> {
    let scope_type = match scope.scope_type.as_str() {
        "ControlPlane" => ScopeType::ControlPlane,
        "WorkerPool" => ScopeType::WorkerPool,
        _ => return Err(problem("scope.type", "it must be ControlPlane or WorkerPool")),
    };
    match (scope_type, scope.worker_pool.len()) {
        (ScopeType::ControlPlane, 1..) => return Err(problem(POOLS, "a ControlPlane has none")),
        (ScopeType::WorkerPool, 0) => return Err(problem(POOLS, "a WorkerPool needs at least one")),
        (_, count) if count > MAX_POOLS => return Err(problem(POOLS, format!("more than {MAX_POOLS}"))),
        _ => {}
    }
    if scope.resources.len() > MAX_RESOURCES {
        return Err(problem("scope.resources", format!("more than {MAX_RESOURCES}")));
    }
    let pools = scope.worker_pool.iter().map(pool).collect::<Result<_, _>>()?;
    let resources = scope.resources.iter().map(resource).collect::<Result<_, _>>()?;
    Ok(Scope {
        scope_type,
        worker_pool: in_order(pools),
        resources: in_order(resources),
    })
}

fn in_order<T: Ord>(mut elements: Vec<T>) -> Vec<T> {
    elements.sort();
    elements.dedup();
    elements
}

fn pool(pool: &ResponseReference) -> Result<PoolReference, Problem> {
    Ok(PoolReference {
        kind: name(POOLS, &pool.kind, MAX_KIND)?,
        namespace: optional(POOLS, pool.namespace.as_deref(), MAX_NAMESPACE)?,
        name: name(POOLS, &pool.name, MAX_NAME)?,
    })
}

fn resource(resource: &ResponseReference) -> Result<ResourceReference, Problem> {
    const FIELD: &str = "scope.resources";
    Ok(ResourceReference {
        group: optional(FIELD, resource.group.as_deref(), MAX_NAME)?,
        kind: name(FIELD, &resource.kind, MAX_KIND)?,
        namespace: optional(FIELD, resource.namespace.as_deref(), MAX_NAMESPACE)?,
        name: name(FIELD, &resource.name, MAX_NAME)?,
    })
}

fn optional(field: &'static str, text: Option<&str>, longest: usize) -> Result<Option<String>, Problem> {
    let given = text.filter(|text| !text.is_empty());
    given.map(|text| name(field, text, longest)).transpose()
}

/// A kind or name of an object. Names of RBAC's kinds have colons, so that no more is asked than that nothing is hidden in it.
fn name(field: &'static str, text: &str, longest: usize) -> Result<String, Problem> {
    if text.is_empty() || text.len() > longest || !text.chars().all(|letter| letter.is_ascii_graphic()) {
        let why = format!("a kind, namespace or name must be 1 to {longest} visible ASCII characters");
        return Err(problem(field, why));
    }
    Ok(text.to_owned())
}

fn impact(impact: &ResponseImpact) -> Result<Impact, Problem> {
    Ok(Impact {
        level: Level::parse(&impact.level),
        impact_type: impact
            .impact_type
            .as_deref()
            .map_or(ImpactType::None, ImpactType::parse),
        summary: text("impact.summary", &impact.summary, MAX_SUMMARY)?.replace('\n', " "),
        description: match impact.description.as_deref() {
            Some("") | None => None,
            Some(given) => Some(text("impact.description", given, MAX_DESCRIPTION)?),
        },
    })
}

fn text(field: &'static str, text: &str, longest: usize) -> Result<String, Problem> {
    let count = text.chars().count();
    if count == 0 || count > longest {
        return Err(problem(
            field,
            format!("it must have 1 to {longest} characters, not {count}"),
        ));
    }
    Ok(sanitized(text, longest))
}

fn remediation(remedy: &ResponseRemediation, acquired: Timestamp) -> Result<Remediation, Problem> {
    let reference = remedy
        .reference
        .as_deref()
        .filter(|reference| !reference.is_empty());
    let finish = remedy
        .estimated_finish
        .as_deref()
        .filter(|finish| !finish.is_empty());
    Ok(Remediation {
        reference: reference.map(address).transpose()?,
        action: None,
        verify: None,
        resolved: remedy.resolved,
        estimated_finish: finish.map(|finish| estimate(finish, acquired)).transpose()?,
    })
}

fn address(text: &str) -> Result<String, Problem> {
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    let is_plain = text.len() <= MAX_REFERENCE && text.chars().all(|letter| letter.is_ascii_graphic());
    if is_web && is_plain {
        return Ok(text.to_owned());
    }
    let why = format!("it must begin with http:// or https:// and have at most {MAX_REFERENCE} characters");
    Err(problem("remediation.reference", why))
}

/// A moment, or a duration from when the informer looked (insights.md, section 1.9, row 9).
fn estimate(text: &str, acquired: Timestamp) -> Result<Time, Problem> {
    if let Ok(moment) = Timestamp::from_str(text) {
        return Ok(Time(moment));
    }
    let duration = GoDuration::from_str(text).ok().map(GoDuration::signed);
    let finish = duration
        .filter(|duration| !duration.is_negative())
        .and_then(|duration| acquired.checked_add(duration).ok());
    let why = "it must be a time of RFC 3339, or a duration such as 15m";
    finish
        .map(Time)
        .ok_or_else(|| problem("remediation.estimatedFinish", why))
}
