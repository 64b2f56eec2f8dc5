//! What a forecast is based on, in words.

use std::fmt;

use drydock_rollout::Stage;

use super::durations::ENOUGH;
use super::past::Stream;

/// What a forecast is based on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// Upgrades on record of each stream that the rollout has.
    pub recorded: Vec<(Stream, usize)>,
    /// Upgrades on record whose stream is not known.
    pub unknown: usize,
    /// Upgrades of clusters of the rollout itself that are done.
    pub of_this_rollout: usize,
    /// Published figures count as well: too few upgrades are on record.
    pub published: bool,
    /// How many durations are on record of each other stage that the rollout has.
    pub stages: Vec<(Stage, usize)>,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self
            .recorded
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(stream, count)| format!("{count} {stream} {} of this fleet", upgrades(*count)))
            .collect();
        if self.unknown > 0 {
            parts.push(format!(
                "{} {} of this fleet",
                self.unknown,
                upgrades(self.unknown)
            ));
        }
        if self.of_this_rollout > 0 {
            parts.push(format!("{} of this rollout", self.of_this_rollout));
        }
        if self.published {
            parts.push("published durations of OpenShift updates".to_owned());
        }
        for (stage, count) in &self.stages {
            let stage = match stage {
                Stage::Platform => continue,
                Stage::PreAction => "pre-upgrade actions",
                Stage::Operators => "operator upgrades",
                Stage::PostAction => "post-upgrade actions",
            };
            parts.push(match count {
                0 => format!("assumed durations of {stage}"),
                count if *count < ENOUGH => format!("{count} {stage} and assumed durations of others"),
                count => format!("{count} {stage}"),
            });
        }
        f.write_str(&parts.join(", "))
    }
}

fn upgrades(count: usize) -> &'static str {
    if count == 1 { "upgrade" } else { "upgrades" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_assumed_is_said_of_each_stage() {
        let basis = Basis {
            recorded: vec![(Stream::Y, 1), (Stream::Z, 214)],
            stages: vec![
                (Stage::PreAction, 0),
                (Stage::Operators, 7),
                (Stage::PostAction, 20),
            ],
            published: true,
            ..Basis::default()
        };
        assert_eq!(
            basis.to_string(),
            "1 y-stream upgrade of this fleet, 214 z-stream upgrades of this fleet, published durations of OpenShift updates, \
             assumed durations of pre-upgrade actions, 7 operator upgrades and assumed durations of others, 20 post-upgrade actions"
        );
    }
}
