//! Keys of what the head of a log carries from one log to the next.

/// What a head says of the operation that published its context.
pub(crate) const OPERATION: &str = "operation";
/// The sealed log whose lines a loaded context goes on with.
pub(crate) const CONTINUES: &str = "continues";
/// A head remembers what a run has left behind, until its next journal is begun.
pub(crate) const SETTLED: &str = "settled";
/// The message that a log ends with though nobody waits for an answer to it.
pub(crate) const ANSWERED: &str = "answered";
