//! What `./bench` measures and what `./soak` torments, one module for each part of the engine.

pub mod store;
pub mod store_soak;
