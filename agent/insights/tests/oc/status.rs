//! `oc adm upgrade status`.

use drydock_insights::estimate::Method;
use drydock_insights::render::{self, Details};

use crate::fixtures::{printed, status};

fn prints_as_oc(case: &str) {
    let folder = format!("oc/status/{case}");
    let Some(report) = status(&folder, Method::Oc) else {
        return;
    };
    for (file, details) in [("output", Details::None), ("detailed-output", Details::All)] {
        let expected = printed(&folder, file).unwrap();
        assert_eq!(render::status(&report, details), expected, "{case}, {file}");
    }
}

#[test]
fn idle_cluster() {
    prints_as_oc("not-upgrading");
}

#[test]
fn first_minutes_of_an_update_after_an_incomplete_one() {
    prints_as_oc("4.15.0-ec2-early");
}

#[test]
fn nodes_of_several_pools_drain() {
    prints_as_oc("4.14.1-workers-started-updating-multiple-pools");
}

#[test]
fn compact_cluster_without_workers() {
    prints_as_oc("4.16.0-compact");
}

#[test]
fn migration_to_multi_arch() {
    prints_as_oc("to-multi-arch");
}
