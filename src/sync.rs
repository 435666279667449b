//! The only switch between core's, loom's and portable-atomic's atomics.

pub(crate) use core::sync::atomic::Ordering;

#[cfg(all(loom, feature = "loom"))]
pub use loom::sync::atomic::AtomicU64;

#[cfg(all(not(all(loom, feature = "loom")), feature = "portable-atomic"))]
pub use portable_atomic::AtomicU64;

#[cfg(all(not(all(loom, feature = "loom")), not(feature = "portable-atomic")))]
pub use core::sync::atomic::AtomicU64;
