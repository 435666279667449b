//! Loom models of the engine; see `tests/`.
