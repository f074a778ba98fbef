//! What keeps chats.

mod clock;

pub use clock::{Clock, SystemClock, Timestamp};
