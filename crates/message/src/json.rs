//! JSON as JavaScript reads and writes it.
//!
//! Everything we store is JSON that a JavaScript program wrote or will read, so we follow its rules: every number
//! is a double, the last of two equal keys wins, and the text is written exactly as `JSON.stringify` writes it.
//! Three things go beyond a plain parser:
//!
//! - Key order is kept. A message that is read and written again has the same bytes in the same places.
//! - A string may begin or end with half a surrogate pair, because
//!   streams cut text anywhere ([`JsString`]).
//! - Nothing recurses. A hundred thousand nested brackets cost memory, never the stack, and every
//!   operation is linear in the text.

mod merge;
mod object;
mod object_writer;
mod parse;
#[cfg(feature = "serde")]
mod serde;
mod string;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use merge::{KeyPlaces, is_prototype_key};
pub use object::{Array, Object, ObjectKey};
pub use object_writer::ObjectWriter;
pub use parse::JsonError;
#[cfg(feature = "serde")]
pub use serde::{DEPTH_MAX, from_json, to_json};
pub use string::JsString;
pub use value::Json;
pub(crate) use write::{write_number, write_object, write_string};
