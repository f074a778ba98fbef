//! For stores: the rules that every back end keeps alike, apart from how it keeps its data.
//!
//! A back end reads the present state, asks a rule what follows from it and the input, and writes the answer in one
//! step. No rule opens a file, waits, or looks at a clock: what it depends on are its arguments. So files, maps and a
//! database give the same answers and hold the same lines. Users of a store do not need this module.
//!
//! | operation | before any right | with the right to write |
//! | --- | --- | --- |
//! | [`append`](crate::Lane::append) | [`Batch::prepare`] | [`Appending`], from [`LiveLog`] and [`PresentLine`]s |
//! | [`rotate`](crate::Lane::rotate) | [`source_logs`], [`PreparedRotation::prepare`] | [`PreparedRotation::publish`] |
//! | [`import`](crate::Lane::import) | [`ImportChain::begin_log`], [`add`](ImportChain::add), [`compare`](ImportChain::compare) | [`ImportChain::publish`] |
//! | [`purge`](crate::Lane::purge) | | [`PurgeList`], [`Tombstone::new`] |
//! | [`accept`](crate::Ledger::accept) | [`prepare_entry`] | [`Accepting`], from [`next_number`] and the known key |
//! | [`deliver`](crate::Lane::deliver) | [`prepare_deliveries`] | [`Accepting`] |
//! | [`view`](crate::ContextLog::view) | [`view_of_log`], [`GrowingView`] | |
//! | [`lines_after`](crate::ContextLog::lines_after) | [`PageBuilder`], [`PurgeList`] | |
//! | [`before`](crate::Ledger::before), [`after`](crate::Ledger::after) | [`ledger_line`] | |
//! | [`open_deliveries`](crate::Ledger::open_deliveries) | [`OpenDeliveries`] | |
//! | [`put`](crate::ProjectRecords::put), [`remove`](crate::ProjectRecords::remove) | | [`check_version`] |
//!
//! Before lines that [`reader_needed`] has a version for, a back end raises the chat's `minReader`, durably
//! ([`raised_min_reader`]); it refuses a chat with a [`missing_reader`].
//!
//! What a preparation returns as [`TextBlob`]s is stored, durably, before the lines. A line is stored as the bytes that
//! [`UnnumberedLine::write`] makes, and [`decode`] reads it. The
//! module `map_store` of the testkit is a whole back end in maps.

mod accepting;
mod append;
mod blob_texts;
mod content;
mod content_digest;
mod deliveries;
mod growing_view;
mod import;
mod line_pages;
mod log_head;
mod min_reader;
mod purge;
mod purge_list;
mod record_version;
mod rotation;
mod rotation_input;
#[cfg(test)]
mod test_lines;
mod view_building;

pub use crate::line::{LineKind, RawLine, UnnumberedLine, decode};
pub(crate) use accepting::void_lines;
pub use accepting::{
    Accepting, LedgerAddition, entry_key, next_number, prepare_deliveries, prepare_entry,
};
pub use append::{Appending, Batch, BatchState, LogEnd, PresentLine};
pub use blob_texts::{LostText, TextBlob, blob_ref, restore_texts};
pub use content::PreparedLine;
pub(crate) use content::prepare_body;
pub use deliveries::{LedgerHead, OpenDeliveries};
pub use growing_view::GrowingView;
pub use import::{ImportChain, is_imported};
pub use line_pages::{PageBuilder, PagedLog};
pub use log_head::{CopiedRange, NewLog, read_head};
pub(crate) use log_head::{copied_ranges, head_line, published_end};
pub use min_reader::{READER_VERSION, missing_reader, raised_min_reader, reader_needed};
pub(crate) use purge::purge_in_event;
pub use purge::{Tombstone, purge_in_lines};
pub use purge_list::PurgeList;
pub use record_version::check_version;
pub(crate) use rotation::copied_line;
pub use rotation::{LiveLog, PlannedRotation, PreparedPiece, PreparedRotation};
pub use rotation_input::{SourceLog, SourceName, source_logs};
pub(crate) use view_building::view_below;
pub use view_building::{ledger_line, newest_revisions, view_of_log};
