//! When which clusters may be started: windows and freezes, each of all clusters or of those that a selector matches.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::window::{Opening, opening};
use crate::{ExpectedDuration, Labels, Selector, Window};

/// A window in which clusters may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartWindow {
    /// When it is open.
    pub window: Window,
    /// The clusters that follow it. Without one: those that no other window selects.
    pub selector: Option<Selector>,
}

/// A time in which clusters are not started, whatever their windows say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Its first moment.
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Timestamp,
    /// Why, in the user's words.
    pub reason: Arc<str>,
    /// The clusters that it is for; all without one.
    pub selector: Option<Selector>,
}

/// The freezes of a calendar, which are those of all clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FreezeCalendar {
    /// In their order; none touches the next one.
    Read(Arc<[Freeze]>),
    /// It cannot be read, and why: no cluster may be started.
    Unreadable(Arc<str>),
}

impl FreezeCalendar {
    /// The freezes that have not ended at a moment, the first one first.
    fn after(&self, now: Timestamp) -> &[Freeze] {
        match self {
            Self::Read(freezes) => &freezes[freezes.partition_point(|freeze| freeze.to <= now)..],
            Self::Unreadable(_) => &[],
        }
    }
}

/// Which windows and freezes a cluster has, as bits by their index. Clusters that nothing tells apart have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timetable {
    windows: u32,
    freezes: u32,
    /// The time that must be left when it starts, where it starts only if it fits.
    expected: Option<ExpectedDuration>,
}

impl Timetable {
    /// The same for a cluster that starts only if it ends in time.
    #[must_use]
    pub fn fitting(self, expected: ExpectedDuration) -> Self {
        Self {
            expected: Some(expected),
            ..self
        }
    }

    /// The same for a cluster that has started: what follows in its upgrade need not fit once more.
    #[must_use]
    pub fn once_started(self) -> Self {
        Self {
            expected: None,
            ..self
        }
    }

    /// How long the cluster takes, where it starts only if it fits.
    pub fn expected(self) -> Option<ExpectedDuration> {
        self.expected
    }

    fn needs(self) -> SignedDuration {
        self.expected
            .map_or(SignedDuration::ZERO, ExpectedDuration::duration)
    }
}

/// When which clusters may be started: at any time, if there are no windows and no freezes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartTimes {
    windows: Vec<StartWindow>,
    freezes: Vec<Freeze>,
    calendar: Option<FreezeCalendar>,
}

/// So many windows, and freezes, have a bit of their own; the API accepts no more.
pub const MOST_START_TIMES: usize = 32;

impl StartTimes {
    /// Those of windows and freezes, of each the first [`MOST_START_TIMES`].
    pub fn new(mut windows: Vec<StartWindow>, mut freezes: Vec<Freeze>) -> Self {
        windows.truncate(MOST_START_TIMES);
        freezes.truncate(MOST_START_TIMES);
        Self {
            windows,
            freezes,
            calendar: None,
        }
    }

    /// With the freezes of a calendar.
    #[must_use]
    pub fn with_calendar(self, calendar: FreezeCalendar) -> Self {
        Self {
            calendar: Some(calendar),
            ..self
        }
    }

    /// The calendar, if there is one.
    pub fn calendar(&self) -> Option<&FreezeCalendar> {
        self.calendar.as_ref()
    }

    /// What holds for all clusters while the calendar cannot be read.
    pub(crate) fn unreadable_calendar(&self) -> Option<FreezeIndex> {
        let unreadable = matches!(self.calendar, Some(FreezeCalendar::Unreadable(_)));
        unreadable.then_some(FreezeIndex::UNREADABLE)
    }

    /// Windows that are those of all clusters.
    pub fn of_all(windows: Vec<Window>) -> Self {
        let of_all = |window| StartWindow {
            window,
            selector: None,
        };
        Self::new(windows.into_iter().map(of_all).collect(), Vec::new())
    }

    /// Whether any cluster may be started at any time.
    pub fn is_always(&self) -> bool {
        self.windows.is_empty() && self.freezes.is_empty() && self.calendar.is_none()
    }

    /// The windows that clusters may have.
    pub fn windows(&self) -> &[StartWindow] {
        &self.windows
    }

    /// The freezes that clusters may have.
    pub fn freezes(&self) -> &[Freeze] {
        &self.freezes
    }

    /// The windows and freezes of a cluster with these labels: it has the windows whose selectors match it, or, if none does, those
    /// without a selector.
    pub fn timetable(&self, labels: &Labels) -> Timetable {
        let bits = |matches: &dyn Fn(usize) -> bool, count: usize| {
            (0..count)
                .filter(|index| matches(*index))
                .fold(0, |bits: u32, index| bits | 1 << index)
        };
        let selects =
            |selector: &Option<Selector>| selector.as_ref().map(|selector| selector.matches(labels));
        let selected = bits(
            &|index| selects(&self.windows[index].selector) == Some(true),
            self.windows.len(),
        );
        let of_all = || {
            bits(
                &|index| self.windows[index].selector.is_none(),
                self.windows.len(),
            )
        };
        Timetable {
            expected: None,
            windows: if selected == 0 { of_all() } else { selected },
            freezes: bits(
                &|index| selects(&self.freezes[index].selector) != Some(false),
                self.freezes.len(),
            ),
        }
    }

    /// Whether clusters with this timetable may be started, and from when on if not now.
    pub fn opening(&self, timetable: Timetable, now: Timestamp) -> Opening {
        match self.present(timetable, now) {
            Opening::ClosedUntil(opens) => Opening::ClosedUntil(self.next_open(timetable, opens)),
            Opening::FrozenUntil(ends, freeze) => {
                Opening::FrozenUntil(self.next_open(timetable, ends), freeze)
            }
            open => open,
        }
    }

    /// The first moment from this one on at which they may be started: a window may open in a freeze, and a freeze end outside of windows.
    fn next_open(&self, timetable: Timetable, from: Option<Timestamp>) -> Option<Timestamp> {
        let mut moment = from?;
        loop {
            match self.present(timetable, moment) {
                Opening::Always | Opening::OpenUntil(_) => return Some(moment),
                // The end of a freeze, or the opening of a window: each is later than the one before.
                Opening::ClosedUntil(next) | Opening::FrozenUntil(next, _) => moment = next?,
            }
        }
    }

    /// The longest window of a cluster that is too short for it, if they all are: then it never fits.
    pub fn never_fits(&self, timetable: Timetable) -> Option<SignedDuration> {
        let expected = timetable.expected?.duration();
        let longest = self.windows_of(timetable).map(Window::duration).max()?;
        (longest <= expected).then_some(longest)
    }

    fn windows_of(&self, timetable: Timetable) -> impl Iterator<Item = &Window> + Clone {
        let windows = self.windows.iter().enumerate();
        windows
            .filter(move |(index, _)| timetable.windows & (1 << index) != 0)
            .map(|(_, window)| &window.window)
    }

    /// What holds at a moment, and when that changes. Where a cluster must fit, its windows close as much earlier as it takes, and its
    /// freezes begin as much earlier.
    fn present(&self, timetable: Timetable, now: Timestamp) -> Opening {
        if let Some(unreadable) = self.unreadable_calendar() {
            return Opening::FrozenUntil(None, unreadable);
        }
        let has = |bits: u32, index: usize| bits & (1 << index) != 0;
        let freezes = || {
            let all = self.freezes.iter().enumerate();
            all.filter(|(index, _)| has(timetable.freezes, *index))
        };
        let by_calendar = self
            .calendar
            .as_ref()
            .map_or(&[][..], |calendar| calendar.after(now));
        let by_calendar = || {
            by_calendar
                .first()
                .map(|freeze| (self.calendar_index(freeze), freeze))
        };
        let all = || freezes().chain(by_calendar());
        let frozen = all().filter(|(_, freeze)| freeze.from <= now && now < freeze.to);
        if let Some((index, freeze)) = frozen.max_by_key(|(_, freeze)| freeze.to) {
            let until = (freeze.to < Timestamp::MAX).then_some(freeze.to);
            return Opening::FrozenUntil(until, FreezeIndex(index));
        }
        let needs = timetable.needs();
        // The first moment at which it would not end before a freeze.
        let too_late = |freeze: &Freeze| freeze.from.saturating_sub(needs).unwrap_or(Timestamp::MIN);
        let coming = || all().map(|(_, freeze)| freeze).filter(|freeze| freeze.from > now);
        let ahead = coming().filter(|freeze| too_late(freeze) <= now);
        if let Some(ends) = ahead.map(|freeze| freeze.to).max() {
            return Opening::ClosedUntil((ends < Timestamp::MAX).then_some(ends));
        }
        let next_freeze = coming().map(too_late).min();
        match (opening(self.windows_of(timetable), needs, now), next_freeze) {
            (Opening::OpenUntil(closes), Some(from)) => Opening::OpenUntil(closes.min(from)),
            (Opening::Always, Some(from)) => Opening::OpenUntil(from),
            (opening, _) => opening,
        }
    }

    /// The index of a freeze of the calendar: they follow on those of the spec.
    fn calendar_index(&self, freeze: &Freeze) -> usize {
        let Some(FreezeCalendar::Read(freezes)) = &self.calendar else {
            return 0;
        };
        MOST_START_TIMES + freezes.partition_point(|before| before.to <= freeze.from)
    }

    /// Why clusters are frozen.
    pub fn freeze_reason(&self, freeze: FreezeIndex) -> Arc<str> {
        let found = match &self.calendar {
            Some(FreezeCalendar::Unreadable(why)) if freeze.is_unreadable() => return Arc::clone(why),
            Some(FreezeCalendar::Read(freezes)) if freeze.0 >= MOST_START_TIMES => {
                freezes.get(freeze.0 - MOST_START_TIMES)
            }
            _ => self.freezes.get(freeze.0),
        };
        found.map_or_else(|| "".into(), |freeze| Arc::clone(&freeze.reason))
    }
}

/// Which freeze it is, among those of the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreezeIndex(usize);

impl FreezeIndex {
    /// None of them: the calendar cannot be read.
    const UNREADABLE: Self = Self(usize::MAX);

    /// Is it because the calendar cannot be read?
    pub fn is_unreadable(self) -> bool {
        self == Self::UNREADABLE
    }
}

#[cfg(test)]
mod tests;
