//! Several contexts in one chat: left, come back to and branched off, by a model and by a person.

mod branches;
mod clock;
mod cost;
mod damaged;
mod during;
mod explained;
mod files;
mod first;
mod imported;
mod killed;
mod lost_heads;
mod lost_messages;
mod model;
mod notes;
mod person;
mod place;
mod random;
mod recall_hint;
mod recalled_message;
mod rounds;
mod seen;
mod tools;
mod undo;
mod unsealable;
