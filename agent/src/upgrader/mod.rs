//! Which steps an upgrade has, and in which order (agent 1).

mod aro;
mod osd;

use drydock_api::upgradeconfig::UpgradeType;

use crate::steps::Step;

/// The steps of a type of upgrade.
pub(crate) fn steps(upgrade_type: UpgradeType) -> &'static [Step] {
    match upgrade_type {
        UpgradeType::Osd => osd::STEPS,
        UpgradeType::Aro => aro::STEPS,
    }
}
