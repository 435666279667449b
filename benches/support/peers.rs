//! Other crates' breakers, each set up as near to ours as it can be.

pub(crate) mod failsafe;
pub(crate) mod recloser;
pub(crate) mod tower;
