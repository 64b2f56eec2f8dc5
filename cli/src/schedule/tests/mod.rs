//! What the commands say of a cluster that is made here.

mod documentation;
mod explain;
mod fixture;
mod list;
mod run_now;
mod skip;
