//! The keys of values that the head of a log carries on to the next log.

/// The sealed log whose lines a loaded context continues.
pub(crate) const CONTINUES: &str = "continues";
/// The work that a run has left behind, until its next journal is begun.
pub(crate) const SETTLED: &str = "settled";
/// The last message of a log that needs no answer, although it is a question.
pub(crate) const ANSWERED: &str = "answered";
