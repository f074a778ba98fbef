//! Searches the messages of chats: what is in the context logs, and talk that is in the ledger alone.
//!
//! - `message_search` answers questions, `all_chats` those about a whole project; `search_query` and `search_result` are what goes in and comes out.
//! - `index_reader` reads the logs into an index, from where it stopped. `kept_index` keeps it in the store, and
//!   `index_head` is the part of it that says how far it has read.
//! - `hit_reader` reads a hit from its log before it is shown, `neighbours` what stands around a message.
//! - `moments` reads the times that a search is limited to.
//!
//! What counts of a message, and which one answers a question best, is decided in `ship_context::search`.

mod all_chats;
mod hit_reader;
mod index_head;
mod index_reader;
mod kept_index;
mod message_search;
mod moments;
mod neighbours;
mod search_query;
mod search_result;

pub use message_search::MessageSearch;
pub use neighbours::NeighbourMessage;
pub use search_query::SearchQuery;
pub use search_result::{HitPlace, MessageHit, SearchResult, SearchedBy};

pub(crate) use moments::{DayEdge, read_moment};
