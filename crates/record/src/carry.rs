//! The words by which a head and the event of a switch tell how a log was published.
//!
//! The engine writes them. The store reads them only to recover a head that is lost.

use ship_message::json::{Json, Object};

use crate::{ContextId, Head, SealedName};

/// The event of a switch, in the log of the context that it has entered.
pub const SWITCHED: &str = "switched";

/// The field in that event with the id and the title of the context.
pub const ENTERED: &str = "entered";

/// The key in a head for the operation that published the context.
pub const OPERATION: &str = "operation";

/// The key in a head for the beginning of the context.
pub const BEGAN: &str = "began";

/// The key in a head for the suffix of message ids, in a chat that began as a copy. It tells new messages from the
/// copied ones, whose ids come from the ledger of another chat.
pub const SALT: &str = "names";

/// The key in a head for the learnt rates of token counts.
pub const TOKENS: &str = "tokens";

/// Returns the value of [`ENTERED`].
pub fn entered(head: &Head) -> Object {
    let mut entered = Object::from([("contextId", head.context.as_str())]);
    entered.set_or_remove("title", head.title.as_deref().map(Json::from));
    entered
}

/// Reads the value of [`ENTERED`].
pub fn entered_context(data: &Json) -> Option<(ContextId, Option<String>)> {
    let entered = data.get(ENTERED)?.as_object()?;
    Some((entered.str("contextId")?.parse().ok()?, entered.str("title").map(str::to_owned)))
}

impl Head {
    /// Notes the log that the last operation has left, unless it is noted. An undo brings that log back, any number
    /// of logs later.
    pub fn note_left_log(&mut self, log: Option<&SealedName>) {
        if let Some(operation) = self.carry.get_mut(OPERATION).and_then(Json::as_object_mut)
            && !operation.has("sealed")
        {
            operation.set_or_remove("sealed", log.map(|name| Json::from(name.as_str())));
        }
    }
}
