//! The notifications of an upgrade: one per state and version, remembered in the status until it has been sent.

pub(crate) mod outbox;
pub(crate) mod webhook;
