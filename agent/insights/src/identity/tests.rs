use drydock_api::insights::{PoolReference, ResourceReference, ScopeType};
use proptest::prelude::*;

use super::*;

fn scope() -> impl Strategy<Value = Scope> {
    let word = "[a:/,%]{1,3}";
    let pool = (word, prop::option::of(word), word).prop_map(|(kind, namespace, name)| PoolReference {
        kind,
        namespace,
        name,
    });
    let resource = (prop::option::of(word), word, word).prop_map(|(group, kind, name)| ResourceReference {
        group,
        kind,
        namespace: None,
        name,
    });
    let (pools, resources) = (
        prop::collection::btree_set(pool, 0..3),
        prop::collection::btree_set(resource, 0..3),
    );
    (any::<bool>(), pools, resources).prop_map(|(of_pool, pools, resources)| Scope {
        scope_type: if of_pool {
            ScopeType::WorkerPool
        } else {
            ScopeType::ControlPlane
        },
        worker_pool: pools.into_iter().collect(),
        resources: resources.into_iter().collect(),
    })
}

#[test]
fn the_full_identity_is_readable() {
    let scope = Scope {
        scope_type: ScopeType::WorkerPool,
        worker_pool: vec![PoolReference {
            kind: "MachineSet".to_owned(),
            namespace: Some("m".to_owned()),
            name: "w".to_owned(),
        }],
        resources: Vec::new(),
    };
    let name = InformerName::parse("mco").unwrap();
    assert_eq!(
        canonical(&name, &scope, "drain"),
        "mco/WorkerPool/MachineSet:m:w//drain"
    );
    assert_eq!(uuid(&name, &scope, "drain").len(), 32);
    let other = InformerName::parse("other").unwrap();
    assert_ne!(uuid(&name, &scope, "drain"), uuid(&other, &scope, "drain"));
}

proptest! {
    #[test]
    fn two_findings_have_two_identities(one in scope(), other in scope(), a in "[a/]{1,2}", b in "[a/]{1,2}") {
        let name = InformerName::parse("mco").unwrap();
        let is_same = one == other && a == b;
        prop_assert_eq!(canonical(&name, &one, &a) == canonical(&name, &other, &b), is_same);
    }
}
