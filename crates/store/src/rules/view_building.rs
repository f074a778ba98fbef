//! Builds what readers get from the lines of a log.

use std::collections::HashMap;

use crate::line::RawLine;

/// Returns the lines of a log, each id once: its newest revision at its first place, with the number of that place. A
/// later revision counts even if an earlier one cannot be read.
pub fn newest_revisions(lines: impl Iterator<Item = RawLine>) -> Vec<RawLine> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut collapsed: Vec<RawLine> = Vec::new();
    for line in lines {
        let id = line.body.str("id").unwrap_or_default().to_owned();
        match places.get(&id).map(|&at| &mut collapsed[at]) {
            Some(known) if line.rev > known.rev => *known = RawLine { seq: known.seq, ..line },
            Some(_) => {}
            None => {
                places.insert(id, collapsed.len());
                collapsed.push(line);
            }
        }
    }
    collapsed
}
