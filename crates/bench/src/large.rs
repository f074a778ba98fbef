//! What the `ship` command costs where there is much of something: chats, messages, lines that an older version or
//! another program left. Counted in time on the processor and in the most memory that the process had.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::report::{Report, Want};
use crate::ship::{Ship, spent};
use crate::store::Aged;
use crate::traced::Trace;

const CHATS: usize = 10_000;
const MESSAGES: u64 = 100_000;
const FOREIGN_BYTES: usize = 62 * 1024 * 1024;
const LEDGER_LINES: u64 = 1_000_000;
pub(crate) const KEY: &str = "terminal:main";
const TIME: &str = "2026-02-05T10:15:00.000Z";

/// Measures the `ship` that was built beside this program, in projects below `folder`.
///
/// # Errors
/// When a project cannot be written or `ship` does not answer.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section("Large: the command where there is much to read");
    let Some(program) = crate::ship::built() else {
        report.skipped("there is no `ship` beside this program; build it with the same profile");
        return Ok(());
    };
    let folder = tempfile::tempdir_in(folder)?;
    let ship = Ship { program, folder: folder.path().to_owned() };
    chats(&ship, report)?;
    history(&ship, report)?;
    ledger(&ship, report)?;
    foreign_log(&ship, report)?;
    sealed_logs(&ship, report)
}

/// What a command needed.
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) megabytes: f64,
}

/// Runs a command to its end. Its most memory is what the system last told before it ended.
#[expect(clippy::disallowed_methods, reason = "the memory of a process is read while it runs")]
pub(crate) fn cost(ship: &Ship, root: &Path, arguments: &[&str]) -> io::Result<Cost> {
    let mut most_kb = 0;
    let ms = spent(|| {
        let mut child = ship.command(root, arguments).stdout(Stdio::null()).spawn()?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let ended = loop {
            most_kb = most_kb.max(peak_kb(&status));
            if let Some(ended) = child.try_wait()? {
                break ended;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        if ended.success() { Ok(()) } else { Err(io::Error::other(format!("ship: {ended}"))) }
    })?;
    Ok(Cost { seconds: ms / 1000.0, megabytes: f64::from(most_kb) / 1024.0 })
}

fn peak_kb(status: &Path) -> u32 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn chats(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let root = ship.project("chats", "{}")?;
    ship.says(&root, "hello", 3)?;
    let folder = root.join(".ship/chat");
    for number in 1..CHATS {
        copy_chat(&folder, &format!("terminal:{number:05}"))?;
    }
    let listed = cost(ship, &root, &["chats"])?;
    let what = format!("seconds of processor to list {CHATS} chats");
    report.ratio(&what, listed.seconds, Want::AtMost(0.5));
    report.note(&format!("{:.0} MB", listed.megabytes));
    match Trace::of(&ship.command(&root, &["chats"]))? {
        Some(trace) => {
            let each = trace.calls() as f64 / CHATS as f64;
            report.limit("system calls to list a chat", each, 30.0, 16.0);
        }
        None => report.skipped("the calls for each chat: there is no `strace` here"),
    }
    fs::remove_dir_all(root)
}

/// Copies the first chat under another key.
fn copy_chat(folder: &Path, key: &str) -> io::Result<()> {
    let name = key.replace(':', "%3A");
    let (from, to) = (folder.join("terminal%3Amain"), folder.join(name));
    for part in ["conversations", "messages/archive", "contexts/archive", "memory"] {
        fs::create_dir_all(to.join(part))?;
    }
    let renamed = |text: String| text.replace(KEY, key);
    fs::write(to.join("chat.json"), renamed(fs::read_to_string(from.join("chat.json"))?))?;
    for log in ["conversations/history.jsonl", "messages/history.jsonl", "messages/run.jsonl"] {
        let text = renamed(fs::read_to_string(from.join(log))?);
        fs::write(to.join(log), with_checksums(&text))?;
    }
    Ok(())
}

/// Gives each line of a log the checksum of its text.
pub(crate) fn with_checksums(log: &str) -> String {
    let bodies = log.lines().filter_map(|line| Some(line.rsplit_once(",\"crc\":")?.0));
    bodies.map(line).collect()
}

/// A line of a log: what stands before its checksum, and that.
fn line(text: &str) -> String {
    format!("{text},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(text.as_bytes()))
}

fn history(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let root = ship.project("history", "{}")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    runtime.block_on(Aged::new(&root, MESSAGES))?;
    let last = MESSAGES.to_string();
    for flags in [&[][..], &["--json"]] {
        let arguments = [&["history", "--chat", "bench", "--last", &last], flags].concat();
        let printed = cost(ship, &root, &arguments)?;
        let what = format!("MB to print {MESSAGES} messages {}", flags.concat());
        report.ratio(&what, printed.megabytes, Want::AtMost(100.0));
        report.note(&format!("{:.1} s of processor", printed.seconds));
    }
    fs::remove_dir_all(root)
}

/// A file of a chat that was not written by this program, with the first line of a log.
fn foreign(root: &Path, name: &str, head: &str) -> io::Result<BufWriter<File>> {
    let path = root.join(".ship/chat/terminal%3Amain").join(name);
    let mut file = BufWriter::new(File::create(path)?);
    let head = format!(
        "{{\"seq\":1,\"type\":\"evt\",\"id\":\"e1\",\"ts\":\"{TIME}\",\"event\":\"head\",\"data\":{{\"v\":1,\"chatKey\":\"{KEY}\",{head}}}"
    );
    file.write_all(line(&head).as_bytes())?;
    Ok(file)
}

fn ledger(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let root = ship.project("ledger", "{}")?;
    ship.says(&root, "hello", 1)?;
    let inbox = format!(
        "\"contextId\":\"c_20260205_000000000001\",\"title\":null,\"gen\":0,\"sealed\":null,\"inbox\":{},\"checkpoints\":[],\"carry\":{{}}",
        LEDGER_LINES + 1
    );
    foreign(&root, "messages/history.jsonl", &inbox)?.flush()?;
    let mut file = foreign(&root, "conversations/history.jsonl", "\"archives\":0,\"open\":[]")?;
    for seq in 2..=LEDGER_LINES + 1 {
        let text = format!(
            "{{\"seq\":{seq},\"type\":\"msg\",\"key\":\"old:{seq:08}\",\"v\":1,\"ts\":1770286500000,\"role\":\"assistant\",\"text\":\"what was said long ago\",\"chatKey\":\"{KEY}\""
        );
        file.write_all(line(&text).as_bytes())?;
    }
    file.flush()?;
    let sealed = cost(ship, &root, &["send", "hello"])?;
    let what = format!("MB to seal a ledger of {LEDGER_LINES} lines and answer");
    report.ratio(&what, sealed.megabytes, Want::AtMost(100.0));
    report.note(&format!("{:.1} s of processor", sealed.seconds));
    fs::remove_dir_all(root)
}

fn foreign_log(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    for (name, text_bytes) in [("short", 300), ("long", 30_000)] {
        let root = ship.project(&format!("foreign-{name}"), "{}")?;
        ship.says(&root, "hello", 1)?;
        let head = "\"contextId\":\"c_20260205_000000000001\",\"title\":null,\"gen\":0,\"sealed\":null,\"inbox\":3,\"checkpoints\":[],\"carry\":{}";
        let mut file = foreign(&root, "messages/history.jsonl", head)?;
        let text = "all work and no play ".repeat(text_bytes / 21);
        let (mut seq, mut written) = (1, 0);
        while written < FOREIGN_BYTES {
            seq += 1;
            let role = if seq % 2 == 0 { "user" } else { "assistant" };
            let message = line(&format!(
                "{{\"seq\":{seq},\"type\":\"msg\",\"id\":\"m{seq}\",\"role\":\"{role}\",\"parts\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]"
            ));
            file.write_all(message.as_bytes())?;
            written += message.len();
        }
        file.flush()?;
        let sent = cost(ship, &root, &["send", "hello"])?;
        let what = format!("seconds of processor, first send, 62 MB of {name} lines");
        report.ratio(&what, sent.seconds, Want::AtMost(2.0));
        report.ratio("  MB", sent.megabytes, Want::AtMost(300.0));
        fs::remove_dir_all(root)?;
    }
    Ok(())
}

/// Sealed logs give way to what cannot be opened as a file; whoever reads one fails.
fn sealed_logs(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let root = ship.project("sealed", "{}")?;
    ship.says(&root, "hello", 1)?;
    cost(ship, &root, &["context", "new"])?;
    ship.says(&root, "hello", 1)?;
    let archive = root.join(".ship/chat/terminal%3Amain/messages/archive");
    for entry in fs::read_dir(archive)? {
        let path = entry?.path();
        fs::remove_file(&path)?;
        fs::create_dir(&path)?;
    }
    let failed = cost(ship, &root, &["send", "hello"]).is_err();
    report.ratio("sends that read a sealed log", f64::from(failed), Want::AtMost(0.0));
    fs::remove_dir_all(root)
}

impl Ship {
    /// A `ship` command with nobody's environment and no input.
    pub(crate) fn command(&self, root: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(root).env_clear().env("HOME", root);
        command.stdin(Stdio::null());
        command
    }
}
