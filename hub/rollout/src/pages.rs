//! On which pages new entries are written: a page belongs to one rollout and goal of one upgrade, and is of bounded size.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::assess::NewEntry;
use crate::goal::short_hash;
use crate::{Action, Owner, RecordPage, RecordPageHeader, RecordPageWrite, Rollout};

/// Entries of a page: each change of a page is sent to everybody who watches it, so it is smaller than the API allows.
pub const PAGE_ENTRIES: usize = 200;
/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// The writes that put the entries on pages of their rollouts.
pub(crate) fn write(rollout: &Rollout, entries: Vec<NewEntry>) -> Vec<Action> {
    let mut groups: BTreeMap<(Owner, Timestamp, Arc<str>), Vec<NewEntry>> = BTreeMap::new();
    let mut replacing = Vec::new();
    for new in entries {
        if let Some(place) = &new.replaces
            && let Some(page) = rollout.pages.iter().find(|page| page.name == place.page)
        {
            replacing.push((page, place.index, new));
            continue;
        }
        let key = (new.owner.clone(), new.rollout_since, Arc::clone(&new.goal));
        groups.entry(key).or_default().push(new);
    }
    let mut numbers: BTreeMap<Owner, u32> = BTreeMap::new();
    let mut actions = Vec::new();
    for ((owner, since, goal), entries) in groups {
        let last = numbers
            .entry(owner.clone())
            .or_insert_with(|| last_number(rollout, &owner));
        let header = Arc::new(RecordPageHeader {
            owner,
            rollout_since: since,
            goal,
            closed: false,
        });
        write_group(rollout, &header, last, entries, &mut actions);
    }
    for (page, index, new) in replacing {
        replace(page, index, new, &mut actions);
    }
    actions
}

/// An entry takes the place of another one: with the write that appends to the page, if there is one, because each write presumes
/// the version of the page that was read.
fn replace(page: &RecordPage, index: usize, new: NewEntry, actions: &mut Vec<Action>) {
    let write = actions.iter_mut().find_map(|action| match action {
        Action::WritePage(write) if write.name == page.name => Some(write),
        _ => None,
    });
    if let Some(write) = write {
        write.replaced.push((index, new.entry));
        return;
    }
    actions.push(Action::WritePage(Box::new(RecordPageWrite {
        name: Arc::clone(&page.name),
        number: page.number,
        header: Arc::clone(&page.header),
        target: new.target,
        started_by: new.started_by,
        append_to: Some(Arc::clone(&page.resource_version)),
        entries: Vec::new(),
        replaced: vec![(index, new.entry)],
    })));
}

fn write_group(
    rollout: &Rollout,
    header: &Arc<RecordPageHeader>,
    last: &mut u32,
    entries: Vec<NewEntry>,
    actions: &mut Vec<Action>,
) {
    let target = entries
        .first()
        .map_or_else(|| "".into(), |first| Arc::clone(&first.target));
    // All of them are of one goal, whoever has edited that since.
    let started_by = entries
        .first()
        .map_or_else(|| "".into(), |first| Arc::clone(&first.started_by));
    let page = |name: Arc<str>, number, append_to, entries| {
        Action::WritePage(Box::new(RecordPageWrite {
            name,
            number,
            header: Arc::clone(header),
            target: Arc::clone(&target),
            started_by: Arc::clone(&started_by),
            append_to,
            entries,
            replaced: Vec::new(),
        }))
    };
    let mut entries = entries.into_iter().map(|new| new.entry).peekable();
    if let Some(open) = open_page(rollout, header) {
        let room = PAGE_ENTRIES - open.entries;
        let first = entries.by_ref().take(room).collect();
        let version = Some(Arc::clone(&open.resource_version));
        actions.push(page(Arc::clone(&open.name), open.number, version, first));
    }
    while entries.peek().is_some() {
        *last += 1;
        let some = entries.by_ref().take(PAGE_ENTRIES).collect();
        actions.push(page(page_name(&header.owner, *last).into(), *last, None, some));
    }
}

/// The page of this rollout and goal that has room.
fn open_page<'a>(rollout: &'a Rollout, header: &RecordPageHeader) -> Option<&'a RecordPage> {
    rollout
        .pages
        .iter()
        .rev()
        .find(|page| *page.header == *header && page.entries < PAGE_ENTRIES)
}

fn last_number(rollout: &Rollout, owner: &Owner) -> u32 {
    let pages = rollout.pages.iter();
    pages
        .filter(|page| page.header.owner.uid == owner.uid)
        .map(|page| page.number)
        .max()
        .unwrap_or(0)
}

/// `<upgrade>-<hash of its uid>-<number>`; the name of the upgrade is cut where that would be too long.
fn page_name(owner: &Owner, number: u32) -> String {
    let ending = format!("-{}-{number}", short_hash(owner.uid.as_str()));
    let name = owner.upgrade.as_ref().map_or("upgrade", |upgrade| &*upgrade.name);
    let cut = crate::bounded(name, LONGEST_NAME - ending.len());
    format!("{}{ending}", cut.trim_end_matches(['-', '.']))
}

/// Pages that are old enough to go: none of the newest rollouts of an upgrade's name, and none with an entry of late. `pages` are all
/// pages with the moment of their newest entry.
pub fn expired_pages<'a>(
    pages: impl Iterator<Item = (&'a RecordPage, Timestamp)>,
    keep_rollouts: usize,
    keep_for: SignedDuration,
    now: Timestamp,
) -> Vec<&'a RecordPage> {
    type Rollouts<'a> = BTreeMap<Timestamp, Vec<(&'a RecordPage, Timestamp)>>;
    let mut by_upgrade: BTreeMap<Option<crate::UpgradeKey>, Rollouts<'_>> = BTreeMap::new();
    for (page, newest) in pages {
        let rollouts = by_upgrade.entry(page.header.owner.upgrade.clone()).or_default();
        let of_rollout = rollouts.entry(page.header.rollout_since).or_default();
        of_rollout.push((page, newest));
    }
    let oldest = now.saturating_sub(keep_for).unwrap_or(Timestamp::MIN);
    by_upgrade
        .into_values()
        .flat_map(|rollouts| rollouts.into_values().rev().skip(keep_rollouts))
        .filter(|pages| pages.iter().all(|(_, newest)| *newest < oldest))
        .flat_map(|pages| pages.into_iter().map(|(page, _)| page))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Uid, UpgradeKey};

    fn owner(name: &str) -> Owner {
        Owner {
            uid: Uid::new("1f0e"),
            upgrade: Some(UpgradeKey::new("default", name)),
        }
    }

    #[test]
    fn a_page_of_an_upgrade_with_the_longest_name_has_a_name() {
        let name = page_name(&owner(&"a.".repeat(126)), 1_000_000);
        assert!(name.len() <= 253 && name.ends_with("-1000000"), "{name}");
        assert!(page_name(&owner("spring"), 3).starts_with("spring-"));
    }

    #[test]
    fn the_newest_rollouts_of_a_name_are_kept_however_old_they_are() {
        let day = |day: i64| Timestamp::from_second(86_400 * day).unwrap();
        let page = |name: &str, since: i64| RecordPage {
            name: format!("{name}-{since}").into(),
            header: Arc::new(RecordPageHeader {
                owner: owner(name),
                rollout_since: day(since),
                goal: "".into(),
                closed: true,
            }),
            number: 1,
            entries: 1,
            resource_version: "1".into(),
        };
        let pages: Vec<RecordPage> = (0..4)
            .map(|since| page("a", since))
            .chain([page("b", 0)])
            .collect();
        let expired = |now: i64, keep: usize| -> Vec<String> {
            let all = pages.iter().map(|page| (page, page.header.rollout_since));
            let gone = expired_pages(all, keep, SignedDuration::from_hours(24 * 90), day(now));
            gone.into_iter().map(|page| page.name.to_string()).collect()
        };
        assert_eq!(expired(200, 1), ["a-2", "a-1", "a-0"]);
        assert_eq!(expired(92, 1), ["a-1", "a-0"], "younger ones stay");
        assert_eq!(expired(200, 10), [""; 0]);
    }
}
