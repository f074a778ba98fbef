//! What can happen to a file: each injury is a function from bytes to bytes.

use std::fmt;

/// One injury of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Injury {
    Deleted,
    Emptied,
    /// Everything from this line on is gone.
    CutBefore(usize),
    /// Everything from the middle of this line on is gone.
    CutInside(usize),
    /// One byte of this line is another one.
    Flipped(usize, Byte),
    /// This line stands there twice.
    LineDoubled(usize),
    /// All lines stand there twice.
    AllDoubled,
    /// Each newline became a carriage return and a newline.
    Crlf,
    /// The file is as it was once, by the number of that version.
    Older(usize),
}

/// Which byte of a line is flipped, and to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Byte {
    First,
    Quarter,
    Middle,
    Checksum,
    Newline,
    /// The one in the middle becomes a NUL.
    Nul,
}

const BYTES: [Byte; 6] =
    [Byte::First, Byte::Quarter, Byte::Middle, Byte::Checksum, Byte::Newline, Byte::Nul];

impl Injury {
    /// Lists all injuries of a file that has been through these versions. `lines_max` bounds how many of its lines are
    /// injured one by one, for a file in which all are alike.
    pub(crate) fn all(bytes: &[u8], older: usize, lines_max: usize) -> Vec<Self> {
        let mut all = vec![Self::Deleted, Self::Emptied, Self::AllDoubled, Self::Crlf];
        all.extend((0..older).map(Self::Older));
        let lines = lines(bytes).len();
        let step = lines.div_ceil(lines_max.max(1)).max(1);
        for line in (0..lines).step_by(step) {
            all.extend([Self::CutBefore(line), Self::CutInside(line), Self::LineDoubled(line)]);
            all.extend(BYTES.map(|byte| Self::Flipped(line, byte)));
        }
        // An empty file is one case, not two.
        all.retain(|injury| *injury != Self::CutBefore(0));
        all
    }

    /// Returns the file after the injury; `None` when it is gone.
    pub(crate) fn inflict(&self, bytes: &[u8], older: &[Vec<u8>]) -> Option<Vec<u8>> {
        let lines = lines(bytes);
        let start = |line: usize| lines[..line].iter().map(|line| line.len()).sum::<usize>();
        Some(match *self {
            Self::Deleted => return None,
            Self::Emptied => Vec::new(),
            Self::CutBefore(line) => bytes[..start(line)].to_vec(),
            Self::CutInside(line) => bytes[..start(line) + lines[line].len() / 2].to_vec(),
            Self::Flipped(line, byte) => {
                let mut flipped = bytes.to_vec();
                let at = start(line) + byte.place(lines[line]);
                flipped[at] = if byte == Byte::Nul { 0 } else { flipped[at] ^ 1 };
                flipped
            }
            Self::LineDoubled(line) => {
                let end = start(line) + lines[line].len();
                [&bytes[..end], lines[line], &bytes[end..]].concat()
            }
            Self::AllDoubled => [bytes, bytes].concat(),
            Self::Crlf => {
                let mut text = Vec::with_capacity(bytes.len() + lines.len());
                for &byte in bytes {
                    if byte == b'\n' {
                        text.push(b'\r');
                    }
                    text.push(byte);
                }
                text
            }
            Self::Older(version) => older[version].clone(),
        })
    }
}

impl Byte {
    fn place(self, line: &[u8]) -> usize {
        let last = line.len() - 1;
        match self {
            Self::First => 0,
            Self::Quarter => last / 4,
            Self::Middle | Self::Nul => last / 2,
            // `"crc":"0a1b2c3d"}` and the newline: the fourth of the eight digits.
            Self::Checksum => last.saturating_sub(7),
            Self::Newline => last,
        }
    }
}

impl fmt::Display for Injury {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => write!(f, "deleted"),
            Self::Emptied => write!(f, "emptied"),
            Self::CutBefore(line) => write!(f, "cut before line {line}"),
            Self::CutInside(line) => write!(f, "cut inside line {line}"),
            Self::Flipped(line, byte) => write!(f, "flipped {byte:?} of line {line}"),
            Self::LineDoubled(line) => write!(f, "line {line} doubled"),
            Self::AllDoubled => write!(f, "all doubled"),
            Self::Crlf => write!(f, "CRLF"),
            Self::Older(version) => write!(f, "older version {version}"),
        }
    }
}

/// Returns the lines of a file, each with its newline.
pub(crate) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}
