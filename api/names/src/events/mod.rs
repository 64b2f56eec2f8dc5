//! All Events that Drydock writes: the page of Events is made of this, and nothing publishes another reason.

mod agent;
mod hub;
mod insights;
mod schedule;

/// Whether somebody should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As wanted.
    Normal,
    /// Somebody should look.
    Warning,
    /// The one or the other.
    Either,
}

/// An Event, as it is documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documented {
    /// Its reason.
    pub reason: &'static str,
    /// The kinds of the objects that it is about.
    pub about: &'static str,
    /// Its type.
    pub severity: Severity,
    /// When it is written, in Markdown; links are those of a page in `docs/reference`.
    pub when: &'static str,
    /// What to do about it, in Markdown.
    pub remedy: &'static str,
}

const fn documented(
    reason: &'static str,
    about: &'static str,
    severity: Severity,
    when: &'static str,
    remedy: &'static str,
) -> Documented {
    Documented {
        reason,
        about,
        severity,
        when,
        remedy,
    }
}

/// The Events, by who writes them.
pub const SECTIONS: [(&str, &[Documented]); 4] = [
    ("The hub", hub::EVENTS),
    ("Upgrades of the agent", agent::EVENTS),
    ("Maintenance schedules", schedule::EVENTS),
    ("Update insights", insights::EVENTS),
];

/// Whether an Event of this reason is documented.
pub fn is_documented(reason: &str) -> bool {
    let mut events = SECTIONS.iter().flat_map(|(_, events)| *events);
    events.any(|event| event.reason == reason)
}
