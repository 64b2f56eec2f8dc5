//! What an upgrade tells others: once per state and version, remembered in the status until it has been sent.

pub(crate) mod outbox;
pub(crate) mod webhook;
