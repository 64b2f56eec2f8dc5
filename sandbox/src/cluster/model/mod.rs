//! The model of one OpenShift cluster, without I/O: state and seeded durations; what is read and the time go in, what is
//! to be written and the next moment of interest come out.

mod condition;
mod duration;
mod history;
mod operators;
mod precondition;
mod release;
mod walk;

pub use release::release_image;
