//! Objects, resource versions, and the events that watchers read.
