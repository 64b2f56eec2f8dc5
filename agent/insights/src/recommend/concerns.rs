//! What alerts say about any update.

use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::ImpactType;
use drydock_api::prometheus::Alert;
use serde::Serialize;

use crate::status::{description, first, runbook};

/// The name of the issue that there were no alerts in a folder.
const NO_TEST_DATA: &str = "AlertNoTestData";
/// What marks alerts to look at before an update.
const PRECHECK_LABEL: &str = "openShiftUpdatePrecheck";

/// What was looked at, and whether it gives cause for concern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Concern {
    /// What was looked at.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it is well.
    pub status: ConcernStatus,
    /// Why, as one word.
    pub reason: String,
    /// Why, in full.
    pub message: String,
    /// By which name it is accepted; empty if it is well.
    pub acceptance_name: String,
}

impl Concern {
    /// Whether it gives no cause for concern.
    pub fn is_well(&self) -> bool {
        self.status == ConcernStatus::True
    }

    /// Its name as an issue, if it is one.
    pub fn issue(&self) -> Option<String> {
        (!self.is_well()).then(|| self.acceptance_name.clone())
    }
}

/// Whether something is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ConcernStatus {
    /// It is.
    True,
    /// It is not.
    False,
    /// Nobody can say.
    Unknown,
}

impl ConcernStatus {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Alerts that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Critical,
    PodDisruptionBudget,
    PodImagePull,
    Node,
    UpdatePrecheck,
    Virt,
}

impl Group {
    /// Those of which is said that they are quiet. It is not said of alerts about virtual machines.
    const WITH_QUIET: [Self; 5] = [
        Self::Critical,
        Self::PodDisruptionBudget,
        Self::PodImagePull,
        Self::Node,
        Self::UpdatePrecheck,
    ];

    /// The group of an alert: the first that fits.
    fn of(alert: &Alert) -> Option<Self> {
        if alert.label("severity") == "critical" {
            return Some(Self::Critical);
        }
        match alert.label("alertname") {
            "PodDisruptionBudgetAtLimit" => Some(Self::PodDisruptionBudget),
            "KubeContainerWaiting" => Some(Self::PodImagePull),
            "KubeletHealthState"
            | "KubeNodeNotReady"
            | "KubeNodeReadinessFlapping"
            | "KubeNodeUnreachable" => Some(Self::Node),
            _ if alert.label(PRECHECK_LABEL) == "true" => Some(Self::UpdatePrecheck),
            "VirtHandlerDaemonSetRolloutFailing" | "VMCannotBeEvicted" => Some(Self::Virt),
            _ => None,
        }
    }

    fn type_(self) -> &'static str {
        match self {
            Self::Critical => "recommended/CriticalAlerts",
            Self::PodDisruptionBudget => "recommended/PodDisruptionBudgetAlerts",
            Self::PodImagePull => "recommended/PodImagePullAlerts",
            Self::Node => "recommended/NodeAlerts",
            Self::UpdatePrecheck => "recommended/UpdatePrecheckAlerts",
            Self::Virt => "recommended/VirtAlerts",
        }
    }

    fn consequence(self) -> &'static str {
        match self {
            Self::Critical => "suggesting significant cluster issues worth investigating",
            Self::PodDisruptionBudget => "which might slow node drains",
            Self::PodImagePull | Self::Node | Self::Virt => {
                "which may slow workload redistribution during rolling node updates"
            }
            Self::UpdatePrecheck => "suggesting issues worth investigating before updating the cluster",
        }
    }

    fn quiet(self) -> &'static str {
        match self {
            Self::Critical => "No critical alerts firing.",
            Self::PodDisruptionBudget => "No PodDisruptionBudget alerts firing.",
            Self::PodImagePull => "No Pod container image pull alerts firing.",
            Self::Node => "No Node alerts firing.",
            Self::UpdatePrecheck => "No alerts with the openShiftUpdatePrecheck label true are firing.",
            Self::Virt => "No virtualization alerts firing.",
        }
    }
}

/// What alerts say, and why it could not be found out.
pub fn of_alerts(alerts: &Fact<Vec<Alert>>, folder: Option<&str>) -> (Vec<Concern>, Option<String>) {
    match (alerts, folder) {
        (Ok(alerts), _) => (judge(alerts), None),
        (Err(Unread::NotAsked), Some(folder)) => (vec![no_test_data(folder)], None),
        (Err(why), _) => (Vec::new(), Some(why.to_string())),
    }
}

fn judge(alerts: &[Alert]) -> Vec<Concern> {
    let mut found = Vec::new();
    let mut firing = Vec::new();
    let counted = alerts
        .iter()
        .filter(|alert| !alert.label("alertname").is_empty() && alert.state != "pending");
    for alert in counted {
        let Some(group) = Group::of(alert) else {
            continue;
        };
        firing.push(group);
        if names_budget(alert, group) {
            firing.push(Group::PodDisruptionBudget);
        }
        found.push(concern(alert, group, found.len()));
    }
    let quiet = Group::WITH_QUIET
        .into_iter()
        .filter(|group| !firing.contains(group));
    found.extend(quiet.map(|group| Concern {
        type_: group.type_().to_owned(),
        status: ConcernStatus::True,
        reason: "AsExpected".to_owned(),
        message: group.quiet().to_owned(),
        acceptance_name: String::new(),
    }));
    found
}

/// What an alert that fires says about any update.
pub struct AlertConcern {
    /// It is one of those that suggest significant issues.
    pub is_critical: bool,
    /// What it is about.
    pub impact: ImpactType,
    /// What it says.
    pub details: String,
}

/// What an alert says about any update; nothing if it does not fire, or does not matter.
pub fn of_alert(alert: &Alert) -> Option<AlertConcern> {
    if alert.label("alertname").is_empty() || alert.state == "pending" {
        return None;
    }
    let group = Group::of(alert)?;
    Some(AlertConcern {
        is_critical: group == Group::Critical,
        impact: match group {
            Group::Critical | Group::UpdatePrecheck => ImpactType::Unknown,
            _ => ImpactType::UpdateSpeed,
        },
        details: details(alert, group),
    })
}

/// Whether a budget is named: alerts about budgets do not name theirs in their texts.
fn names_budget(alert: &Alert, group: Group) -> bool {
    match group {
        Group::PodDisruptionBudget => true,
        Group::Critical => alert.label("alertname") == "PodDisruptionBudgetLimit",
        _ => false,
    }
}

fn concern(alert: &Alert, group: Group, index: usize) -> Concern {
    let name = alert.label("alertname");
    let state = &alert.state;
    Concern {
        type_: format!("{}/{name}/{index}", group.type_()),
        status: ConcernStatus::False,
        reason: format!("Alert:{state}"),
        message: format!(
            "{} alert {name} {state}, {}. {}",
            alert.label("severity"),
            group.consequence(),
            details(alert, group)
        ),
        acceptance_name: name.to_owned(),
    }
}

fn details(alert: &Alert, group: Group) -> String {
    let name = alert.label("alertname");
    let summary = first(alert.annotation("summary"), name);
    let stop = if summary.ends_with('.') { "" } else { "." };
    let budget = if names_budget(alert, group) {
        format!(
            "Namespace={}, PodDisruptionBudget={}. ",
            alert.label("namespace"),
            alert.label("poddisruptionbudget")
        )
    } else {
        String::new()
    };
    format!("{budget}{summary}{stop}{} {}", description(alert), runbook(alert))
}

/// That a folder has no alerts: in the words of `oc`, for which such a folder is a file whose name begins like the folder's.
fn no_test_data(folder: &str) -> Concern {
    Concern {
        type_: "recommended/Alert".to_owned(),
        status: ConcernStatus::Unknown,
        reason: "NoTestData".to_owned(),
        message: format!(
            "This --mock-clusterversion run did not have alert data available at examples/{folder}-alerts.json"
        ),
        acceptance_name: NO_TEST_DATA.to_owned(),
    }
}
