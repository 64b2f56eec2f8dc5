//! Where an upgrade's calendar of freezes is.

use drydock_api::mcu::{FreezeCalendarSource, ManagedClustersUpgrade};
use drydock_rollout::InvalidSpec;
use jiff::tz::TimeZone;

/// Where a calendar is, in the namespace of the upgrade.
#[derive(Clone, Debug, PartialEq)]
pub struct CalendarRef {
    /// The name of the ConfigMap.
    pub name: String,
    /// The key in it.
    pub key: String,
    /// The time zone of whole days, and of times that have none.
    pub zone: TimeZone,
}

impl CalendarRef {
    /// Reads the field.
    ///
    /// # Errors
    /// If the time zone is not known.
    pub fn parse(source: &FreezeCalendarSource) -> Result<Self, InvalidSpec> {
        let zone = source.time_zone.as_deref().unwrap_or("UTC");
        let zone = TimeZone::get(zone).map_err(|error| {
            let advice = "name it as IANA does, for example Europe/Zurich";
            InvalidSpec::new(
                "spec.upgradeStrategy.freezeCalendar.timeZone",
                format!("{error}: {advice}"),
            )
        })?;
        Ok(Self {
            name: source.config_map.name.clone(),
            key: source.config_map.key.clone(),
            zone,
        })
    }

    /// That of an upgrade, if it has one that can be used.
    pub fn of(upgrade: &ManagedClustersUpgrade) -> Option<Self> {
        let strategy = upgrade.spec.upgrade_strategy.as_ref()?;
        Self::parse(strategy.freeze_calendar.as_ref()?).ok()
    }
}
