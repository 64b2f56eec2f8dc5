//! `pre-checks`: what the clusters of an upgrade have answered before they start, grouped over the fleet; and of one cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context;
use comfy_table::Cell;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_objects::findings::{FleetFinding, grouped};
use drydock_objects::{parse_spec, upgrade};
use drydock_rollout::{AnswerSource, ClusterName, ClusterPreChecks, Finding, PreChecksMode};
use serde::Serialize;

use super::arguments::{Output, PreChecksArguments};
use super::hub::Hub;
use super::{fleet, table};

/// How many clusters a finding names in a table.
const NAMED: usize = 3;

/// Shows them.
///
/// # Errors
/// If the hub cannot be read, or the named cluster takes no part in the upgrade.
pub async fn run(hub: &Hub, arguments: &PreChecksArguments) -> anyhow::Result<()> {
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
    let found = read(hub, &upgrade).await?;
    let text = if let Some(name) = &arguments.cluster {
        let checks = found
            .get(name)
            .with_context(|| format!("cluster {name} takes no part in {}", arguments.upgrade.name))?;
        let shown = ClusterView::of(name, checks);
        table::for_scripts(&shown, arguments.output)?.unwrap_or_else(|| shown.text())
    } else {
        let shown = FleetView::of(&upgrade, &found);
        let is_wide = arguments.output == Output::Wide;
        table::for_scripts(&shown, arguments.output)?.unwrap_or_else(|| shown.text(is_wide))
    };
    table::print(&text)?;
    Ok(())
}

/// What every cluster of an upgrade has answered.
///
/// # Errors
/// If the hub cannot be read.
pub async fn read(
    hub: &Hub,
    upgrade: &ManagedClustersUpgrade,
) -> anyhow::Result<BTreeMap<ClusterName, ClusterPreChecks>> {
    let mut fleet = fleet::read(hub).await?;
    let key = upgrade::key(upgrade);
    fleet
        .look(&key, hub.now())
        .context("the upgrade was just read, and is not there")?;
    Ok(fleet.pre_checks(&key, hub.now()))
}

/// What the clusters of an upgrade have answered, together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetView {
    /// The upgrade.
    pub upgrade: String,
    /// Off, Report or Require.
    pub mode: &'static str,
    /// How many clusters have been asked.
    pub asked: usize,
    /// How many of them have answered.
    pub answered: usize,
    /// How many of them have findings that nobody has accepted.
    pub held: usize,
    /// What they have found, the worst first.
    pub findings: Vec<FleetFinding>,
    /// How many findings that nobody has accepted are not among these: a cluster sends its worst alone.
    pub not_listed: usize,
}

impl FleetView {
    /// Groups the findings of clusters.
    pub fn of(upgrade: &ManagedClustersUpgrade, found: &BTreeMap<ClusterName, ClusterPreChecks>) -> Self {
        let count = |is_so: fn(&ClusterPreChecks) -> bool| found.values().filter(|one| is_so(one)).count();
        Self {
            upgrade: upgrade::key(upgrade).to_string(),
            mode: mode(upgrade),
            asked: count(|one| one.asked),
            answered: count(|one| one.answer.is_some()),
            held: count(ClusterPreChecks::holds),
            findings: grouped(found),
            not_listed: found.values().map(ClusterPreChecks::unlisted).sum(),
        }
    }

    /// As a table.
    pub fn text(&self, wide: bool) -> String {
        let follows = match self.mode {
            "Require" => "such a cluster does not start",
            _ => "such a cluster starts nevertheless",
        };
        let mut text = format!(
            "{}: {} of {} clusters that are asked have answered (preChecks.mode {})\n",
            table::printable(&self.upgrade),
            self.answered,
            self.asked,
            self.mode
        );
        let _ = match self.held {
            0 => writeln!(text, "No cluster has a finding that is not accepted."),
            1 => writeln!(text, "1 cluster has findings that are not accepted: {follows}."),
            held => writeln!(
                text,
                "{held} clusters have findings that are not accepted: {follows}."
            ),
        };
        if self.findings.is_empty() {
            return text;
        }
        let mut header = vec!["LEVEL", "CLUSTERS", "HOLDS", "FINDING", "UUID"];
        if wide {
            header.extend(["INFORMER", "AMONG THEM"]);
        }
        let mut shown = table::plain(&header);
        for finding in &self.findings {
            let mut cells = vec![
                Cell::new(finding.level),
                Cell::new(finding.clusters.len()),
                Cell::new(finding.holds),
                Cell::new(table::printable(&finding.summary)),
                Cell::new(finding.uuid.as_deref().unwrap_or("-")),
            ];
            if wide {
                let first: Vec<&str> = finding.clusters.iter().take(NAMED).map(String::as_str).collect();
                cells.extend([
                    Cell::new(table::printable(&finding.informer)),
                    Cell::new(table::printable(&first.join(", "))),
                ]);
            }
            shown.add_row(cells);
        }
        let _ = write!(text, "\n{}", table::text(&shown));
        if self.not_listed > 0 {
            let _ = writeln!(
                text,
                "\nNot listed, for a cluster sends its worst findings alone: {} that nobody has accepted. Accept what is listed to see them, or \
                 see kubectl drydock cluster pre-checks on the clusters.",
                self.not_listed
            );
        }
        text
    }
}

fn mode(upgrade: &ManagedClustersUpgrade) -> &'static str {
    match parse_spec(upgrade).map(|spec| spec.pre_checks.mode) {
        Ok(PreChecksMode::Off) => "Off",
        Ok(PreChecksMode::Report) => "Report",
        Ok(PreChecksMode::Require) => "Require",
        Err(_) => "unknown: the spec is invalid",
    }
}

/// One finding of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct OneFinding {
    level: &'static str,
    summary: String,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    impact: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
    informer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    /// What its acceptance comes to; absent if nobody has accepted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<&'static str>,
    #[serde(skip)]
    why_ended: Option<&'static str>,
}

impl OneFinding {
    fn is_accepted(&self) -> bool {
        self.acceptance.is_some() && self.why_ended.is_none()
    }

    fn write(&self, text: &mut String) {
        let impact = match self.impact.as_str() {
            "" => String::new(),
            impact => format!(" ({})", table::printable(impact)),
        };
        let _ = writeln!(
            text,
            "\n{}{impact}: {}",
            self.level,
            table::printable(&self.summary)
        );
        for (name, value) in [
            ("Reported by:", self.informer.as_str()),
            ("Remedy:", &self.remedy),
            ("UUID:", self.uuid.as_deref().unwrap_or_default()),
            ("Acceptance:", self.why_ended.unwrap_or_default()),
        ] {
            if !value.is_empty() {
                let _ = writeln!(text, "  {name:16}{}", table::printable(value));
            }
        }
    }
}

/// What one cluster has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterView {
    cluster: String,
    asked: bool,
    /// Who has answered: `Agent`, `ClusterVersion`, or nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How many findings nobody has accepted, those included that are not listed.
    unaccepted: usize,
    holds: bool,
    findings: Vec<OneFinding>,
}

impl ClusterView {
    fn of(name: &ClusterName, checks: &ClusterPreChecks) -> Self {
        let answer = checks.answer.as_ref();
        let one = |finding: &Finding| OneFinding {
            level: finding.level.as_str(),
            summary: finding.summary.to_string(),
            impact: finding.impact.to_string(),
            remedy: finding.remedy.to_string(),
            informer: finding.informer.to_string(),
            uuid: finding.uuid.as_deref().map(str::to_owned),
            acceptance: finding.acceptance.as_str(),
            why_ended: finding.acceptance.why_ended(),
        };
        Self {
            cluster: name.to_string(),
            asked: checks.asked,
            answered_by: answer.map(|answer| match answer.source {
                AnswerSource::Agent { .. } => "Agent",
                AnswerSource::ClusterVersion | AnswerSource::AtTarget => "ClusterVersion",
            }),
            message: checks.trouble.as_deref().map(str::to_owned),
            unaccepted: checks.unaccepted(),
            holds: checks.holds(),
            findings: answer
                .into_iter()
                .flat_map(|answer| answer.findings.iter())
                .map(one)
                .collect(),
        }
    }

    /// In the words of `kubectl drydock cluster pre-checks`.
    fn text(&self) -> String {
        let said = match (self.asked, self.answered_by, self.unaccepted) {
            (false, ..) => {
                "it is not asked: it has started or ended, waits for something else, or preChecks.mode is Off"
                    .to_owned()
            }
            (true, None, _) => match &self.message {
                Some(why) => format!("it has not answered: {}", table::printable(why)),
                None => "it has not answered".to_owned(),
            },
            (true, Some(_), 0) if !self.holds => "nothing is left that has to be accepted".to_owned(),
            (true, Some(_), 0) => "not every informer has answered".to_owned(),
            (true, Some(_), 1) => "1 finding is not accepted".to_owned(),
            (true, Some(_), count) => format!("{count} findings are not accepted"),
        };
        let mut text = format!("{}: {said}\n", table::printable(&self.cluster));
        if self.answered_by == Some("ClusterVersion") {
            text.push_str("Without drydock-agent only ClusterVersion is read.\n");
        }
        for (title, is_accepted) in [("Not accepted", false), ("Accepted", true)] {
            let mut of_group = self
                .findings
                .iter()
                .filter(|found| found.is_accepted() == is_accepted)
                .peekable();
            if of_group.peek().is_some() {
                let _ = writeln!(text, "\n= {title} =");
            }
            for found in of_group {
                found.write(&mut text);
            }
        }
        let listed = self.findings.iter().filter(|found| !found.is_accepted()).count();
        if self.unaccepted > listed {
            let _ = writeln!(
                text,
                "\n{} more are not listed here: see kubectl drydock cluster pre-checks on the cluster",
                self.unaccepted - listed
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drydock_rollout::{FindingAcceptance, FindingLevel, PreCheckAnswer};

    fn finding(uuid: &str, level: FindingLevel, summary: &str, acceptance: FindingAcceptance) -> Finding {
        Finding {
            uuid: Some(uuid.into()),
            informer: "mco".into(),
            uid: None,
            level,
            summary: summary.into(),
            impact: "Update Stalled".into(),
            remedy: "unpause it".into(),
            acceptance,
        }
    }

    fn answered(findings: Vec<Finding>, unaccepted: usize) -> ClusterPreChecks {
        ClusterPreChecks {
            asked: true,
            answer: Some(PreCheckAnswer {
                source: AnswerSource::Agent {
                    collected_at: jiff::Timestamp::UNIX_EPOCH,
                    stops: unaccepted > 0,
                    unaccepted,
                },
                findings: findings.into(),
            }),
            trouble: None,
        }
    }

    fn fleet() -> BTreeMap<ClusterName, ClusterPreChecks> {
        let budget = |accepted| {
            finding(
                "b",
                FindingLevel::Warning,
                "budget monitoring/prometheus allows no eviction",
                accepted,
            )
        };
        let paused = finding(
            "p",
            FindingLevel::Error,
            "pool worker is paused\u{1b}[31m",
            FindingAcceptance::None,
        );
        BTreeMap::from([
            ("c1".into(), answered(vec![budget(FindingAcceptance::None)], 1)),
            (
                "c2".into(),
                answered(vec![budget(FindingAcceptance::Accepted)], 0),
            ),
            (
                "c3".into(),
                answered(vec![paused, budget(FindingAcceptance::None)], 7),
            ),
            (
                "c4".into(),
                ClusterPreChecks {
                    asked: true,
                    ..ClusterPreChecks::default()
                },
            ),
        ])
    }

    #[test]
    fn findings_are_grouped_over_the_fleet_the_worst_first() {
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "spring", "namespace": "hub"},
            "spec": {
                "clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}, "preChecks": {"mode": "Require"},
            },
        }))
        .unwrap();
        let shown = FleetView::of(&upgrade, &fleet());
        assert_eq!((shown.asked, shown.answered, shown.held), (4, 3, 2));
        let of = |finding: &FleetFinding| (finding.level, finding.clusters.len(), finding.holds);
        let grouped: Vec<_> = shown.findings.iter().map(of).collect();
        assert_eq!(grouped, [("Error", 1, 1), ("Warning", 3, 2)]);
        let text = shown.text(false);
        assert!(
            text.contains("2 clusters have findings that are not accepted: such a cluster does not start."),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn the_hub_accepts_by_the_rule_of_the_agent_and_calls_findings_as_it_does() {
        use drydock_api::insights::{Level, ResourceReference, Scope};
        use drydock_insights::{built_in::BuiltIn, identity, plan::acceptance::covers};
        let of_agent = |level: FindingLevel| Level::parse(level.as_str());
        for accepted in FindingLevel::ALL {
            for found in FindingLevel::ALL {
                let agents = covers(of_agent(accepted), of_agent(found));
                assert_eq!(accepted.covers(found), agents, "{accepted} {found}");
            }
        }
        let value = |name: &str, text: &str| serde_json::json!({"name": name, "fieldValue": {"type": "String", "string": text}});
        let question = r#"{"target":"4.14.12","asksAgent":false,"askedAt":"2026-01-05T08:00:00Z"}"#;
        let work = serde_json::json!({
            "metadata": {"name": "c1-pre-checks-0", "namespace": "c1", "annotations": {"drydock.dev/question": question}},
            "status": {"resourceStatus": {"manifests": [{
                "resourceMeta": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
                "statusFeedback": {"values": [
                    value("version", "4.14.9"), value("read-for-4.14.12", "version"), value("offered", "4.14.12"), value("failing", "True"),
                ]},
            }]}},
        });
        let work = serde_json::from_value(work).unwrap();
        let digest = drydock_objects::works::pre_checks::digest(&work).unwrap();
        let answer = digest.work.answer.clone().unwrap();
        let scope = Scope {
            resources: vec![ResourceReference {
                group: Some("config.openshift.io".to_owned()),
                kind: "ClusterVersion".to_owned(),
                namespace: None,
                name: "version".to_owned(),
            }],
            ..Scope::default()
        };
        let uuid = identity::uuid(&BuiltIn::ClusterVersion.name(), &scope, "failing");
        assert_eq!(answer.findings[0].uuid.as_deref(), Some(&*uuid));
    }

    #[test]
    fn an_acceptance_that_counts_no_more_is_said_with_its_finding() {
        let expired = finding("e", FindingLevel::Warning, "budget a", FindingAcceptance::Expired);
        let worse = finding(
            "w",
            FindingLevel::Error,
            "budget b",
            FindingAcceptance::LevelRaised,
        );
        let view = ClusterView::of(&"c1".into(), &answered(vec![expired, worse], 2));
        let text = view.text();
        assert!(!text.contains("= Accepted ="), "{text}");
        assert!(
            text.contains("  Acceptance:     accepted for a time that is over\n"),
            "{text}"
        );
        assert!(
            text.contains("  Acceptance:     worse than was accepted\n"),
            "{text}"
        );
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["findings"][0]["acceptance"], "Expired");
    }

    #[test]
    fn of_one_cluster_it_says_what_is_not_listed() {
        let fleet = fleet();
        let text = |name: &str| ClusterView::of(&name.into(), &fleet[&ClusterName::from(name)]).text();
        let third = text("c3");
        assert!(third.starts_with("c3: 7 findings are not accepted\n"), "{third}");
        assert!(third.contains("5 more are not listed here"), "{third}");
        assert!(
            third.contains(
                "\nWarning (Update Stalled): budget monitoring/prometheus allows no eviction\n  Reported by:    mco\n  Remedy:         unpause it\n  UUID:           b\n"
            ),
            "{third}"
        );
        assert!(text("c2").contains("= Accepted ="));
        assert_eq!(text("c4"), "c4: it has not answered\n");
    }
}
