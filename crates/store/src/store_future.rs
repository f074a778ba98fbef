//! The future of an operation on a store.

use std::pin::Pin;

/// The future of an operation, which may borrow the store.
pub type StoreFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;
