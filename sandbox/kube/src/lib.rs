//! An in-memory Kubernetes API server for tests of any controller: a `tower::Service` and an HTTP listener with discovery, watches,
//! server-side apply, CustomResourceDefinitions with CEL, Tables, virtual time and faults.

pub mod access;
pub mod apply;
pub mod condition;
pub mod fingerprint;
pub mod http;
pub mod object;
pub mod openapi;
pub mod pace;
pub mod schema;
pub mod server;
pub mod sleep;
pub mod store;
pub mod table;

pub use virtual_clock::Clock;
