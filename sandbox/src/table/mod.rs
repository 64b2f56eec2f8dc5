//! Tables, as kubectl prints them.
