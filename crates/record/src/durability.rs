//! What an acknowledged write survives.

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut.
    #[default]
    Sync,
    /// A killed process, not a power cut.
    Flush,
}
