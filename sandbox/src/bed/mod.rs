//! The whole bed: a hub, its spokes, OCM's part and the simulated clusters.

mod settings;

pub use settings::{BedSettings, ClusterSettings};
