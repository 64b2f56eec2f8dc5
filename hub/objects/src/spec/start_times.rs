//! When clusters may be started.

use drydock_api::mcu;
use drydock_api::selector::{LabelMatch, is_label_key, is_label_value};
use drydock_rollout::{Freeze, FreezeCalendar, InvalidSpec, Selector, StartTimes, StartWindow, Window};
use jiff::Timestamp;

use super::{invalid, parse_selector, parse_timeout};
use crate::freeze_calendar::CalendarRef;

/// Reads the windows and freezes of a strategy. A calendar of freezes is not read here.
///
/// # Errors
/// The first field that cannot be used.
pub(super) fn parse(
    windows: &[mcu::StartWindow],
    freezes: &[mcu::Freeze],
    calendar: Option<&mcu::FreezeCalendarSource>,
) -> Result<StartTimes, InvalidSpec> {
    let windows = windows.iter().enumerate();
    let windows: Result<_, _> = windows
        .map(|(index, window)| parse_window(index, window))
        .collect();
    let freezes = freezes.iter().enumerate();
    let freezes: Result<_, _> = freezes
        .map(|(index, freeze)| parse_freeze(index, freeze))
        .collect();
    let times = StartTimes::new(windows?, freezes?);
    let Some(calendar) = calendar else {
        return Ok(times);
    };
    CalendarRef::parse(calendar)?;
    // Until somebody reads it nothing starts.
    Ok(times.with_calendar(FreezeCalendar::Unreadable("it has not been read".into())))
}

fn parse_window(index: usize, window: &mcu::StartWindow) -> Result<StartWindow, InvalidSpec> {
    let field = format!("spec.upgradeStrategy.startWindows[{index}]");
    let duration = parse_timeout(&format!("{field}.duration"), &window.duration, false)?;
    let selector = selected(&field, window.cluster_selector.as_ref())?;
    let window = Window::parse(&window.cron, duration, window.time_zone.as_deref())
        .map_err(|error| invalid(&field, error))?;
    Ok(StartWindow { window, selector })
}

fn parse_freeze(index: usize, freeze: &mcu::Freeze) -> Result<Freeze, InvalidSpec> {
    let field = format!("spec.upgradeStrategy.freezes[{index}]");
    let moment = |name: &str, text: &str| -> Result<Timestamp, InvalidSpec> {
        let refused = |error| {
            let advice = "write a time with a zone, for example 2026-12-19T00:00:00Z";
            invalid(&format!("{field}.{name}"), format!("{error}: {advice}"))
        };
        text.parse().map_err(refused)
    };
    let (from, to) = (moment("from", &freeze.from)?, moment("to", &freeze.to)?);
    if from >= to {
        return Err(invalid(&field, "from must be before to"));
    }
    Ok(Freeze {
        from,
        to,
        reason: freeze.reason.as_str().into(),
        selector: selected(&field, freeze.cluster_selector.as_ref())?,
    })
}

fn selected(field: &str, selector: Option<&LabelMatch>) -> Result<Option<Selector>, InvalidSpec> {
    let field = format!("{field}.clusterSelector");
    let Some(selector) = selector else {
        return Ok(None);
    };
    // What no label can be would match nothing, and a freeze protect nothing, without a word.
    for (key, value) in selector.match_labels.iter().flatten() {
        if !is_label_key(key) {
            return Err(invalid(&field, format!("{key:?} is no key of a label")));
        }
        if !is_label_value(value) {
            return Err(invalid(&field, format!("{value:?} is no value of a label")));
        }
    }
    parse_selector(&field, selector).map(Some)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_cannot_be_is_refused_with_the_field() {
        let (begins, ends) = ("2026-12-19T00:00:00Z", "2027-01-04T00:00:00Z");
        for (from, to, key, value, why) in [
            (
                begins,
                "2026-02-30T00:00:00Z",
                "a",
                "b",
                "spec.upgradeStrategy.freezes[0].to: ",
            ),
            (
                "tomorrow",
                ends,
                "a",
                "b",
                "spec.upgradeStrategy.freezes[0].from: ",
            ),
            (ends, begins, "a", "b", "freezes[0]: from must be before to"),
            (
                begins,
                ends,
                "a b",
                "c",
                "freezes[0].clusterSelector: \"a b\" is no key",
            ),
            (begins, ends, "example.com/", "c", "is no key of a label"),
            (begins, ends, "region", "e u", "\"e u\" is no value"),
            (begins, ends, "region", "-eu", "\"-eu\" is no value"),
        ] {
            let freeze = mcu::Freeze {
                from: from.to_owned(),
                to: to.to_owned(),
                reason: "stocktaking".to_owned(),
                cluster_selector: Some(LabelMatch {
                    match_labels: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])),
                    ..LabelMatch::default()
                }),
            };
            let refused = parse(&[], &[freeze], None).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
