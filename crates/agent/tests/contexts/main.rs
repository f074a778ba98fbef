//! Several contexts in one chat: left, come back to and branched off, by a model and by a person.

#![expect(clippy::unwrap_used, reason = "a chat that cannot be read fails the test")]

mod during;
mod killed;
mod model;
mod person;
mod place;
mod random;
mod rounds;
mod tools;
