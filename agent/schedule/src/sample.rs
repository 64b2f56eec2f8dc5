//! Series of metrics, as they follow from objects.

/// A family of series, as it is scraped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its whole name.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Its labels, in the order of a sample's values.
    pub labels: &'static [&'static str],
}

/// A value of a family.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The family.
    pub family: &'static Family,
    /// The values of its labels.
    pub labels: Vec<String>,
    /// The value.
    pub value: f64,
}

pub(crate) fn sample(family: &'static Family, labels: Vec<String>, value: f64) -> Sample {
    Sample {
        family,
        labels,
        value,
    }
}

pub(crate) fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
