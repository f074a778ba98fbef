//! The source of new ids.

/// Gives new ids.
pub trait IdSource: Send + Sync {
    /// Returns a number that was not given before.
    fn next(&self) -> u64;
}

/// Random ids, which cannot be guessed or repeated.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn next(&self) -> u64 {
        // A machine without randomness could make no connection either, and an id that repeats loses messages.
        getrandom::u64().expect("the system gives random numbers")
    }
}
