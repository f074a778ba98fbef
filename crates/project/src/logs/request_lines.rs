//! Finds the lines of a request: those with its id, and those of the run that has answered it with others.
//!
//! Messages that arrive together have one run, whose lines have the request of the last one. Its first request to the model
//! names all of them in `requestIds`. Lines of earlier programs lack the field, but most have the messages themselves.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use ship_message::json::{Json, Object};

use super::LogReader;

impl LogReader {
    /// Begins with the first line of a request. `id` names the request, or one of its requests to the model. All logs are
    /// read once for this.
    ///
    /// # Errors
    /// Fails if the logs cannot be read.
    pub fn of_request(root: &Path, id: &str) -> io::Result<Self> {
        let mut ids = BTreeSet::from([id.to_owned()]);
        let mut all = Self::from_start(root);
        loop {
            let lines = all.poll()?;
            if lines.is_empty() {
                return Ok(Self::from_start(root).only_requests(ids));
            }
            let about = lines.iter().filter(|line| is_about(line, id));
            ids.extend(about.filter_map(|line| line.str("requestId")).map(str::to_owned));
        }
    }
}

/// Whether a line is about a request, although it may have the id of another.
fn is_about(line: &Object, id: &str) -> bool {
    let list = |key: &str| line.get(key).and_then(Json::as_array).unwrap_or_default();
    let is_it = |value: &Json| value.as_str() == Some(id);
    let asks = |message: &Json| {
        let metadata = message.get("metadata");
        metadata.and_then(|metadata| metadata.get("requestId")).is_some_and(is_it)
            && message.get("role").and_then(Json::as_str) == Some("user")
    };
    line.str("record") == Some(id)
        || list("requestIds").iter().any(is_it)
        || list("newMessages").iter().any(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the `at` of the lines of a request.
    fn lines_of(root: &Path, id: &str) -> Vec<u64> {
        let mut reader = LogReader::of_request(root, id).unwrap();
        let lines = reader.poll().unwrap();
        lines.iter().filter_map(|line| line.get("at")?.as_u64()).collect()
    }

    #[test]
    fn a_request_that_was_answered_with_others_has_the_lines_of_their_run() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().join(".ship/logs");
        std::fs::create_dir_all(&folder).unwrap();
        // The second day is of an earlier program.
        let days = [
            r#"{"at":1,"requestId":"r2","kind":"warning"}
{"at":2,"requestId":"r2","record":"q_2","requestIds":["r1","r2"]}
{"at":3,"requestId":"r3","record":"q_3"}
"#,
            r#"{"at":4,"requestId":"r5","newMessages":[{"role":"user","metadata":{"requestId":"r4"}}]}
{"at":5,"requestId":"r6","newMessages":[{"role":"assistant","metadata":{"requestId":"r4"}}]}
"#,
        ];
        for (day, lines) in days.iter().enumerate() {
            std::fs::write(folder.join(format!("2026-02-0{}.jsonl", day + 5)), lines).unwrap();
        }
        assert_eq!(lines_of(project.path(), "r1"), [1, 2], "a line before it is found, too");
        assert_eq!(lines_of(project.path(), "r2"), [1, 2]);
        assert_eq!(lines_of(project.path(), "q_2"), [1, 2]);
        assert_eq!(lines_of(project.path(), "r3"), [3]);
        assert_eq!(lines_of(project.path(), "r4"), [4]);
        assert!(lines_of(project.path(), "r7").is_empty());
    }
}
