//! What `ship verify` must tell of an injury.

use ship_message::json::{Json, Object};

use crate::injury::{Injury, lines};
use crate::project::Project;
use crate::readable::{CHAT, WholeLine, is_ledger, whole_line, whole_lines};

/// What must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing: the file is derived, or nobody can see that it is another one.
    Nothing,
    /// That the file is not as it should be, until a command has healed it.
    UntilHealed,
    /// That the file is damaged, until it was repaired.
    UntilRepaired,
}

/// Says what must be told of a project in which this file was injured.
pub(crate) fn told(project: &Project, name: &str, injury: &Injury, before: &[u8]) -> Told {
    let after = std::fs::read(project.path(name)).ok();
    let Some(file) = name.strip_prefix(CHAT) else { return Told::Nothing };
    if file == "chat.json" {
        return if names_the_chat(after.as_deref()) { Told::Nothing } else { Told::UntilHealed };
    }
    if is_ledger(name).is_none() {
        // A journal is replaced by the next run; all other files are derived, or people's own.
        // Records of requests are never synced: NULs are what a power cut leaves of them.
        let is_cut = |bytes: &[u8]| file.contains("requests") && bytes.contains(&0);
        let damage = after.filter(|bytes| has_damage(bytes) && !is_cut(bytes));
        let is_damaged = file.ends_with(".jsonl") && damage.is_some();
        return if is_damaged { Told::UntilHealed } else { Told::Nothing };
    }
    let Some(after) = after.filter(|bytes| !bytes.is_empty()) else { return Told::UntilHealed };
    if has_damage(&after) {
        return Told::UntilRepaired;
    }
    let is_live = file.ends_with("/history.jsonl");
    let is_shorter =
        !matches!(injury, Injury::Crlf) && whole_lines(&after).len() < whole_lines(before).len();
    let is_torn = !after.ends_with(b"\n") || after.contains(&0);
    let is_short = is_shorter && (!is_live || ends_before_published(&after));
    if is_torn || is_short || (is_live && do_not_fit(project)) {
        return Told::UntilHealed;
    }
    Told::Nothing
}

fn names_the_chat(bytes: Option<&[u8]>) -> bool {
    let Some(Ok(Json::Object(about))) = bytes.map(Json::parse_bytes) else { return false };
    about.str("chatKey") == Some("terminal:main")
        && about.get("v").and_then(Json::as_u64) == Some(1)
}

/// Whether a line that ends with its newline cannot be read. NULs at the end are a torn tail.
fn has_damage(bytes: &[u8]) -> bool {
    let lines = lines(bytes);
    let is_whole = |line: &&[u8]| whole_line(line).is_some();
    let readable_end = lines.iter().rposition(is_whole).map_or(0, |last| last + 1);
    let (middle, tail) = lines.split_at(readable_end);
    let is_torn = tail.iter().any(|line| !line.ends_with(b"\n") || line.contains(&0));
    !middle.iter().all(is_whole) || (!tail.is_empty() && !is_torn)
}

/// Whether a log lacks lines that it was published with, by its head.
fn ends_before_published(bytes: &[u8]) -> bool {
    let lines = whole_lines(bytes);
    let published =
        lines.first().and_then(|head| head.0.get("data")?.get("published")?.get("last"));
    let end = lines.last().and_then(|line| line.number("seq"));
    published.is_some_and(|last| end < last.as_u64())
}

/// Whether the ledger ends below what the context has taken in, or says that something was answered which the context
/// does not have.
fn do_not_fit(project: &Project) -> bool {
    let read = |file: &str| {
        let bytes = std::fs::read(project.path(&format!("{CHAT}{file}"))).unwrap_or_default();
        whole_lines(&bytes)
    };
    let (ledger, context) = (read("conversations/history.jsonl"), read("messages/history.jsonl"));
    let head_inbox = |line: &WholeLine| line.0.get("data")?.get("inbox")?.as_u64();
    let cursor = context.iter().filter_map(|line| line.number("in").max(head_inbox(line))).max();
    let end = ledger.iter().filter_map(|line| line.number("seq")).max();
    let is_answered = |request: &str| ledger.iter().any(|line| is_answer(&line.0, request));
    let is_unknown = |line: &WholeLine| {
        let request = line.0.str("requestId").filter(|_| line.0.str("role") == Some("user"));
        line.number("seq") > cursor && request.is_some_and(is_answered)
    };
    end < cursor || ledger.iter().any(is_unknown)
}

fn is_answer(line: &Object, request: &str) -> bool {
    line.str("requestId") == Some(request)
        && line.str("key").is_some_and(|key| key.starts_with("answer:"))
}
