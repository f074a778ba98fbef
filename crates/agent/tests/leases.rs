//! Agents on a database: what becomes of a run whose lane is a lease that runs out, or whose store cannot be reached. And
//! agents of several processes that share a chat, in a database or in files.

mod callers;
mod faults;
mod files;
mod lost;
mod woken;
mod world;
