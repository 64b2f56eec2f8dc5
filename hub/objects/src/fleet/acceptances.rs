//! The risks that somebody has accepted, and where they have ended: clusters say so, and their acceptance's status keeps it, also when the
//! plan of a cluster is gone that said it.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::mcu::ENDED_CLUSTERS_LIMIT;
use drydock_rollout::{ClusterName, EndedOn, RiskAcceptance, UpgradeKey};

use super::{Change, Fleet};
use crate::acceptance::{AcceptanceDigest, Ending, status_of};

impl Fleet {
    /// An object that accepts risks is so, or is gone.
    pub fn set_acceptance(
        &mut self,
        namespace: &str,
        name: &str,
        digest: Option<AcceptanceDigest>,
    ) -> Change {
        let id = super::feed::page_id(namespace, name);
        if self.acceptances.get(&id) == digest.as_ref() {
            return Change::Nothing;
        }
        let mut concerned: Vec<UpgradeKey> = digest.iter().map(|digest| digest.upgrade.clone()).collect();
        let before = match digest {
            Some(digest) => self.acceptances.insert(id, digest),
            None => self.acceptances.remove(&id),
        };
        concerned.extend(before.map(|digest| digest.upgrade));
        let mut change = Change::Nothing;
        for key in concerned {
            if let Some(followed) = self.upgrades.get_mut(&key) {
                followed.is_stale = true;
                change = change.and(Change::Upgrades([key].into()));
            }
        }
        change
    }

    /// The risks that are accepted for the clusters of an upgrade, in the order of the objects' names. What several objects say alike has
    /// ended where one of them says so.
    pub(super) fn acceptances_of(&self, upgrade: &UpgradeKey) -> Arc<[RiskAcceptance]> {
        let own = self
            .acceptances
            .values()
            .filter(|digest| digest.upgrade == *upgrade);
        let mut risks: Vec<RiskAcceptance> = own.flat_map(|digest| digest.risks.iter().cloned()).collect();
        let mut ended: BTreeMap<Arc<str>, EndedOn> = BTreeMap::new();
        for risk in risks.iter().filter(|risk| !risk.ended.is_nowhere()) {
            let known = ended.entry(Arc::clone(&risk.id)).or_default();
            *known = std::mem::take(known).or(&risk.ended);
        }
        for risk in &mut risks {
            if let Some(ended) = ended.get(&risk.id) {
                risk.ended = ended.clone();
            }
        }
        risks.into()
    }

    /// The acceptances for an upgrade whose status lacks that they have ended on clusters, with the status as it should be.
    pub fn endings(&self, upgrade: &UpgradeKey) -> Vec<Ending> {
        let own = |digest: &AcceptanceDigest| digest.upgrade == *upgrade && !digest.risks.is_empty();
        if !self.acceptances.values().any(own) {
            return Vec::new();
        }
        let followed = self.upgrades.get(upgrade);
        let rows = followed.into_iter().flat_map(|followed| followed.decider.rows());
        let mut said = Said::new();
        for (name, row) in rows {
            for id in row.pre_checks.iter().flat_map(|work| work.ended.iter()) {
                said.entry(id).or_default().push(name);
            }
        }
        let of_object = |(id, digest): (&Arc<(String, String)>, &AcceptanceDigest)| {
            let ended: Vec<EndedOn> = digest.risks.iter().map(|risk| ended(risk, &said)).collect();
            let is_same = digest.risks.iter().map(|risk| &risk.ended).eq(&ended);
            (!is_same).then(|| Ending {
                namespace: id.0.clone(),
                name: id.1.clone(),
                version: digest.version.clone(),
                status: status_of(&digest.risks, &ended),
            })
        };
        let own = self.acceptances.iter().filter(|(_, digest)| own(digest));
        own.filter_map(of_object).collect()
    }
}

/// The clusters that say of a risk, by its id, that it has ended there.
type Said<'a> = BTreeMap<&'a str, Vec<&'a ClusterName>>;

/// Where a risk has ended, with what clusters say.
fn ended(risk: &RiskAcceptance, said: &Said<'_>) -> EndedOn {
    let by = said.get(&*risk.id).into_iter().flatten();
    by.fold(risk.ended.clone(), |ended, cluster| {
        ended.and(cluster, ENDED_CLUSTERS_LIMIT)
    })
}
