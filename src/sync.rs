//! The only switch between core's, loom's and portable-atomic's atomics.

pub(crate) use core::sync::atomic::Ordering;

#[cfg(all(loom, feature = "loom"))]
pub use loom::sync::atomic::AtomicU64;

#[cfg(all(not(all(loom, feature = "loom")), feature = "portable-atomic"))]
pub use portable_atomic::AtomicU64;

#[cfg(all(not(all(loom, feature = "loom")), not(feature = "portable-atomic")))]
pub use core::sync::atomic::AtomicU64;

/// A value with a cache line of its own.
#[cfg(feature = "std")]
pub(crate) use crossbeam_utils::CachePadded as Padded;

/// A value in the place of one with a cache line of its own: loom counts no cycles.
#[cfg(all(not(feature = "std"), loom, feature = "loom"))]
#[derive(Debug, Default)]
pub(crate) struct Padded<T>(T);

#[cfg(all(not(feature = "std"), loom, feature = "loom"))]
impl<T> core::ops::Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
