//! Label selectors that may be absent: that selects nothing or everything, depending on the field (Maintenance schedules, section 1).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::selector::{InvalidSelector, Labels, selects};

/// Which objects a selector selects.
#[derive(Clone, Debug)]
pub enum Selection {
    /// None.
    Nothing,
    /// Those with matching labels.
    Matching(LabelSelector),
}

impl Selection {
    /// Reads a selector that selects nothing if it is absent.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn or_nothing(selector: Option<&LabelSelector>) -> Result<Self, InvalidSelector> {
        selector.map_or(Ok(Self::Nothing), read)
    }

    /// Reads a selector that selects everything if it is absent.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn or_everything(selector: Option<&LabelSelector>) -> Result<Self, InvalidSelector> {
        selector.map_or_else(|| Ok(Self::Matching(LabelSelector::default())), read)
    }

    /// Does it select an object with these labels?
    pub fn selects(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            // It was read without an error.
            Self::Matching(selector) => selects(selector, labels).unwrap_or(false),
        }
    }
}

fn read(selector: &LabelSelector) -> Result<Selection, InvalidSelector> {
    selects(selector, &Labels::new())?;
    Ok(Selection::Matching(selector.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_selector_selects_nothing_or_everything_and_an_empty_one_everything() {
        let empty = LabelSelector::default();
        for (selection, expected) in [
            (Selection::or_nothing(None), false),
            (Selection::or_everything(None), true),
            (Selection::or_nothing(Some(&empty)), true),
            (Selection::or_everything(Some(&empty)), true),
        ] {
            assert_eq!(selection.unwrap().selects(&Labels::new()), expected);
        }
    }
}
