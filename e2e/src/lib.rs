//! Suites that run on the sandbox and on a real control plane.
