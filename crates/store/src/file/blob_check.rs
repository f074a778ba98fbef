//! Checks the blobs that the lines of a log refer to.

use std::collections::HashSet;
use std::path::Path;

use ship_message::json::Json;

use super::blobs;
use super::store_env::Env;
use crate::scan::{LogScan, ScannedLine};
use crate::{BlobError, StorageProblem, StorageProblemKind};

/// Returns the problems of the blobs in which a log keeps large texts of its lines.
pub(super) fn text_problems(env: &Env, path: &Path, scan: &LogScan) -> Vec<StorageProblem> {
    let mut found = Vec::new();
    for line in &scan.lines {
        for (_, blob) in line.line.blobs.iter().flat_map(|blobs| blobs.iter()) {
            let sha256 = blob.get("sha256").and_then(Json::as_str).unwrap_or_default();
            if let Err(error) = blobs::read_blob(env, sha256) {
                let remedy =
                    "restore `.ship/blobs` from a backup; until then, the line shows a preview";
                found.push(blob_problem(path, line, sha256, &error, remedy));
            }
        }
    }
    found
}

/// Returns the problems of the blobs that explain recorded requests, each where it is referred to first. A missing one
/// is no problem: a request is recorded even if its texts cannot be stored.
pub(super) fn request_problems(env: &Env, path: &Path, scan: &LogScan) -> Vec<StorageProblem> {
    let (mut found, mut checked) = (Vec::new(), HashSet::new());
    for line in &scan.lines {
        let Some(data) = line.line.body.get("data") else { continue };
        let mut unchecked = digests(data);
        while let Some(sha256) = unchecked.pop() {
            if !checked.insert(sha256.clone()) {
                continue;
            }
            match blobs::read_blob(env, &sha256) {
                // A frame refers to further blobs.
                Ok(bytes) => unchecked.extend(Json::parse_bytes(&bytes).iter().flat_map(digests)),
                Err(BlobError::Missing(_)) => {}
                Err(error) => {
                    let remedy = "restore `.ship/blobs` from a backup; without it, `ship inspect \
                                  --request` cannot show what was sent";
                    found.push(blob_problem(path, line, &sha256, &error, remedy));
                }
            }
        }
    }
    found
}

/// Returns the digests in the record of a request, or in the frame of one.
fn digests(record: &Json) -> Vec<String> {
    let texts = ["frame", "summary", "tools"].into_iter().filter_map(|key| record.get(key));
    let system = record.get("system").and_then(Json::as_array).into_iter().flatten();
    let digests = texts.chain(system.filter_map(|block| block.get("sha256")));
    digests.filter_map(Json::as_str).map(str::to_owned).collect()
}

fn blob_problem(
    path: &Path,
    line: &ScannedLine,
    sha256: &str,
    error: &BlobError,
    remedy: &str,
) -> StorageProblem {
    let (file, message) = (path.display().to_string(), format!("line {}: {error}", line.line.seq));
    let problem = StorageProblem::new(file, StorageProblemKind::Blob, message, remedy);
    problem.at(line.offset as u64).of_blob(sha256)
}
