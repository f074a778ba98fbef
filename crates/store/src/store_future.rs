//! The future of an operation on a store.

use std::pin::Pin;

/// What an operation of the store gives, later.
pub type StoreFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;
