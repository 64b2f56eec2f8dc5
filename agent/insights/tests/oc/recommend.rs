//! `oc adm upgrade recommend`.

use std::collections::BTreeSet;

use drydock_insights::recommend::assess;
use drydock_insights::render::{self, RecommendationView, Rendered};

use crate::fixtures::{facts, folder, printed};

/// What is printed of a folder.
pub fn recommendation(name: &str, view: &RecommendationView) -> Option<Rendered> {
    let folder = folder(name)?;
    let (facts, _) = facts(&folder);
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let recommendation = assess(&facts.version, &facts.alerts, Some(&name));
    Some(render::recommendation(&recommendation, view))
}

/// What is asked of a release.
pub fn of_version(version: &str, accepted: &[&str]) -> RecommendationView {
    RecommendationView {
        version: Some(version.parse().unwrap()),
        accepted: accepted
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>(),
        ..RecommendationView::default()
    }
}

const ALL_RECOMMENDED: &str = "oc/recommend/4.14.1-all-recommended";

#[test]
fn newest_releases() {
    let Some(rendered) = recommendation(ALL_RECOMMENDED, &RecommendationView::default()) else {
        return;
    };
    assert_eq!(rendered.text, printed(ALL_RECOMMENDED, "output").unwrap());
    assert!(!rendered.is_refused);
}

#[test]
fn all_releases() {
    let view = RecommendationView {
        with_outdated: true,
        ..RecommendationView::default()
    };
    let Some(rendered) = recommendation(ALL_RECOMMENDED, &view) else {
        return;
    };
    assert_eq!(
        rendered.text,
        printed(ALL_RECOMMENDED, "show-outdated-output").unwrap()
    );
}

#[test]
fn a_release_of_a_minor_version_that_there_are_no_updates_to() {
    let Some(rendered) = recommendation(ALL_RECOMMENDED, &of_version("4.12.51", &[])) else {
        return;
    };
    assert_eq!(
        rendered.text,
        printed(ALL_RECOMMENDED, "version-4.12.51-output").unwrap()
    );
    assert!(rendered.is_refused);
}
