//! Adds new lines to a view, so that a log that has only grown is not read again.

use std::collections::HashSet;
use std::sync::Arc;

use super::blob_texts::restore_texts;
use super::view_building::context_line;
use crate::line::{HEAD, RawLine};
use crate::{BlobError, LedgerSeq, Seq, View};

/// The view of a log without problems, and the ids in it.
#[derive(Debug, Clone)]
pub struct GrowingView {
    view: View,
    ids: HashSet<String>,
}

impl GrowingView {
    /// Begins with the view of a log.
    pub fn new(view: View) -> Self {
        let ids = view.lines.iter().map(|line| line.id().to_owned()).collect();
        Self { view, ids }
    }

    /// Returns the view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Adds the next line of the log. Returns `None` if the line does more than add to the view, such as a revision, or
    /// if it cannot be read whole. Then the view must be built again, and that reports what is wrong.
    pub fn add(
        &mut self,
        mut line: RawLine,
        read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
    ) -> Option<()> {
        if line.rev > 0 || line.event() == Some(HEAD) {
            return None;
        }
        let lost = restore_texts(&mut line, read).ok()?;
        let (seq, crc, inbox) = (line.seq, line.crc, line.inbox);
        let line = context_line(line).filter(|_| lost.is_empty())?;
        if !self.ids.insert(line.id().to_owned()) {
            return None;
        }
        self.view.position.seq = Seq::new(seq);
        self.view.crc = crc;
        self.view.inbox = self.view.inbox.max(inbox.map(LedgerSeq::new));
        self.view.lines.push(Arc::new(line));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_lines::{log, no_blobs, prepared, promoted, revised};
    use crate::rules::view_building::view_of_log;

    #[test]
    fn a_view_that_has_grown_is_the_view_of_the_longer_log() {
        let lines = log(&[prepared("m1", "a"), promoted("m2", 7), prepared("m3", "c")]);
        let view = |lines: &[RawLine]| {
            view_of_log(lines.to_vec(), "here", no_blobs).expect("blobs").expect("a head")
        };
        let mut grown = GrowingView::new(view(&lines[..2]));
        for line in &lines[2..] {
            grown.add(line.clone(), no_blobs).expect("a new message");
        }
        assert_eq!(*grown.view(), view(&lines));
    }

    #[test]
    fn a_line_that_does_more_than_add_is_not_added() {
        let long = prepared("m4", &"x".repeat(40_000));
        let lines = log(&[prepared("m1", "a"), revised("m1", "b", 1), prepared("m1", "a"), long]);
        let view = view_of_log(lines[..2].to_vec(), "here", no_blobs).expect("blobs");
        let mut grown = GrowingView::new(view.expect("a head"));
        for line in [&lines[0], &lines[2], &lines[3], &lines[4]] {
            assert_eq!(grown.add(line.clone(), no_blobs), None, "{line:?}");
        }
    }
}
