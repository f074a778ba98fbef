//! Problems with what is stored.

use ship_message::names;

/// A problem with something that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct StorageProblem {
    /// The place of the problem, as its store names it. On files this is the path relative to the project folder.
    #[cfg_attr(feature = "serde", serde(rename = "file"))]
    pub place: String,
    /// The offset of the problem in that place, in bytes.
    pub offset: u64,
    /// The kind of problem.
    pub kind: StorageProblemKind,
    /// A sentence that says what was found.
    pub message: String,
    /// A sentence that tells the person what to do.
    pub remedy: String,
    /// The digest of the blob that is at fault, if it is one.
    pub blob: Option<String>,
    /// The effect of a repair on this problem.
    pub repair: RepairEffect,
    /// Whether this place was reported to a person before.
    #[cfg_attr(feature = "serde", serde(rename = "known"))]
    pub is_reported: bool,
}

impl StorageProblem {
    /// Makes a problem with a whole place.
    pub fn new(
        place: impl Into<String>,
        kind: StorageProblemKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            offset: 0,
            kind,
            message: message.into(),
            remedy: remedy.into(),
            blob: None,
            repair: kind.repair(),
            is_reported: false,
        }
    }

    /// Sets the offset of the problem in its place.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Names the blob that is at fault by its digest.
    #[must_use]
    pub fn of_blob(self, sha256: impl Into<String>) -> Self {
        Self { blob: Some(sha256.into()), ..self }
    }

    /// Marks the problem as one that a repair heals.
    #[must_use]
    pub fn healed_by_repair(self) -> Self {
        Self { repair: RepairEffect::Heals, ..self }
    }
}

/// The effect of a repair on a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairEffect {
    /// The problem is gone afterwards.
    Heals,
    /// The problem stays, and is marked as known from then on.
    MarksKnown,
    /// The repair does nothing; only a person can help.
    Nothing,
}

names!(RepairEffect { Heals = "heals", MarksKnown = "marks_known", Nothing = "nothing" });

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StorageProblemKind {
    /// The file ends with a part of a batch, which was never acknowledged.
    TornTail,
    /// Bytes before the tail are no line, or lines are out of order.
    Damage,
    /// Two records share one line; both were read.
    Glued,
    /// A required file is missing or empty.
    Missing,
    /// A referenced blob is missing or has other bytes.
    Blob,
    /// An interrupted write has left a file, which is never read.
    Leftover,
    /// No log refers to a sealed log. It is complete and kept, but not read.
    Unreferenced,
    /// A newer program has written the file.
    Newer,
    /// A symbolic link or a special file stands in place of a file or folder.
    NotPlain,
}

names!(StorageProblemKind {
    TornTail = "torn_tail",
    Damage = "damage",
    Glued = "glued",
    Missing = "missing",
    Blob = "blob",
    Leftover = "leftover",
    Unreferenced = "unreferenced",
    Newer = "newer",
    NotPlain = "not_plain",
});

impl StorageProblemKind {
    /// Returns the default effect of a repair on problems of this kind.
    fn repair(self) -> RepairEffect {
        match self {
            Self::TornTail | Self::Leftover => RepairEffect::Heals,
            Self::Damage | Self::Glued | Self::Missing | Self::Blob | Self::Unreferenced => {
                RepairEffect::MarksKnown
            }
            Self::Newer | Self::NotPlain => RepairEffect::Nothing,
        }
    }
}
