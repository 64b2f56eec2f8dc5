//! Names on the wire, and the few values that decisions and wire types share. Nothing here knows Kubernetes' types, so that
//! what decides can be built without them.

mod cluster_name;
pub mod events;
mod image;
mod int_or_percent;
pub mod names;
mod printable;
pub mod reasons;

pub use cluster_name::ClusterName;
pub use image::{image_digest, is_same_image};
pub use int_or_percent::{IntOrPercent, InvalidIntOrPercent};
pub use printable::{is_printable, on_one_line};
