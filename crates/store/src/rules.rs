//! For stores: the rules that every back end keeps alike, apart from how it keeps its data.
//!
//! A back end reads the present state, asks a rule what follows from it and the input, and writes the answer in one
//! step. No rule opens a file, waits, or looks at a clock: what it depends on are its arguments. So files, maps and a
//! database give the same answers and hold the same lines. Users of a store do not need this module.

mod accepting;
mod append;
mod blob_texts;
mod content;
mod deliveries;
mod growing_view;
mod log_head;
mod purge;
mod rotation;
mod rotation_input;
#[cfg(test)]
mod test_lines;
mod view_building;

pub use crate::line::{LineKind, RawLine, UnnumberedLine, decode};
pub use accepting::{
    Accepting, LedgerAddition, entry_key, next_number, prepare_deliveries, prepare_entry,
    void_lines,
};
pub use append::{Appending, Batch, BatchState, LogEnd, PresentLine};
pub use blob_texts::{LostText, TextBlob, blob_digests, blob_ref, restore_texts};
pub use content::{PreparedLine, prepare_body, prepare_line};
pub use deliveries::{LedgerHead, OpenDeliveries};
pub use growing_view::GrowingView;
pub use log_head::{CopiedRange, NewLog, copied_ranges, head_line, published_end, read_head};
pub use purge::{Tombstone, purge_in_event, purge_in_lines};
pub use rotation::{LiveLog, PlannedRotation, PreparedPiece, PreparedRotation, copied_line};
pub use rotation_input::{SourceLog, SourceName, source_logs};
pub(crate) use view_building::view_below;
pub use view_building::{ledger_line, newest_revisions, view_of_log};
