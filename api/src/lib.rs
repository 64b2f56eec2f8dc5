//! Wire types of Drydock and of the systems it meets: Open Cluster Management, OpenShift, the Operator Lifecycle Manager.
//!
//! Ours ([`mcu`], [`upgradeconfig`], [`schedule`], [`insights`]) carry the schema from which `crds/` is generated. Foreign kinds ([`ocm`],
//! [`openshift`], [`machine_api`], [`olm`], [`prometheus`]) are lenient: they name the fields that Drydock reads and keep all others, so that one odd object
//! never blinds a watch and what is written back is whole. No I/O and no decisions here.

mod bounded_json;
mod bounded_list;
pub mod conditions;
mod crd;
pub mod duration;
pub mod fact;
mod foreign;
pub mod insights;
mod instant;
pub mod list;
pub mod lock;
pub mod machine_api;
pub mod mcu;
pub mod metrics;
pub mod ocm;
pub mod olm;
pub mod openshift;
pub mod prometheus;
pub mod release;
pub mod schedule;
pub mod selector;
pub mod upgradeconfig;

pub use crd::{RenderError, crds, file_name, to_yaml};
pub use drydock_names::{
    ClusterName, IntOrPercent, image_digest, is_printable, is_same_image, names, on_one_line,
};
pub use duration::GoDuration;
pub use foreign::Fields;
pub use list::{List, Nullable};
pub use release::{ReleaseImage, ReleaseVersion};
