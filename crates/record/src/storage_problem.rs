//! What can be wrong with stored files.

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageProblem {
    /// The file, relative to the project folder.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// What kind of thing.
    pub kind: StorageProblemKind,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// What a repair does about it.
    pub repair: RepairEffect,
    /// Whether a person has seen this very place, by a repair.
    pub known: bool,
}

impl StorageProblem {
    /// Makes a problem of a whole file.
    pub fn new(
        file: impl Into<String>,
        kind: StorageProblemKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            offset: 0,
            kind,
            message: message.into(),
            remedy: remedy.into(),
            repair: kind.repair(),
            known: false,
        }
    }

    /// Says where in the file it is.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Says that a repair heals it.
    #[must_use]
    pub fn healed_by_repair(self) -> Self {
        Self { repair: RepairEffect::Heals, ..self }
    }
}

/// What a repair does about a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairEffect {
    /// It is gone afterwards.
    Heals,
    /// It cannot be healed, and is known from then on.
    MarksKnown,
    /// Only a person can do something about it.
    Nothing,
}

impl RepairEffect {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Heals => "heals",
            Self::MarksKnown => "marks_known",
            Self::Nothing => "nothing",
        }
    }
}

/// What kind of thing is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StorageProblemKind {
    /// Bytes after the last whole batch; never acknowledged.
    TornTail,
    /// Bytes before the tail that are no line, or lines out of order.
    Damage,
    /// Two lines on one; both were read.
    Glued,
    /// A file that should be there is missing, or empty.
    Missing,
    /// A blob that a line refers to is missing or has other bytes.
    Blob,
    /// A file left over by an interrupted write; never read.
    Leftover,
    /// A sealed log that nothing refers to; complete, kept, not read.
    Unreferenced,
    /// A newer program wrote it.
    Newer,
    /// A symbolic link or the like where a file or folder should be.
    NotPlain,
}

impl StorageProblemKind {
    /// Returns what a repair does about problems of this kind, where nothing else is said.
    fn repair(self) -> RepairEffect {
        match self {
            Self::TornTail | Self::Leftover => RepairEffect::Heals,
            Self::Damage | Self::Glued | Self::Missing | Self::Blob | Self::Unreferenced => {
                RepairEffect::MarksKnown
            }
            Self::Newer | Self::NotPlain => RepairEffect::Nothing,
        }
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TornTail => "torn_tail",
            Self::Damage => "damage",
            Self::Glued => "glued",
            Self::Missing => "missing",
            Self::Blob => "blob",
            Self::Leftover => "leftover",
            Self::Unreferenced => "unreferenced",
            Self::Newer => "newer",
            Self::NotPlain => "not_plain",
        }
    }
}
