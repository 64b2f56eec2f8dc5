//! The accepted risks of a rollout's target, by where they count: everybody who may accept adds to them, and each cluster looks only at its
//! own.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_names::ClusterName;

use crate::{ClusterFacts, PreCheckAsk, RiskAcceptance};

/// What is looked at for one cluster: this many that name it, and as many that name none. Of those that are about it
/// [`PreCheckAsk::MOST_ACCEPTED`](crate::PreCheckAsk::MOST_ACCEPTED) count.
pub(in crate::assess) const MOST_LOOKED_AT: usize = 512;

/// Where to find the risks that are about a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AcceptedRisks {
    all: Arc<[RiskAcceptance]>,
    /// Those that name no cluster: what tells whether they are about one is its labels.
    unnamed: Places,
    by_cluster: BTreeMap<ClusterName, Places>,
}

/// Places in the list of all, in its order, and how many are left out.
#[derive(Clone, Debug, Default, PartialEq)]
struct Places {
    kept: Vec<u32>,
    left_out: usize,
}

impl Places {
    fn add(&mut self, place: u32) {
        if self.kept.len() < MOST_LOOKED_AT {
            self.kept.push(place);
        } else {
            self.left_out += 1;
        }
    }
}

impl AcceptedRisks {
    /// Those of a target.
    pub fn of(all: &Arc<[RiskAcceptance]>, target: Option<&str>) -> Self {
        let mut accepted = Self {
            all: Arc::clone(all),
            ..Self::default()
        };
        let of_target = |risk: &RiskAcceptance| target == Some(&*risk.target);
        for (risk, place) in all.iter().zip(0..).filter(|(risk, _)| of_target(risk)) {
            match &risk.clusters {
                None => accepted.unnamed.add(place),
                Some(names) => names.iter().for_each(|name| {
                    let of_cluster = accepted.by_cluster.entry(name.clone()).or_default();
                    of_cluster.add(place);
                }),
            }
        }
        accepted
    }

    /// The risks that are accepted on a cluster, in the order of the list, and how many nobody has looked at. What several entries say alike
    /// is there once, for as long as any of them counts.
    pub fn about(
        &self,
        cluster: &ClusterName,
        facts: Option<&ClusterFacts>,
    ) -> (Vec<&RiskAcceptance>, usize) {
        let named = self.by_cluster.get(cluster);
        let mut places: Vec<u32> = self.unnamed.kept.clone();
        places.extend(named.iter().flat_map(|named| &named.kept));
        places.sort_unstable();
        let risks = places.iter().filter_map(|place| self.all.get(*place as usize));
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let mut about: Vec<&RiskAcceptance> = Vec::new();
        for risk in risks.filter(|risk| risk.is_about(cluster, facts)) {
            let place = *known.entry(&*risk.id).or_insert(about.len());
            match about.get_mut(place) {
                Some(other) if risk.outlasts(other) => *other = risk,
                Some(_) => {}
                None => about.push(risk),
            }
        }
        let left_out = self.unnamed.left_out + named.map_or(0, |named| named.left_out);
        (about, left_out)
    }
}

/// As many risks as count on a cluster. Of too many those are first that have not ended, then those that name the cluster, then those that
/// name labels: who accepts for all of the fleet takes no place from who means this cluster.
pub(super) fn those_that_count(
    mut risks: Vec<&RiskAcceptance>,
    counts: impl Fn(&RiskAcceptance) -> bool,
) -> Vec<&RiskAcceptance> {
    if risks.len() > PreCheckAsk::MOST_ACCEPTED {
        risks.sort_by_key(|risk| (!counts(risk), risk.clusters.is_none(), risk.selector.is_none()));
        risks.truncate(PreCheckAsk::MOST_ACCEPTED);
    }
    risks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;

    use super::*;
    use crate::{AcceptedFinding, EndedOn, FindingLevel, UpgradeKey};

    fn risk(uuid: usize, target: &str, clusters: &[&str]) -> RiskAcceptance {
        let clusters: BTreeSet<_> = clusters.iter().map(|name| ClusterName::from(*name)).collect();
        RiskAcceptance {
            target: target.into(),
            id: Arc::default(),
            ended: EndedOn::default(),
            finding: AcceptedFinding::Uuid(uuid.to_string().into()),
            clusters: Some(clusters).filter(|clusters| !clusters.is_empty()),
            selector: None,
            level: FindingLevel::Error,
            accepted_by: "ann".into(),
            reason: "".into(),
            accepted_at: None,
            until: None,
        }
        .named(&UpgradeKey::new("hub", "spring"))
    }

    fn about(all: Vec<RiskAcceptance>, cluster: &str) -> (Vec<String>, usize) {
        let all: Arc<[RiskAcceptance]> = all.into();
        let accepted = AcceptedRisks::of(&all, Some("4"));
        let (risks, left_out) = accepted.about(&cluster.into(), None);
        let uuids = risks.iter().map(|risk| match &risk.finding {
            AcceptedFinding::Uuid(uuid) => uuid.to_string(),
            AcceptedFinding::Named { .. } => String::new(),
        });
        (uuids.collect(), left_out)
    }

    #[test]
    fn each_cluster_has_what_names_it_and_what_names_none_in_the_order_of_the_list() {
        let all = || {
            vec![
                risk(1, "4", &["b", "c"]),
                risk(2, "4", &[]),
                risk(3, "5", &[]),
                risk(4, "4", &["a"]),
                // Who says the same of other clusters says it once on each.
                risk(1, "4", &["a", "c"]),
            ]
        };
        for (cluster, expected) in [
            ("a", vec!["2", "4", "1"]),
            ("b", vec!["1", "2"]),
            ("c", vec!["1", "2"]),
            ("d", vec!["2"]),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(about(all(), cluster), (expected, 0), "{cluster}");
        }
    }

    /// Who renews an acceptance by another object accepts it until that is over, in whichever order they are listed.
    #[test]
    fn of_what_several_say_alike_the_one_counts_that_lasts_longest() {
        let until = |seconds: Option<i64>| RiskAcceptance {
            until: seconds.map(|seconds| Timestamp::from_second(seconds).unwrap()),
            ..risk(1, "4", &[])
        };
        for (all, expected) in [
            ([Some(10), None], None),
            ([None, Some(10)], None),
            ([Some(10), Some(20)], Some(20)),
            ([Some(20), Some(10)], Some(20)),
        ] {
            let all: Arc<[RiskAcceptance]> = all.into_iter().map(until).collect();
            let accepted = AcceptedRisks::of(&all, Some("4"));
            let (about, _) = accepted.about(&"a".into(), None);
            let found = about.iter().map(|risk| risk.until.map(Timestamp::as_second));
            assert_eq!(found.collect::<Vec<_>>(), [expected]);
        }
    }

    #[test]
    fn who_accepts_for_all_takes_no_place_from_who_means_the_cluster() {
        let most = PreCheckAsk::MOST_ACCEPTED;
        let of_all: Vec<_> = (0..most + 9).map(|number| risk(number, "4", &[])).collect();
        let (named, ended) = (risk(1000, "4", &["a"]), risk(1001, "4", &["a"]));
        let risks: Vec<_> = [&ended].into_iter().chain(&of_all).chain([&named]).collect();
        let counting = those_that_count(risks, |risk| *risk != ended);
        assert_eq!((counting.len(), counting[0]), (most, &named));
        assert!(counting.iter().all(|risk| **risk != ended));
        let few = vec![&ended, &named];
        assert_eq!(those_that_count(few.clone(), |_| false), few);
    }

    /// Who names other clusters, however often, takes nothing from a cluster.
    #[test]
    fn what_is_beyond_the_bound_is_counted_and_not_looked_at() {
        let many = MOST_LOOKED_AT + 7;
        let of_others = (0..many).map(|number| risk(number, "4", &["a"]));
        let own = || risk(many, "4", &["b"]);
        let (uuids, left_out) = about(of_others.clone().chain([own()]).collect(), "b");
        assert_eq!((uuids, left_out), (vec![many.to_string()], 0));
        let of_all = (0..many).map(|number| risk(number, "4", &[]));
        let (uuids, left_out) = about(of_all.chain(of_others).chain([own()]).collect(), "b");
        assert_eq!((uuids.len(), left_out), (MOST_LOOKED_AT + 1, 7));
    }
}
