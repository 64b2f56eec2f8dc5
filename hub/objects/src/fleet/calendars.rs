//! The calendars of freezes: ConfigMaps with a label, read when an upgrade names one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_api::names::FREEZE_CALENDAR_LABEL;
use drydock_rollout::{FreezeCalendar, Spec, UpgradeKey};

use super::followed::Followed;
use super::{Change, Fleet};
use crate::freeze_calendar::{self, CalendarRef};
use crate::upgrade::UpgradeDigest;

/// The ConfigMaps, and what has been read of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendars {
    /// Their texts by namespace and name.
    maps: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// The namespaces whose ConfigMaps may not be listed.
    forbidden: BTreeSet<String>,
    /// Those that upgrades name.
    read: Vec<(String, CalendarRef, FreezeCalendar)>,
}

impl Calendars {
    /// How many things are held.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.maps.len() + self.forbidden.len() + self.read.len()
    }

    /// The calendar that an upgrade of this namespace names.
    fn resolve(&mut self, namespace: &str, wanted: &CalendarRef) -> FreezeCalendar {
        let is_it = |(at, known, _): &&(String, CalendarRef, _)| at == namespace && known == wanted;
        if let Some((_, _, calendar)) = self.read.iter().find(is_it) {
            return calendar.clone();
        }
        let calendar = self.read_one(namespace, wanted);
        self.read
            .push((namespace.to_owned(), wanted.clone(), calendar.clone()));
        calendar
    }

    fn read_one(&self, namespace: &str, wanted: &CalendarRef) -> FreezeCalendar {
        let CalendarRef { name, key, zone } = wanted;
        let Some(texts) = self.maps.get(&(namespace.to_owned(), name.clone())) else {
            if self.forbidden.contains(namespace) {
                let why = format!(
                    "the ConfigMaps of namespace {namespace} may not be listed: ask for the right to"
                );
                return FreezeCalendar::Unreadable(why.into());
            }
            let why = format!(
                "there is no ConfigMap {namespace}/{name} with the label {FREEZE_CALENDAR_LABEL}: create it, or set the label"
            );
            return FreezeCalendar::Unreadable(why.into());
        };
        let Some(text) = texts.get(key) else {
            let why = format!("ConfigMap {namespace}/{name} has no key {key}");
            return FreezeCalendar::Unreadable(why.into());
        };
        freeze_calendar::parse(text, zone).unwrap_or_else(|error| {
            FreezeCalendar::Unreadable(format!("ConfigMap {namespace}/{name}, key {key}: {error}").into())
        })
    }
}

/// Puts a calendar into a spec.
fn put(spec: &mut Arc<Spec>, calendar: FreezeCalendar) {
    let times = &spec.strategy.start_times;
    if times.calendar() != Some(&calendar) {
        let times = times.clone().with_calendar(calendar);
        Arc::make_mut(spec).strategy.start_times = times;
    }
}

impl Fleet {
    /// Whoever looks may not list the ConfigMaps of a namespace. It has to be said before upgrades are seen that name one of them.
    pub fn forbid_calendars(&mut self, namespace: &str) {
        self.calendars.forbidden.insert(namespace.to_owned());
    }

    /// Reads the calendar that an upgrade names.
    pub(super) fn read_calendar(&mut self, namespace: &str, digest: &mut UpgradeDigest) {
        if let (Ok(spec), Some(wanted)) = (&mut digest.spec, &digest.calendar) {
            put(spec, self.calendars.resolve(namespace, wanted));
        }
    }

    /// Forgets what was read of calendars that no upgrade names any more.
    pub(super) fn forget_calendars(&mut self) {
        let upgrades = &self.upgrades;
        self.calendars.read.retain(|(namespace, known, _)| {
            let names = |(key, followed): (&UpgradeKey, &Followed)| {
                *key.namespace == **namespace && followed.digest.calendar.as_ref() == Some(known)
            };
            upgrades.iter().any(names)
        });
    }

    /// A ConfigMap with a calendar is so, or is gone.
    pub fn set_calendar(
        &mut self,
        namespace: &str,
        name: &str,
        texts: Option<BTreeMap<String, String>>,
    ) -> Change {
        let key = (namespace.to_owned(), name.to_owned());
        if self.calendars.maps.get(&key) == texts.as_ref() {
            return Change::Nothing;
        }
        match texts {
            Some(texts) => drop(self.calendars.maps.insert(key, texts)),
            None => drop(self.calendars.maps.remove(&key)),
        }
        let calendars = &mut self.calendars;
        calendars
            .read
            .retain(|(at, known, _)| at != namespace || known.name != name);
        let mut change = Change::Nothing;
        for (key, followed) in &mut self.upgrades {
            let digest = &mut followed.digest;
            let wanted = digest.calendar.as_ref().filter(|wanted| wanted.name == name);
            if let (true, Ok(spec), Some(wanted)) = (*key.namespace == *namespace, &mut digest.spec, wanted) {
                put(spec, calendars.resolve(namespace, wanted));
                followed.is_stale = true;
                change = change.and(Change::Upgrades([key.clone()].into()));
            }
        }
        change
    }
}
