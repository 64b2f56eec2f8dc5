//! When clusters may be started.

use drydock_api::mcu;
use drydock_api::selector::LabelMatch;
use drydock_rollout::{Freeze, InvalidSpec, Selector, StartTimes, StartWindow, Window};
use jiff::Timestamp;

use super::{invalid, parse_selector, parse_timeout};

/// Reads the windows and freezes of a strategy.
///
/// # Errors
/// The first field that cannot be used.
pub(super) fn parse(
    windows: &[mcu::StartWindow],
    freezes: &[mcu::Freeze],
) -> Result<StartTimes, InvalidSpec> {
    let windows = windows.iter().enumerate();
    let windows: Result<_, _> = windows
        .map(|(index, window)| parse_window(index, window))
        .collect();
    let freezes = freezes.iter().enumerate();
    let freezes: Result<_, _> = freezes
        .map(|(index, freeze)| parse_freeze(index, freeze))
        .collect();
    Ok(StartTimes::new(windows?, freezes?))
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
    selector
        .map(|selector| parse_selector(&field, selector))
        .transpose()
}
