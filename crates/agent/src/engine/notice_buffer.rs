//! Holds what a caller may take, such as warnings. A caller that takes nothing costs no memory without end.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// The number of items that wait to be taken. The oldest one goes for another.
const ITEMS_MAX: usize = 1_000;

/// Items that wait until a caller takes them, the newest ones.
#[derive(Debug)]
pub(crate) struct NoticeBuffer<T>(Mutex<VecDeque<T>>);

impl<T> Default for NoticeBuffer<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> NoticeBuffer<T> {
    pub(crate) fn push(&self, item: T) {
        let mut items = self.0.lock();
        if items.len() == ITEMS_MAX {
            items.pop_front();
        }
        items.push_back(item);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_items_wait_for_a_caller_that_takes_none() {
        let buffer = NoticeBuffer::default();
        (0..ITEMS_MAX + 5).for_each(|item| buffer.push(item));
        assert_eq!(buffer.take(), (5..ITEMS_MAX + 5).collect::<Vec<_>>());
        assert!(buffer.take().is_empty());
    }
}
