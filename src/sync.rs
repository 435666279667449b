//! The only switch between core's, loom's and portable-atomic's atomics.

pub(crate) use core::sync::atomic::Ordering;

#[cfg(all(loom, feature = "loom"))]
pub use loom::sync::atomic::AtomicU64;

// Only where core has none: elsewhere the feature, which somebody else may have turned on, changes no type.
#[cfg(all(
    not(all(loom, feature = "loom")),
    not(target_has_atomic = "64"),
    feature = "portable-atomic"
))]
pub use portable_atomic::AtomicU64;

#[cfg(all(not(all(loom, feature = "loom")), target_has_atomic = "64"))]
pub use core::sync::atomic::AtomicU64;

#[cfg(all(not(target_has_atomic = "64"), not(feature = "portable-atomic")))]
compile_error!("this target has no 64-bit atomics: turn on atomic-breaker's feature `portable-atomic`");

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
