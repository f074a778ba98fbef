//! What contexts promise, from the outside. All is one program, which is built once.

mod contexts;
mod search;
mod tokens;
