//! What the programs say about themselves is in the docs: every metric, and every alert; and their links lead somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use drydock_e2e::manifests::{files_below, in_repository};

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    files_below(&in_repository(folder), ending).unwrap()
}

fn docs() -> String {
    let pages = files("docs", "md");
    pages
        .iter()
        .map(|page| std::fs::read_to_string(page).unwrap())
        .collect()
}

fn is_test(path: &Path) -> bool {
    let mut parts = path.components().map(|part| part.as_os_str().to_string_lossy());
    parts.any(|part| matches!(&*part, "tests" | "tests.rs" | "benches"))
}

/// What stands between two quotes in the programs' sources, without those of their tests: also what is code, for where a text begins nobody
/// can say without reading Rust.
fn literals() -> BTreeSet<String> {
    let folders = ["hub", "runtime", "agent", "cli/src", "dashboard/src"];
    let mut literals = BTreeSet::new();
    for path in folders.iter().flat_map(|folder| files(folder, "rs")) {
        if is_test(&path) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        literals.extend(code.split('"').map(str::to_owned));
    }
    literals
}

fn missing(wanted: impl Iterator<Item = String>) -> Vec<String> {
    let docs = docs();
    wanted.filter(|name| !docs.contains(name.as_str())).collect()
}

#[test]
fn every_metric_is_in_the_docs() {
    let prefixes = [
        "drydock_",
        "openshift_upgrade_controller_",
        "upgradeoperator_",
        "managed_upgrade_",
        "upgrade_notification_",
    ];
    let is_metric = |name: &String| {
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        is_name
            && prefixes
                .iter()
                .any(|prefix| name.starts_with(prefix) && name != prefix)
    };
    let metrics: BTreeSet<String> = literals().into_iter().filter(is_metric).collect();
    assert!(metrics.len() > 60, "{metrics:?}");
    let missing = missing(metrics.into_iter());
    assert!(missing.is_empty(), "not in docs/: {missing:?}");
}

/// Each links to its own page, which one that says what there is of them names.
#[test]
fn every_alert_has_its_page_of_the_docs() {
    let listed = ["alerts.md", "maintenance-alerts.md"]
        .map(|page| std::fs::read_to_string(in_repository("docs").join(page)).unwrap());
    let rules = ["manifests/monitoring", "manifests/agent"];
    let mut alerts = BTreeSet::new();
    for path in rules.iter().flat_map(|folder| files(folder, "yaml")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for rule in text.split("- alert: ").skip(1) {
            let name = rule.lines().next().unwrap_or_default().trim();
            let url = rule
                .lines()
                .find_map(|line| line.trim().strip_prefix("runbook_url: "))
                .map(|url| url.trim_matches('"'));
            let (_, page) = url
                .and_then(|url| url.split_once("/docs/"))
                .unwrap_or_else(|| panic!("{name} of {} has no runbook_url", path.display()));
            assert_eq!(page, format!("alerts/{name}.md"));
            let text = std::fs::read_to_string(in_repository("docs").join(page)).unwrap();
            assert!(text.starts_with(&format!("# {name}\n")), "{name}");
            let link = format!("[`{name}`]({page})");
            assert!(
                listed.iter().any(|list| list.contains(&link)),
                "{name} is not listed"
            );
            alerts.insert(name.to_owned());
        }
    }
    assert!(alerts.len() > 20, "{alerts:?}");
}

/// Where the types of conditions are named, and the kinds that have them.
const CONDITIONS: &[(&str, &[&str])] = &[
    ("api/src/mcu/status.rs", &["ManagedClustersUpgrade"]),
    (
        "api/src/insights/mod.rs",
        &["UpdatePlan", "UpdateInformer", "UpdateStatus"],
    ),
    ("agent/engine/src/condition.rs", &["UpgradeConfig"]),
    ("agent/schedule/src/job/condition.rs", &["UpgradeJob"]),
];

/// What a source says of the types of conditions: the texts of its module `condition`, or of the names of an enumeration.
fn types_of_conditions(source: &str) -> BTreeSet<String> {
    let module = source.split("pub mod condition {").nth(1);
    let names = source.split("pub const fn name(self)").nth(1);
    let text = module.or(names).and_then(|text| text.split("\n}").next());
    let texts = text.unwrap_or_default().split('"').skip(1).step_by(2);
    texts.map(str::to_owned).collect()
}

/// Each condition has a page, whose heading names it, and which the page of reasons leads to.
#[test]
fn every_condition_has_its_page_of_the_docs() {
    let reasons = std::fs::read_to_string(in_repository("docs/reasons.md")).unwrap();
    let folder = in_repository("docs/conditions");
    let mut types = BTreeSet::new();
    for (source, kinds) in CONDITIONS {
        let source = std::fs::read_to_string(in_repository(source)).unwrap();
        let named = types_of_conditions(&source);
        assert!(named.len() > 5, "{named:?}");
        for type_ in named {
            let has_page = |kind: &&&str| folder.join(kind).join(format!("{type_}.md")).exists();
            assert!(kinds.iter().any(|kind| has_page(&kind)), "{type_} of {kinds:?}");
            types.insert(type_);
        }
    }
    // Those that several kinds have, each in its own words.
    types.extend(["Ready", "Suspended"].map(str::to_owned));
    let pages = files("docs/conditions", "md");
    assert!(pages.len() > 50, "{pages:?}");
    for page in &pages {
        let path = page.strip_prefix(&folder).unwrap().display().to_string();
        let (kind, type_) = path.trim_end_matches(".md").split_once('/').unwrap();
        let text = std::fs::read_to_string(page).unwrap();
        assert!(text.starts_with(&format!("# {type_} of {kind}\n")), "{path}");
        assert!(types.contains(type_), "no program sets {type_}");
        assert!(
            reasons.contains(&format!("(conditions/{path})")),
            "{path} is not listed"
        );
    }
}

/// The lines of a page that are not within a block.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_block = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        !is_block && !is_fence
    })
}

/// The anchors of a page: its headings, as mdBook and GitHub write them.
fn anchors(text: &str) -> BTreeSet<String> {
    let titles = prose(text).filter(|line| line.starts_with('#'));
    let slug = |title: &str| -> String {
        let title = title.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    };
    titles.map(slug).collect()
}

/// The targets of the links of a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn every_link_of_the_docs_leads_somewhere() {
    let mut pages = files("docs", "md");
    pages.push(in_repository("README.md"));
    pages.push(in_repository("CHANGELOG.md"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        // What stands within backticks is no link.
        let plain: Vec<String> = prose(&text)
            .map(|line| line.split('`').step_by(2).collect())
            .collect();
        let links = plain.iter().flat_map(|line| links(line));
        for link in links.filter(|link| !link.contains("://")) {
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            let has_anchor = || {
                let text = std::fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).contains(anchor)
            };
            if !target.exists() || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count > 200, "the docs have links: {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page that the table of contents does not name, nobody finds.
#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = std::fs::read_to_string(in_repository("docs/SUMMARY.md")).unwrap();
    let folder = in_repository("docs");
    let pages = files("docs", "md");
    let names = pages
        .iter()
        .map(|page| page.strip_prefix(&folder).unwrap().display().to_string());
    let missing: Vec<String> = names
        .filter(|name| name != "SUMMARY.md" && !contents.contains(&format!("({name})")))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}
