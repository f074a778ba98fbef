//! What keeps chats.

mod clock;
pub mod conversation;

pub use clock::{Clock, SystemClock, Timestamp};
