//! ReadOnDemand for tests: a cluster on 4.14.9 that is asked to go to 4.14.12, which it is offered.

use std::collections::BTreeMap;

use drydock_api::lock::LockKey;
use drydock_api::upgradeconfig::{Desired, UpgradeConfigSpec, UpgradeType};
use jiff::Timestamp;

use crate::facts::{
    ActiveConfiguration, Facts, HistoryEntry, Observation, ObservedCluster, Origin, ReadOnDemand, ReleaseRef,
    Workers,
};

/// When the tests' upgrade may start.
pub(crate) const START: Timestamp = Timestamp::constant(1_767_600_000, 0);

pub(crate) fn observation() -> Observation {
    let release = |version: &str| ReleaseRef {
        version: version.to_owned(),
        image: format!("quay.io/x/y@sha256:{version}"),
    };
    Observation {
        spec: UpgradeConfigSpec {
            upgrade_type: UpgradeType::Osd,
            upgrade_at: START.to_string(),
            pdb_force_drain_timeout: 60,
            capacity_reservation: None,
            desired: Desired {
                version: Some("4.14.12".to_owned()),
                channel: Some("stable-4.14".to_owned()),
                image: None,
            },
        },
        version_of: None,
        origin: Origin::User,
        of_upgrade: None,
        key: LockKey::of_upgrade_config("managed-upgrade-config", "1"),
        deleting_since: None,
        cluster: Ok(ObservedCluster {
            id: "11111111-2222-3333-4444-555555555555".to_owned(),
            upstream: None,
            channel: "stable-4.14".to_owned(),
            asked: None,
            history: vec![HistoryEntry {
                version: "4.14.9".to_owned(),
                image: String::new(),
                completed: true,
                started: None,
            }],
            desired: Some("4.14.9".to_owned()),
            offered: vec![release("4.14.13"), release("4.14.12")],
            not_upgradeable: None,
            conditional: Vec::new(),
            refusal: None,
            failure: None,
            lock: None,
        }),
        workers: Ok(Some(Workers {
            machines: 3,
            updated: 3,
            paused: None,
            degraded: None,
        })),
        in_force: ActiveConfiguration::default(),
        seen: ReadOnDemand::default(),
        drain_check_due: true,
        refusals: BTreeMap::new(),
        now: START,
    }
}

pub(crate) fn facts() -> Facts {
    observation().facts().unwrap()
}

/// ClusterVersion asks for 4.14.12.
pub(crate) fn commence(seen: &mut Observation) {
    let now = seen.now;
    let cluster = seen.cluster.as_mut().unwrap();
    cluster.asked = Some(ReleaseRef {
        version: "4.14.12".to_owned(),
        image: String::new(),
    });
    cluster.desired = Some("4.14.12".to_owned());
    cluster.history.insert(
        0,
        HistoryEntry {
            version: "4.14.12".to_owned(),
            image: String::new(),
            completed: false,
            started: Some(now),
        },
    );
}
