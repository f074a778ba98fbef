//! Decides whether a write of a project record is refused.

use crate::{RecordError, RecordName, RecordVersion};

/// Refuses a write by a caller that has not seen the present version of a record.
pub fn check_version(
    name: &RecordName,
    found: Option<RecordVersion>,
    expected: Option<RecordVersion>,
) -> Result<(), RecordError> {
    match found == expected {
        true => Ok(()),
        false => Err(RecordError::Conflict { name: name.clone(), expected, found }),
    }
}
