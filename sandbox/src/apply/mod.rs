//! Server-side apply: managed fields, conflicts, merge by schema.
