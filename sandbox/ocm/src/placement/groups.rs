//! Decision groups, and their pages of at most 100 clusters.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    filter,
    observed::{CandidateCluster, Placement},
    schedule::SchedulingError,
};

/// The clusters that one PlacementDecision holds at most.
pub const PAGE_SIZE: usize = 100;

/// A decision group: clusters sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name, empty for the unnamed ones.
    pub name: String,
    /// Its members.
    pub clusters: Vec<String>,
}

/// Splits the chosen clusters: the predefined groups in their order, then the rest. There is always one group.
pub fn divide(placement: &Placement, chosen: &[&CandidateCluster]) -> Result<Vec<Group>, SchedulingError> {
    let length = group_length(&placement.clusters_per_group, chosen.len())?;
    let mut rest: BTreeSet<&str> = chosen.iter().map(|cluster| cluster.name.as_str()).collect();
    let mut groups = Vec::new();
    for group in &placement.groups {
        let selector = group
            .selector
            .as_ref()
            .map_err(|error| SchedulingError::misconfigured("", error.to_string()))?;
        let members: BTreeSet<&str> = chosen
            .iter()
            .filter(|cluster| rest.contains(cluster.name.as_str()) && filter::selects(selector, cluster))
            .map(|cluster| cluster.name.as_str())
            .collect();
        rest.retain(|name| !members.contains(name));
        push_chunks(&mut groups, &group.name, members, length);
    }
    push_chunks(&mut groups, "", rest, length);
    if groups.is_empty() {
        groups.push(Group::default());
    }
    Ok(groups)
}

fn push_chunks(groups: &mut Vec<Group>, name: &str, members: BTreeSet<&str>, length: usize) {
    let members: Vec<&str> = members.into_iter().collect();
    groups.extend(members.chunks(length.max(1)).map(|chunk| Group {
        name: name.to_owned(),
        clusters: chunk.iter().map(|&cluster| cluster.to_owned()).collect(),
    }));
}

/// A number, or a percentage of the chosen clusters rounded up; out of range means all of them.
fn group_length(setting: &Value, total: usize) -> Result<usize, SchedulingError> {
    let length = match setting {
        Value::Number(number) => number.as_i64().unwrap_or_default(),
        Value::String(text) => percentage(text)
            .map(|percent| (percent / 100.0 * total as f64).ceil() as i64)
            .ok_or_else(|| {
                SchedulingError::misconfigured("", format!("{text} invalid type: string is not a percentage"))
            })?,
        _ => total as i64,
    };
    Ok(usize::try_from(length)
        .ok()
        .filter(|length| (1..=total).contains(length))
        .unwrap_or(total))
}

fn percentage(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_length_of_a_group_is_rounded_up_and_never_out_of_range() {
        let cases = [
            (json!(null), 10, 10),
            (json!("100%"), 10, 10),
            (json!("33%"), 10, 4),
            (json!("33.3%"), 10, 4),
            (json!("1%"), 10, 1),
            (json!(3), 10, 3),
            (json!(0), 10, 10),
            (json!(-1), 10, 10),
            (json!(11), 10, 10),
            (json!("0%"), 10, 10),
        ];
        for (setting, total, expected) in cases {
            assert_eq!(group_length(&setting, total).unwrap(), expected, "{setting}");
        }
        assert!(group_length(&json!("many"), 10).is_err());
    }
}
