//! What a fleet upgrade does next, decided from what is observed. This crate cannot do I/O: it has neither a kube client
//! nor an async runtime.
//!
//! [`decide`] is the one entry: a function of what is [`Observed`] and the present moment to a [`Plan`] of writes, a
//! [`Report`] that says for each cluster why it is where it is, and the next deadline. [`check`] says which invariants a
//! plan would break; the hub refuses to act on such a plan.

mod batch;
mod check;
mod cleanup;
mod cluster;
mod conditions;
mod decide;
mod deletion;
mod estimate;
mod goal;
mod members;
mod observed;
mod parse;
mod plan;
mod reason;
mod report;
mod selector;
mod snapshot;
mod spec;
mod state;
mod status;
pub mod transition;
mod upgrade;
mod window;

pub use check::{Violation, check};
pub use decide::decide;
pub use goal::{Goal, OperatorKey, Operators, Target};
pub use observed::{
    Cluster, ClusterFeedback, ConditionStatus, InvalidRetry, Observed, OwnPlacement, Owner, PlacementKey,
    Previous, Record, Revision, RunState, Selection, SelectionProblem, Source, Taint, Toleration, Uid,
    Upgrade, UpgradeKey, Via, Work, WorkFeedback, Works,
};
pub use parse::{InvalidSpec, parse_spec};
pub use plan::{Action, Plan, WorkOrder};
pub use reason::{Deadline, FailureReason, Reason};
pub use report::{Counts, Halt, Report, Standing};
pub use selector::{InvalidSelector, Selector};
pub use snapshot::{Decisions, Page, PlacementStatus, Snapshot, read_snapshot};
pub use spec::{ActionSpec, Spec, Strategy};
pub use state::ClusterState;
pub use status::render_status;
pub use transition::Transition;
pub use window::{InvalidWindow, StartWindow};
