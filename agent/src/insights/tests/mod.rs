//! The controllers on a simulated API server, with informers in this process, under paused time.

mod fixture;
mod informers;
mod plans;
mod status;

use std::time::Duration;

use drydock_api::conditions::find;
use drydock_api::insights::{InformerState, PlanPhase, UpdatePlanInsight, UpdateStatus, Verdict, condition};
use serde_json::json;

use fixture::{Behaviour, TestCluster, finding, success};

const MINUTE: Duration = Duration::from_mins(1);
