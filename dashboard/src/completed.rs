//! How an upgrade has come along up to now.

use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;
use jiff::Timestamp;
use serde::Serialize;

/// How many points a curve of what is complete has at most, beside its first and last one.
const MOST_POINTS: usize = 200;

/// How many clusters were complete at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CompletedPoint {
    at: i64,
    complete: usize,
}

/// How many clusters were complete when, since the rollout began. What was complete before it, or was never started, counts from its begin.
pub(crate) fn completed(clusters: &[ClusterDetails], since: Option<Timestamp>) -> Vec<CompletedPoint> {
    let Some(since) = since else {
        return Vec::new();
    };
    let complete = clusters
        .iter()
        .filter(|cluster| cluster.state == ClusterState::Complete);
    let mut ends: Vec<Timestamp> = complete
        .map(|cluster| cluster.ended_at.unwrap_or(since).max(since))
        .collect();
    ends.sort_unstable();
    let before = ends.partition_point(|end| *end <= since);
    let begin = CompletedPoint {
        at: since.as_second(),
        complete: before,
    };
    let after = ends.iter().enumerate().skip(before);
    let step = (ends.len() - before).div_ceil(MOST_POINTS).max(1);
    let last = ends.len().saturating_sub(1);
    let points = after.filter(|(index, _)| (index - before + 1) % step == 0 || *index == last);
    let points = points.map(|(index, end)| CompletedPoint {
        at: end.as_second(),
        complete: index + 1,
    });
    std::iter::once(begin).chain(points).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(state: ClusterState, ended: Option<i64>) -> ClusterDetails {
        ClusterDetails {
            name: "c".to_owned(),
            canary: false,
            selected: true,
            state,
            reason: String::new(),
            message: String::new(),
            version: None,
            since: None,
            started_at: None,
            ended_at: ended.map(|at| Timestamp::from_second(at).unwrap()),
            deadline: None,
            opens_at: None,
            is_blocked: false,
        }
    }

    fn points(clusters: &[ClusterDetails]) -> Vec<(i64, usize)> {
        let points = completed(clusters, Timestamp::from_second(100).ok());
        points.iter().map(|point| (point.at, point.complete)).collect()
    }

    #[test]
    fn what_was_complete_before_counts_from_the_begin() {
        use ClusterState::{Complete, Failed, NotStarted};
        let clusters = [
            cluster(Complete, Some(300)),
            cluster(Complete, None),
            cluster(Complete, Some(50)),
            cluster(Failed, Some(150)),
            cluster(NotStarted, None),
            cluster(Complete, Some(200)),
        ];
        assert_eq!(points(&clusters), [(100, 2), (200, 3), (300, 4)]);
        assert_eq!(points(&[]), [(100, 0)]);
        assert!(completed(&clusters, None).is_empty());
    }

    #[test]
    fn a_large_fleet_has_no_more_points_than_a_chart_shows() {
        let clusters: Vec<_> = (0..10_000)
            .map(|number| cluster(ClusterState::Complete, Some(101 + number)))
            .collect();
        let points = points(&clusters);
        assert!(points.len() <= MOST_POINTS + 2, "{}", points.len());
        assert_eq!(points.last(), Some(&(10_100, 10_000)));
    }
}
