//! From the object's spec to values, or to a message that says which field is wrong and what to write instead.

mod start_times;

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::mcu::{
    self, Action, ClusterVersion, ManagedClustersUpgrade, ManagedClustersUpgradeSpec, OcpOperators,
    OperatorReference, UpgradeStrategy, parse_limit,
};
use drydock_api::names::AGENT_NAMESPACE;
use drydock_api::ocm::manifest_work::Manifest;
use drydock_api::selector::LabelMatch;
use drydock_api::upgradeconfig::UpgradeType;
use drydock_api::{GoDuration, IntOrPercent, ReleaseImage, ReleaseVersion};
use drydock_rollout::{
    ActionSpec, AgentOptions, Goal, InvalidSpec, OperatorKey, Operators, PlacementKey, PreChecksMode,
    PreChecksPolicy, RequestedMethod, Selector, Spec, Strategy, Target,
};
use jiff::SignedDuration;
use serde_json::json;

use crate::{placement, works};

/// Minutes that a PodDisruptionBudget may hold up a drain, if the user does not say.
const DRAIN_TIMEOUT: i32 = 60;

/// OCM's limit on the manifests of a work, in bytes, less what the hub adds.
const LARGEST_ACTION: usize = 500 * 1024;

fn invalid(field: &str, problem: impl std::fmt::Display) -> InvalidSpec {
    InvalidSpec::new(field, problem)
}

/// Reads the spec of an upgrade.
///
/// # Errors
/// The first field that cannot be used.
pub fn parse_spec(upgrade: &ManagedClustersUpgrade) -> Result<Spec, InvalidSpec> {
    let spec = &upgrade.spec;
    let ManagedClustersUpgradeSpec {
        placement,
        cluster_selector,
        cluster_version,
        ocp_operators,
        upgrade_strategy,
        pre_upgrade_action,
        post_upgrade_action,
        pre_checks,
        paused,
    } = spec;
    let placements: Vec<PlacementKey> = placement
        .iter()
        .flatten()
        .map(|reference| PlacementKey::new(reference.namespace.as_str(), reference.name.as_str()))
        .collect();
    if placements.is_empty() && cluster_selector.is_none() {
        return Err(invalid(
            "spec",
            "placement or clusterSelector is required: say which clusters to upgrade",
        ));
    }
    if let Some(selector) = cluster_selector {
        parse_selector(
            "spec.clusterSelector",
            &LabelMatch {
                match_expressions: selector.match_expressions.clone(),
                match_labels: selector.match_labels.clone(),
            },
        )?;
    }
    let operators = parse_operators(ocp_operators.as_ref());
    let target = cluster_version.as_ref().map(parse_target).transpose()?;
    if target.is_none() && operators.is_none() {
        return Err(invalid(
            "spec.clusterVersion",
            "is required: say which release to upgrade to, or which operators in spec.ocpOperators",
        ));
    }
    let strategy = parse_strategy(upgrade_strategy.as_ref(), target.as_ref())?;
    Ok(Spec {
        placements,
        own_placement: cluster_selector
            .as_ref()
            .map(|selector| placement::own_key(upgrade, selector)),
        goal: Arc::new(Goal { target, operators }),
        strategy,
        pre_checks: parse_pre_checks(pre_checks.as_ref())?,
        pre_action: parse_action("spec.preUpgradeAction", pre_upgrade_action.as_ref())?,
        post_action: parse_action("spec.postUpgradeAction", post_upgrade_action.as_ref())?,
        paused: paused.unwrap_or(false),
    })
}

/// No answer counts for less.
const LEAST_MAX_AGE: SignedDuration = SignedDuration::from_mins(5);

fn parse_pre_checks(pre_checks: Option<&mcu::PreChecks>) -> Result<PreChecksPolicy, InvalidSpec> {
    let default = mcu::PreChecks::default();
    let mcu::PreChecks {
        mode,
        max_age,
        timeout,
    } = pre_checks.unwrap_or(&default);
    let mode = mode
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| invalid("spec.preChecks.mode", error))?
        .unwrap_or_default();
    let duration = |field: &str, text: &Option<String>, default: GoDuration| match text {
        Some(text) => parse_timeout(field, text, false),
        None => Ok(default.signed()),
    };
    let max_age = duration("spec.preChecks.maxAge", max_age, mcu::DEFAULT_PRE_CHECKS_MAX_AGE)?;
    if max_age < LEAST_MAX_AGE {
        let why = "must be at least 5m: an agent takes up to two minutes to answer, and an older answer does not count";
        return Err(invalid("spec.preChecks.maxAge", why));
    }
    Ok(PreChecksPolicy {
        mode: match mode {
            mcu::PreChecksMode::Off => PreChecksMode::Off,
            mcu::PreChecksMode::Report => PreChecksMode::Report,
            mcu::PreChecksMode::Require => PreChecksMode::Require,
        },
        max_age,
        timeout: duration("spec.preChecks.timeout", timeout, mcu::DEFAULT_PRE_CHECKS_TIMEOUT)?,
    })
}

/// `approveAllUpgrades: false` with nothing included asks for nothing.
fn parse_operators(operators: Option<&OcpOperators>) -> Option<Operators> {
    let OcpOperators {
        approve_all_upgrades,
        include,
        exclude,
    } = operators?;
    let keys = |list: &Option<Vec<OperatorReference>>| -> Vec<OperatorKey> {
        let mut keys: Vec<OperatorKey> = list
            .iter()
            .flatten()
            .map(|reference| OperatorKey {
                name: reference.name.clone(),
                namespace: reference.namespace.clone(),
            })
            .collect();
        keys.sort();
        keys.dedup();
        keys
    };
    let include = match approve_all_upgrades {
        Some(true) => None,
        Some(false) | None => Some(keys(include)).filter(|include| !include.is_empty()),
    };
    (include.is_some() || *approve_all_upgrades == Some(true)).then(|| Operators {
        include,
        exclude: keys(exclude),
    })
}

fn parse_target(version: &ClusterVersion) -> Result<Target, InvalidSpec> {
    let ClusterVersion {
        channel,
        version,
        upstream,
        image,
        force,
    } = version;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let version = given(version)
        .map(|text| text.parse::<ReleaseVersion>())
        .transpose()
        .map_err(|error| invalid("spec.clusterVersion.version", error))?;
    let image = given(image)
        .map(|text| text.parse::<ReleaseImage>())
        .transpose()
        .map_err(|error| invalid("spec.clusterVersion.image", error))?;
    if version.is_none() && image.is_none() {
        return Err(invalid(
            "spec.clusterVersion",
            "version or image is required: say which release to upgrade to",
        ));
    }
    Ok(Target {
        channel: given(channel),
        version: version.map(|version| version.as_semver().clone()),
        image: image.map(|image| image.to_string()),
        upstream: given(upstream),
        force: force.unwrap_or(false),
    })
}

fn parse_strategy(
    strategy: Option<&UpgradeStrategy>,
    target: Option<&Target>,
) -> Result<Strategy, InvalidSpec> {
    let default = UpgradeStrategy::default();
    let UpgradeStrategy {
        canary_clusters,
        max_concurrency,
        cluster_upgrade_timeout,
        operators_upgrade_timeout,
        max_failures,
        start_windows,
        freezes,
        freeze_calendar,
        start_only_if_it_fits,
        upgrade_via,
        agent,
    } = strategy.unwrap_or(&default);
    let (canaries, soak) = match canary_clusters {
        None => (None, SignedDuration::ZERO),
        Some(canaries) => {
            let field = "spec.upgradeStrategy.canaryClusters.soakTime";
            let soak = canaries.soak_time.as_ref();
            let soak = soak.map(|soak| parse_timeout(field, soak, true)).transpose()?;
            let field = "spec.upgradeStrategy.canaryClusters.clusterSelector";
            let selector = parse_selector(field, &canaries.cluster_selector)?;
            (Some(selector), soak.unwrap_or_default())
        }
    };
    let max_concurrency = match max_concurrency {
        None => IntOrPercent::Count(1),
        Some(limit) => {
            parse_limit(limit).map_err(|error| invalid("spec.upgradeStrategy.maxConcurrency", error))?
        }
    };
    if max_concurrency.is_zero() {
        return Err(invalid(
            "spec.upgradeStrategy.maxConcurrency",
            "must be at least 1 or 1%; to stop further clusters from starting set spec.paused",
        ));
    }
    let max_failures = max_failures
        .as_ref()
        .map(parse_limit)
        .transpose()
        .map_err(|error| invalid("spec.upgradeStrategy.maxFailures", error))?;
    let cluster_timeout = match cluster_upgrade_timeout {
        Some(text) => parse_timeout("spec.upgradeStrategy.clusterUpgradeTimeout", text, false)?,
        None => mcu::DEFAULT_CLUSTER_UPGRADE_TIMEOUT.signed(),
    };
    let operators_timeout = match operators_upgrade_timeout {
        Some(text) => parse_timeout("spec.upgradeStrategy.operatorsUpgradeTimeout", text, false)?,
        None => mcu::DEFAULT_OPERATORS_UPGRADE_TIMEOUT.signed(),
    };
    Ok(Strategy {
        canaries,
        soak,
        max_concurrency,
        cluster_timeout,
        operators_timeout,
        max_failures,
        start_times: start_times::parse(
            start_windows.as_deref().unwrap_or_default(),
            freezes.as_deref().unwrap_or_default(),
            freeze_calendar.as_ref(),
        )?,
        start_only_if_it_fits: start_only_if_it_fits.unwrap_or(false),
        method: parse_method(upgrade_via.as_deref(), target)?,
        agent: agent_settings(agent.as_ref().unwrap_or(&mcu::AgentSettings::default())),
    })
}

fn agent_settings(agent: &mcu::AgentSettings) -> AgentOptions {
    AgentOptions {
        steps: match agent.steps() {
            UpgradeType::Osd => "OSD",
            UpgradeType::Aro => "ARO",
        },
        pdb_force_drain_minutes: agent.pdb_force_drain_timeout.unwrap_or(DRAIN_TIMEOUT),
        capacity_reservation: agent.capacity_reservation,
        namespace: agent
            .namespace
            .clone()
            .unwrap_or_else(|| AGENT_NAMESPACE.to_owned()),
    }
}

fn parse_method(via: Option<&str>, target: Option<&Target>) -> Result<RequestedMethod, InvalidSpec> {
    let field = "spec.upgradeStrategy.upgradeVia";
    let via = via
        .map(str::parse)
        .transpose()
        .map_err(|error| invalid(field, error))?
        .unwrap_or_default();
    let method = match via {
        mcu::UpgradeVia::Auto => RequestedMethod::Auto,
        mcu::UpgradeVia::Agent => RequestedMethod::Agent,
        mcu::UpgradeVia::ClusterVersion => RequestedMethod::ClusterVersion,
    };
    if method == RequestedMethod::Agent && target.is_some_and(|target| !target.fits_agent()) {
        return Err(invalid(
            field,
            "the agent does not support force or upstream and needs a channel with a version: add the channel, remove force and \
             upstream, or set upgradeVia: ClusterVersion",
        ));
    }
    Ok(method)
}

/// A century keeps every deadline within the calendar.
const LONGEST: SignedDuration = SignedDuration::from_hours(876_000);

fn parse_timeout(field: &str, text: &str, zero: bool) -> Result<SignedDuration, InvalidSpec> {
    let duration: SignedDuration = text
        .parse::<GoDuration>()
        .map_err(|error| invalid(field, error))?
        .signed();
    if duration > LONGEST {
        return Err(invalid(field, format!("{text:?} is too long: at most 876000h")));
    }
    if duration.is_negative() || (duration.is_zero() && !zero) {
        return Err(invalid(
            field,
            format!("{text:?} must be a positive duration, for example 2h, 1h30m or 90s"),
        ));
    }
    Ok(duration)
}

pub(crate) fn parse_selector(field: &str, labels: &LabelMatch) -> Result<Selector, InvalidSpec> {
    let mut selector = Selector::labels(labels.match_labels.as_ref().unwrap_or(&BTreeMap::new()));
    for requirement in labels.match_expressions.iter().flatten() {
        selector
            .require(
                &requirement.key,
                &requirement.operator,
                requirement.values.as_deref().unwrap_or_default(),
            )
            .map_err(|error| invalid(field, error))?;
    }
    Ok(selector)
}

fn parse_action(field: &str, action: Option<&Action>) -> Result<Option<ActionSpec>, InvalidSpec> {
    let Some(action) = action else {
        return Ok(None);
    };
    let timeout = match &action.timeout {
        Some(text) => parse_timeout(&format!("{field}.timeout"), text, false)?,
        None => mcu::DEFAULT_ACTION_TIMEOUT.signed(),
    };
    let field = format!("{field}.manifestWork");
    let work = action.manifest_work.work_spec();
    let work = work.map_err(|why| invalid(&field, why))?;
    let workload = work.workload.as_ref();
    let manifests: &[Manifest] = workload.map_or(&[], |workload| &workload.manifests);
    if manifests.is_empty() {
        return Err(invalid(
            &field,
            "workload.manifests is empty: give the objects to apply, or remove the action",
        ));
    }
    let mut size = 0;
    for (index, Manifest(object)) in manifests.iter().enumerate() {
        let text = |path: &str| {
            object
                .pointer(path)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
        };
        for (path, name) in [
            ("/apiVersion", "apiVersion"),
            ("/kind", "kind"),
            ("/metadata/name", "metadata.name"),
        ] {
            if text(path).is_empty() {
                return Err(invalid(
                    &field,
                    format!("workload.manifests[{index}] needs {name}"),
                ));
            }
        }
        size += object.to_string().len();
    }
    if size > LARGEST_ACTION {
        return Err(invalid(
            &field,
            format!(
                "the manifests have {size} bytes, a ManifestWork holds {LARGEST_ACTION}: make them smaller"
            ),
        ));
    }
    Ok(Some(ActionSpec {
        timeout,
        work: Arc::new(json!(works::action_template(work))),
    }))
}
