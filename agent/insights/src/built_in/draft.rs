//! How a finding of the agent's own is put together.

use drydock_api::insights::{Impact, ImpactType, Level, Remediation, ResourceReference, Scope};
use jiff::{SignedDuration, Timestamp, TimestampRound, Unit};

use crate::finding::Finding;
use crate::identity;

/// The most characters of a headline, of a description, and of what to do.
const LONGEST: (usize, usize, usize) = (256, 4096, 1024);
/// The most characters of an object's namespace and of its name, as the definition takes them.
const LONGEST_NAMES: (usize, usize) = (63, 253);
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
        let (summary, description, action) = LONGEST;
        let cut = |text: &str, longest: usize| text.chars().take(longest).collect::<String>();
        let mut resources: Vec<_> = self.resources.into_iter().map(bounded).collect();
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
                action: Some(cut(&self.action, action)),
                verify: Some(cut(&self.verify, action)),
                reference: self.reference.filter(|reference| is_address(reference)),
                ..Remediation::default()
            }),
        }
    }
}

/// An object whose names fit in. Labels of alerts may say anything; a digest of all keeps those apart that are cut off.
fn bounded(resource: ResourceReference) -> ResourceReference {
    let (namespace, name) = LONGEST_NAMES;
    ResourceReference {
        namespace: resource.namespace.map(|text| shortened(text, namespace)),
        name: Some(shortened(resource.name, name))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "unnamed".to_owned()),
        ..resource
    }
}

fn shortened(text: String, longest: usize) -> String {
    const DIGEST: usize = 16;
    if text.chars().count() <= longest {
        return text;
    }
    let kept: String = text.chars().take(longest - DIGEST - 1).collect();
    let digest: String = identity::digest(&text).chars().take(DIGEST).collect();
    format!("{kept}-{digest}")
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
