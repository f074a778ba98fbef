//! The durability of acknowledged writes.

/// The event that an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The write survives a power cut.
    #[default]
    Sync,
    /// The write survives the kill of the process, but not a power cut.
    Flush,
}
