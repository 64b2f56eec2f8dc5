//! The object in which accepted findings stand: one for each upgrade and target, to which people add.

use drydock_api::mcu::{
    ACCEPTED_RISKS_LIMIT, AcceptedRisk, ManagedClustersUpgrade, UpgradeRiskAcceptance,
    UpgradeRiskAcceptanceSpec,
};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt};
use sha2::{Digest, Sha256};

use crate::{EditError, MANAGER, hex};

/// How often a write is tried that somebody else's came before.
const TRIES: usize = 5;

/// What the same user had accepted before of what is accepted now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// It was accepted on all clusters, and now on some: that counts still.
    pub is_wider: bool,
    /// These count no more, or on fewer clusters, and said something else.
    pub replaced: Vec<AcceptedRisk>,
}

impl Before {
    /// What has been replaced, in words: its reason and its end. `None` if nothing was that said something else.
    pub fn replaced(&self) -> Option<String> {
        let one = |risk: &AcceptedRisk| {
            let level = risk.level.as_deref().unwrap_or_default();
            let until = risk.until.as_ref().map(|until| format!(", until {}", until.0));
            format!("up to {level}{}: {}", until.unwrap_or_default(), risk.reason)
        };
        let [first, more @ ..] = self.replaced.as_slice() else {
            return None;
        };
        let more = match more.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!("{}{more}", one(first)))
    }
}

/// One object for each upgrade and target, of a name that fits whatever these are, and that no two of them have.
pub(super) fn name(upgrade: &str, target: &str) -> String {
    let hash = hex(&Sha256::digest(format!("{upgrade} {target}")), 5);
    let begin: String = upgrade.chars().take(200).collect();
    format!("{}-{hash}", begin.trim_end_matches(['.', '-']))
}

/// Creates the object, or adds to it; again, if somebody else has changed it meanwhile. Gives back what the user had accepted before.
pub(super) async fn write(
    client: &Client,
    name: &str,
    upgrade: &ManagedClustersUpgrade,
    target: &str,
    risks: &[AcceptedRisk],
) -> Result<Before, EditError> {
    let namespace = upgrade.namespace().unwrap_or_default();
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(client.clone(), &namespace);
    let parameters = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let doing = format!("writing the UpgradeRiskAcceptance {namespace}/{name}");
    let refused = |source| EditError::Server {
        doing: doing.clone(),
        source,
    };
    for _ in 0..TRIES {
        let known = api.get_opt(name).await.map_err(refused)?;
        let mut before = Before::default();
        let written = match known {
            None => {
                let object = UpgradeRiskAcceptance {
                    metadata: ObjectMeta {
                        name: Some(name.to_owned()),
                        ..ObjectMeta::default()
                    },
                    status: None,
                    spec: UpgradeRiskAcceptanceSpec {
                        upgrade: upgrade.name_any(),
                        target: target.to_owned(),
                        accepted_risks: risks.to_vec(),
                    },
                };
                api.create(&parameters, &object).await
            }
            Some(object) if object.spec.upgrade != upgrade.name_any() || object.spec.target != target => {
                return Err(EditError::OfAnotherUpgrade {
                    name: format!("{namespace}/{name}"),
                    upgrade: object.spec.upgrade,
                    target: object.spec.target,
                });
            }
            Some(mut object) => {
                before = add(&mut object.spec.accepted_risks, risks)?;
                api.replace(name, &parameters, &object).await
            }
        };
        match written {
            Ok(_) => return Ok(before),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(EditError::Contended(doing))
}

/// Adds risks. What the same user has accepted before is replaced: on the same clusters, or on those of them that are named now. Gives back
/// what that was, and whether what was accepted on all clusters stays beside what is accepted on some.
fn add(all: &mut Vec<AcceptedRisk>, risks: &[AcceptedRisk]) -> Result<Before, EditError> {
    let mut before = Before::default();
    let is_same = |one: &AcceptedRisk, other: &AcceptedRisk| {
        let id = |risk: &AcceptedRisk| {
            let what = (risk.finding.clone(), risk.informer.clone(), risk.uid.clone());
            (what, risk.cluster_selector.clone(), risk.accepted_by.clone())
        };
        id(one) == id(other)
    };
    let says_alike = |one: &AcceptedRisk, other: &AcceptedRisk| {
        one.reason == other.reason && one.until == other.until && one.level == other.level
    };
    all.retain_mut(|one| {
        let known = one.clone();
        let mut is_kept = true;
        for risk in risks.iter().filter(|risk| is_same(&known, risk)) {
            let is_replaced = match (&mut one.clusters, &risk.clusters) {
                (None, None) => {
                    is_kept = false;
                    true
                }
                (Some(names), Some(anew)) => {
                    let many = names.len();
                    names.retain(|name| !anew.contains(name));
                    is_kept = !names.is_empty();
                    names.len() < many
                }
                (None, Some(_)) => {
                    before.is_wider = true;
                    false
                }
                (Some(_), None) => false,
            };
            if is_replaced && !says_alike(&known, risk) && !before.replaced.contains(&known) {
                before.replaced.push(known.clone());
            }
        }
        is_kept
    });
    all.extend(risks.iter().cloned());
    if all.len() > ACCEPTED_RISKS_LIMIT {
        return Err(EditError::TooManyRisks);
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_same_user_has_accepted_for_the_same_clusters_is_replaced() {
        let risk = |finding: &str, who: &str, cluster: Option<&str>, reason: &str| AcceptedRisk {
            finding: Some(finding.to_owned()),
            accepted_by: who.to_owned(),
            clusters: cluster.map(|cluster| vec![cluster.to_owned()]),
            reason: reason.to_owned(),
            ..AcceptedRisk::default()
        };
        let mut all = vec![risk("a", "ann", None, "old"), risk("a", "bob", None, "his")];
        let anew = [risk("a", "ann", None, "new"), risk("a", "ann", Some("c1"), "one")];
        let before = add(&mut all, &anew).unwrap();
        assert_eq!(before.replaced().as_deref(), Some("up to : old"));
        let reasons: Vec<&str> = all.iter().map(|risk| risk.reason.as_str()).collect();
        assert_eq!(reasons, ["his", "new", "one"]);
        let before = add(&mut all, &[risk("a", "ann", Some("c1"), "narrower")]).unwrap();
        assert!(before.is_wider);
        assert_eq!(before.replaced().as_deref(), Some("up to : one"));
        let alike = add(&mut all, &[risk("a", "ann", Some("c1"), "narrower")]).unwrap();
        assert_eq!(alike.replaced(), None);
        let before = add(&mut all, &[risk("b", "ann", Some("c1"), "other")]).unwrap();
        assert_eq!(before, Before::default());
        let many: Vec<_> = (0..62)
            .map(|number| risk(&number.to_string(), "ann", None, "x"))
            .collect();
        assert!(add(&mut all, &many).is_err());
    }

    #[test]
    fn the_name_fits_any_target() {
        let image = "quay.io/openshift/release@sha256:0123";
        for (upgrade, target) in [
            ("spring", "4.14.12+b"),
            ("spring", image),
            (&*"a.".repeat(126), "4.14.12"),
        ] {
            let named = name(upgrade, target);
            assert!(named.len() <= 253 && !named.contains(['@', '/', '+']), "{named}");
        }
        assert_ne!(name("a", "4.14.12"), name("a", "4.14.13"));
        let long = |end: &str| name(&format!("{}{end}", "x".repeat(200)), "4.14.12");
        assert_ne!(long("-prod"), long("-test"));
    }
}
