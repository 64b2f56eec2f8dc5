//! `--sweep` and `--compare`: strategies beside each other.

use std::path::Path;

use anyhow::{Context, bail};
use drydock_api::mcu::{ManagedClustersUpgrade, StartWindow};
use serde_json::Value;

use super::arguments::{Sweep, spec_limit};
use super::subject::with_strategy;

/// The upgrade with each value that is swept, and what is different of it.
///
/// # Errors
/// If a file cannot be read, or the upgrade has no canaries that could soak.
pub fn swept(
    upgrade: &ManagedClustersUpgrade,
    sweeps: &[Sweep],
) -> anyhow::Result<Vec<(String, ManagedClustersUpgrade)>> {
    let mut variants = Vec::new();
    for sweep in sweeps {
        match sweep {
            Sweep::MaxConcurrency(values) => variants.extend(values.iter().map(|value| {
                let variant = with_strategy(upgrade, |strategy| {
                    strategy.max_concurrency = Some(spec_limit(value));
                });
                (format!("maxConcurrency={value}"), variant)
            })),
            Sweep::MaxFailures(values) => variants.extend(values.iter().map(|value| {
                let variant = with_strategy(upgrade, |strategy| {
                    strategy.max_failures = Some(spec_limit(value));
                });
                (format!("maxFailures={value}"), variant)
            })),
            Sweep::SoakTime(values) => {
                let strategy = upgrade.spec.upgrade_strategy.as_ref();
                if strategy.is_none_or(|strategy| strategy.canary_clusters.is_none()) {
                    bail!("--sweep soakTime: the upgrade has no canaries that could soak");
                }
                variants.extend(values.iter().map(|value| {
                    let variant = with_strategy(upgrade, |strategy| {
                        if let Some(canaries) = &mut strategy.canary_clusters {
                            canaries.soak_time = Some(value.clone());
                        }
                    });
                    (format!("soakTime={value}"), variant)
                }));
            }
            Sweep::StartWindows(files) => {
                for file in files {
                    let windows = windows(file)?;
                    let variant = with_strategy(upgrade, |strategy| strategy.start_windows = Some(windows));
                    variants.push((format!("startWindows={}", file.display()), variant));
                }
            }
        }
    }
    Ok(variants)
}

/// The start windows of a file: a list.
fn windows(file: &Path) -> anyhow::Result<Vec<StartWindow>> {
    let reading = || format!("reading a list of start windows from {}", file.display());
    let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let given: Value = serde_saphyr::from_str(&text).with_context(reading)?;
    let windows: Vec<StartWindow> = serde_json::from_value(given.clone()).with_context(reading)?;
    let read = serde_json::to_value(&windows).with_context(reading)?;
    let fields = |list: &Value| -> Vec<Vec<String>> {
        let windows = list.as_array().into_iter().flatten();
        let fields = |window: &Value| window.as_object().map(|window| window.keys().cloned().collect());
        windows.filter_map(fields).collect()
    };
    for (given, known) in fields(&given).iter().zip(fields(&read)) {
        if let Some(unknown) = given.iter().find(|field| !known.contains(field)) {
            bail!("{}: a start window has no field {unknown:?}", file.display());
        }
    }
    Ok(windows)
}

#[cfg(test)]
mod tests {
    use drydock_api::mcu::{CanaryClusters, Limit, UpgradeStrategy};

    use super::*;

    #[test]
    fn each_value_gives_an_upgrade_of_its_own() {
        let mut upgrade = ManagedClustersUpgrade::default();
        upgrade.metadata.generation = Some(2);
        upgrade.spec.upgrade_strategy = Some(UpgradeStrategy {
            canary_clusters: Some(CanaryClusters::default()),
            max_concurrency: Some(Limit::from(5)),
            ..UpgradeStrategy::default()
        });
        let sweeps =
            ["maxConcurrency=5,25%", "soakTime=2h", "maxFailures=3"].map(|text| text.parse().unwrap());
        let variants = swept(&upgrade, &sweeps).unwrap();
        let said: Vec<(&str, Option<i64>)> = variants
            .iter()
            .map(|(name, variant)| (name.as_str(), variant.metadata.generation))
            .collect();
        assert_eq!(
            said,
            [
                ("maxConcurrency=5", Some(2)),
                ("maxConcurrency=25%", Some(3)),
                ("soakTime=2h", Some(3)),
                ("maxFailures=3", Some(3)),
            ],
            "what changes nothing is the same upgrade"
        );
        let strategy = variants[1].1.spec.upgrade_strategy.as_ref().unwrap();
        assert_eq!(strategy.max_concurrency, Some(Limit::Text("25%".to_owned())));
    }

    #[test]
    fn without_canaries_nothing_soaks() {
        let refused = swept(
            &ManagedClustersUpgrade::default(),
            &["soakTime=2h".parse().unwrap()],
        )
        .unwrap_err();
        assert!(refused.to_string().contains("no canaries"), "{refused}");
    }

    #[test]
    fn a_field_that_windows_do_not_have_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            r#"[{"cron": "0 22 * * *", "duration": "8h", "timezone": "UTC"}]"#,
        )
        .unwrap();
        let refused = windows(file.path()).unwrap_err().to_string();
        assert!(refused.contains("has no field \"timezone\""), "{refused}");
    }
}
