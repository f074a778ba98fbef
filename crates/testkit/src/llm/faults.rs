//! Ways in which providers fail, one constructor each.
//!
//! Each returns an [`Answer`] that takes the shape of the format that the request speaks. Where a
//! fault exists in one format only, its description says what the other one gets. Faults of streams are for
//! requests that ask for a stream; those of the connection cut answers that are not streamed as well.

mod calls;
mod connection;
mod content;
mod malformed;
mod odd;
mod status;
mod streamed;

pub use calls::*;
pub use connection::*;
pub use content::*;
pub use malformed::*;
pub use odd::*;
pub use status::*;
pub use streamed::*;

use super::{Answer, Exchange, Step};

/// What a speech that is about to fail says.
const WORDS: &str = "Here is the first half of an answer, and here is the second half of it.";

/// Makes an answer of steps.
fn steps(make: impl Fn(&Exchange<'_>) -> Vec<Step> + Send + Sync + 'static) -> Answer {
    Answer::judge(move |exchange| Answer::Raw(make(exchange)))
}
