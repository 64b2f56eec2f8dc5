//! How a finding of the agent's own is put together.

use drydock_api::insights::{Impact, ImpactType, Level, Remediation, ResourceReference, Scope};
use jiff::{SignedDuration, Timestamp, TimestampRound, Unit};

use crate::finding::Finding;

/// The most characters of a headline and of a description.
const LONGEST: (usize, usize) = (256, 4096);
/// How exactly it is said when a finding was looked up: a status is not written anew for every look.
const PRECISION: SignedDuration = SignedDuration::from_mins(5);

/// A finding in the making.
pub(super) struct Draft {
    pub uid: &'static str,
    pub level: Level,
    pub impact_type: ImpactType,
    pub summary: String,
    pub description: String,
    /// What to do.
    pub action: String,
    /// How to see whether it still is so.
    pub verify: String,
    /// Where to read about it.
    pub reference: Option<String>,
    pub resources: Vec<ResourceReference>,
}

impl Draft {
    pub fn finding(self, now: Timestamp) -> Finding {
        let (summary, description) = LONGEST;
        let cut = |text: &str, longest: usize| text.chars().take(longest).collect::<String>();
        let mut resources = self.resources;
        resources.sort();
        Finding {
            uid: self.uid.to_owned(),
            acquired: rounded(now),
            scope: Scope {
                resources,
                ..Scope::default()
            },
            impact: Impact {
                level: self.level,
                impact_type: self.impact_type,
                summary: cut(&self.summary, summary),
                description: Some(cut(&self.description, description)).filter(|text| !text.is_empty()),
            },
            remediation: Some(Remediation {
                action: Some(self.action),
                verify: Some(self.verify),
                reference: self.reference.filter(|reference| is_address(reference)),
                ..Remediation::default()
            }),
        }
    }
}

/// Only addresses that a browser opens without asking a program, and that the definition takes.
fn is_address(reference: &str) -> bool {
    const LONGEST: usize = 512;
    let is_web = reference.starts_with("https://") || reference.starts_with("http://");
    is_web && reference.len() <= LONGEST && !reference.contains(char::is_whitespace)
}

fn rounded(now: Timestamp) -> Timestamp {
    let minutes = PRECISION.as_mins();
    let round = TimestampRound::new()
        .smallest(Unit::Minute)
        .increment(minutes)
        .mode(jiff::RoundMode::Trunc);
    now.round(round).unwrap_or(now)
}

/// An object without a namespace.
pub(super) fn object(group: &str, kind: &str, name: &str) -> ResourceReference {
    ResourceReference {
        group: Some(group.to_owned()).filter(|group| !group.is_empty()),
        kind: kind.to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}
