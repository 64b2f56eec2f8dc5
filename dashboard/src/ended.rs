//! How an upgrade has come along up to now.

use drydock_objects::ClusterDetails;
use jiff::Timestamp;
use serde::Serialize;

/// How many points a curve of what has ended has at most, beside its first and last one.
const MOST_POINTS: usize = 200;

/// How many clusters had ended at a moment, complete or failed: as a forecast counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EndedPoint {
    at: i64,
    ended: usize,
}

/// How many clusters had ended when, since the rollout began. What had ended before it, or was never started, counts from its begin.
pub(crate) fn ended(clusters: &[ClusterDetails], since: Option<Timestamp>) -> Vec<EndedPoint> {
    let Some(since) = since else {
        return Vec::new();
    };
    let ended = clusters.iter().filter(|cluster| cluster.state.finished());
    let mut ends: Vec<Timestamp> = ended
        .map(|cluster| cluster.ended_at.unwrap_or(since).max(since))
        .collect();
    ends.sort_unstable();
    let before = ends.partition_point(|end| *end <= since);
    let begin = EndedPoint {
        at: since.as_second(),
        ended: before,
    };
    let after = ends.iter().enumerate().skip(before);
    let step = (ends.len() - before).div_ceil(MOST_POINTS).max(1);
    let last = ends.len().saturating_sub(1);
    let points = after.filter(|(index, _)| (index - before + 1) % step == 0 || *index == last);
    let points = points.map(|(index, end)| EndedPoint {
        at: end.as_second(),
        ended: index + 1,
    });
    std::iter::once(begin).chain(points).collect()
}

#[cfg(test)]
mod tests {
    use drydock_rollout::ClusterState;

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
            afterwards: None,
        }
    }

    fn points(clusters: &[ClusterDetails]) -> Vec<(i64, usize)> {
        let points = ended(clusters, Timestamp::from_second(100).ok());
        points.iter().map(|point| (point.at, point.ended)).collect()
    }

    #[test]
    fn what_had_ended_before_counts_from_the_begin() {
        use ClusterState::{Complete, Failed, NotStarted};
        let clusters = [
            cluster(Complete, Some(300)),
            cluster(Complete, None),
            cluster(Complete, Some(50)),
            cluster(Failed, Some(150)),
            cluster(NotStarted, None),
            cluster(Complete, Some(200)),
        ];
        assert_eq!(points(&clusters), [(100, 2), (150, 3), (200, 4), (300, 5)]);
        assert_eq!(points(&[]), [(100, 0)]);
        assert!(ended(&clusters, None).is_empty());
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
