//! Values that were derived from a message, kept with its content.
//!
//! A window is shown, counted and written for every step, and all but its last messages are as they were the step
//! before. What was derived from one is kept beside its content: all copies share it, it is gone when the content
//! changes, and it takes no memory of its own when the message is gone. So no cache beside the messages has to know
//! them again, or to be emptied.

use std::any::Any;
use std::sync::Arc;

use parking_lot::Mutex;

type Values = Vec<Arc<dyn Any + Send + Sync>>;

/// The derived values of a message, one of each type.
#[derive(Default)]
pub(super) struct DerivedValues(Mutex<Values>);

impl DerivedValues {
    /// Returns the value of a type, if it was kept.
    pub(super) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let values = self.0.lock();
        let value = values.iter().find(|value| value.is::<T>())?;
        Arc::clone(value).downcast().ok()
    }

    /// Keeps a value in the place of another one of its type.
    pub(super) fn set<T: Any + Send + Sync>(&self, value: Arc<T>) {
        let mut values = self.0.lock();
        values.retain(|known| !known.is::<T>());
        values.push(value);
    }
}

/// A copy that will be changed has no derived values.
impl Clone for DerivedValues {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Derived values say nothing that the content does not.
impl PartialEq for DerivedValues {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
