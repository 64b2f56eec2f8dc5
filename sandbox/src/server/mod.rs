//! The API server: typed operations, and their thin translation to HTTP.
