//! The fleet page: what the upgrades of a hub do, for a browser. The server follows the hub by watches, keeps one row a cluster, and
//! sends what changes; what a user does on the page is written with the rights of the client that the server was given. Nothing is
//! decided here: rows are rendered from the report from which the hub renders the status, so the page and the plugin use the same words.

mod access;
mod actions;
mod apply;
mod assets;
mod attempts;
mod body;
mod cluster;
mod detail;
mod ended;
mod error;
mod events;
mod feed;
mod hidden;
mod history;
mod places;
mod plan;
mod planning;
mod reading;
mod related;
mod rows;
mod server;
mod session;
mod snapshot;
mod stream;
mod upgrade;
mod visible;

pub use access::{Access, OwnAccess, Reviews, Token, TokenError};
pub use plan::{BlockedView, CurvePoint, PlanError, PlanTexts, PlannedUpgrade, Planner, StopView, WaitView};
pub use server::{Dashboard, ServeError, Settings};
pub use stream::End;
