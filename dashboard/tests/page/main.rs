//! The page's server on a simulated hub, asked as a browser asks it.

mod access;
mod actions;
mod changes;
mod fixture;
