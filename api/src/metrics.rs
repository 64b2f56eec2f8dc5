//! Families of series as they are scraped, and their values: what the agent's parts say of objects.

/// What the value of a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// What is so at the moment.
    Gauge,
    /// How often something was done since the start; a sample says by how much it grows.
    Counter,
}

/// A family of series, as it is scraped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// What its value is.
    pub kind: FamilyKind,
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

impl Sample {
    /// A value with those of the labels, in their order.
    pub fn new(family: &'static Family, labels: &[&str], value: f64) -> Self {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Self {
            family,
            labels,
            value,
        }
    }
}
