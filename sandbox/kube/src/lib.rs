//! An in-memory Kubernetes API server for tests of any controller: a `tower::Service` and an HTTP listener with discovery, watches,
//! server-side apply, CustomResourceDefinitions with CEL, Tables, virtual time and faults.

pub mod access;
mod apply;
pub mod condition;
pub mod fingerprint;
pub mod http;
pub mod object;
mod openapi;
pub mod pace;
mod schema;
pub mod server;
pub mod sleep;
pub mod store;
mod table;

pub use schema::jsonpath;
pub use virtual_clock::Clock;
