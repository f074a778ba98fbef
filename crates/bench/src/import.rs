//! Imports: what a file of 100,000 messages costs, in an empty chat and in one in use, and what it costs again.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ship_message::json::Json;

use crate::large::{Cost, cost};
use crate::report::{Report, Want};
use crate::ship::Ship;

const MESSAGES: usize = 100_000;
const MESSAGE_BYTES: usize = 600;
const SECONDS_MAX: f64 = 30.0;
const MEGABYTES_MAX: f64 = 200.0;

/// What people say, in several languages.
const SAID: [&str; 4] = [
    "The quick plan for the harbour needs pumps, leeks and a second look at page 42. ",
    "我们明天上午十点讨论数据库的迁移计划，请带上预算表和上次的会议记录。",
    "Der Termin am Donnerstag fällt aus, bitte schick mir die Zahlen vom Quartal. ",
    "港の計画は来週までに見直します。資料は src/main.rs と README を参照してください。",
];

/// Measures the `ship` that was built beside this program, in projects below `folder`.
///
/// # Errors
/// When a project cannot be written or `ship` does not answer.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section("Import: 100,000 messages of 600 bytes, in mixed languages");
    let Some(program) = crate::ship::built() else {
        report.skipped("there is no `ship` beside this program; build it with the same profile");
        return Ok(());
    };
    let folder = tempfile::tempdir_in(folder)?;
    let ship = Ship { program, folder: folder.path().to_owned() };
    let (lines, list) = (folder.path().join("lines.jsonl"), folder.path().join("list.json"));
    write_file(&lines, ["", "\n", ""])?;
    write_file(&list, ["[", ",", "]"])?;
    for (name, file, is_used) in [
        ("an empty chat", &lines, false),
        ("a chat in use", &lines, true),
        ("one JSON list", &list, true),
    ] {
        let root = ship.project(&name.replace(' ', "-"), "{}")?;
        if is_used {
            ship.says(&root, "hello", 3)?;
        }
        let file = file.to_string_lossy();
        let import = ["import", "--format", "uimessage", &file];
        told(report, name, &cost(&ship, &root, &import)?);
        let again = cost(&ship, &root, &import)?;
        report.note(&format!("{name}, again: {:.1} s, {:.0} MB", again.seconds, again.megabytes));
        let export = cost(&ship, &root, &["export", "--format", "uimessage", "--all"])?;
        report
            .note(&format!("{name}, export: {:.1} s, {:.0} MB", export.seconds, export.megabytes));
    }
    Ok(())
}

fn told(report: &mut Report<'_>, name: &str, cost: &Cost) {
    report.ratio(&format!("{name}: seconds of processor"), cost.seconds, Want::AtMost(SECONDS_MAX));
    report.ratio(&format!("{name}: MB of memory"), cost.megabytes, Want::AtMost(MEGABYTES_MAX));
}

/// Writes the messages, with texts before, between and behind them.
fn write_file(path: &Path, [before, between, behind]: [&str; 3]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write!(file, "{before}")?;
    for nth in 0..MESSAGES {
        let role = if nth % 2 == 0 { "user" } else { "assistant" };
        let mut text = format!("{nth}: ");
        while text.len() < MESSAGE_BYTES {
            text.push_str(SAID[(nth + text.len()) % SAID.len()]);
        }
        let text = Json::from(text);
        let ts = 1_700_000_000_000 + nth as u64 * 60_000;
        let mark = if nth == 0 { "" } else { between };
        write!(
            file,
            r#"{mark}{{"id":"m{nth}","role":"{role}","metadata":{{"ts":{ts}}},"parts":[{{"type":"text","text":{text}}}]}}"#
        )?;
    }
    write!(file, "{behind}")?;
    file.flush()
}
