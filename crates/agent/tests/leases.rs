//! Agents on a database: what becomes of a run whose lane is a lease that runs out, or whose store cannot be reached.

mod faults;
mod lost;
mod woken;
mod world;
