//! What the `ship` command costs: a start, a turn, and the bytes that a turn writes.
//!
//! These are limits and no ratios, so they are counted in what depends least on the machine's mood: time on
//! the processor, and bytes handed to the system.

mod turn;

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::processor;
use crate::report::{Report, Want};

const STARTS: u32 = 20;
/// How often the starts of an old chat and of a young one are measured beside each other.
const STARTS_BESIDE: u32 = 3;
const TURNS_FOR_BYTES: u32 = 50;

/// The kernel tells processor time in hundredths of a second, whatever it counts in itself.
const TICK_MS: f64 = 10.0;

/// Measures the `ship` that was built beside this program, in projects below `folder`.
///
/// # Errors
/// When a project cannot be written or `ship` does not answer.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section("Ship: processor time of the command, and bytes that a turn writes");
    let Some(program) = built() else {
        report.skipped("there is no `ship` beside this program; build it with the same profile");
        return Ok(());
    };
    if !Path::new("/proc/self/io").exists() {
        report.skipped("this system does not tell what a process does in /proc");
        return Ok(());
    }
    let folder = tempfile::tempdir_in(folder)?;
    let ship = Ship { program, folder: folder.path().to_owned() };
    start(&ship, report)?;
    old_start(&ship, report)?;
    turn::bench(&ship, report)?;
    bytes(&ship, report)
}

/// The `ship` that was built beside this program.
pub(crate) fn built() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name("ship");
    program.is_file().then_some(program)
}

/// A built `ship`, and where its projects go.
pub(crate) struct Ship {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Ship {
    pub(crate) fn project(&self, name: &str, settings: &str) -> io::Result<PathBuf> {
        let root = self.folder.join(name);
        fs::create_dir_all(&root)?;
        fs::write(root.join("ship.json"), settings)?;
        Ok(root)
    }

    /// `ship chat` with nobody's environment, and its input in our hands.
    pub(crate) fn chat(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("chat").current_dir(root).env_clear().env("HOME", root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// Says something a number of times, one line each, to one process that reads them one by one.
    pub(crate) fn says(&self, root: &Path, line: &str, times: u32) -> io::Result<()> {
        let mut talk = Talk::begin(self.chat(root))?;
        for _ in 0..times {
            talk.turn(line)?;
        }
        talk.end()
    }
}

/// A chat that goes on.
struct Talk {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Talk {
    fn begin(mut command: Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        Ok(Self { child, stdin, stdout })
    }

    /// Says a line, and reads the answer, which is one line as well. Gives its length.
    fn turn(&mut self, line: &str) -> io::Result<usize> {
        self.stdin.write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        match self.stdout.read_line(&mut answer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => Ok(bytes),
        }
    }

    /// All bytes that the process has written so far, wherever to.
    fn written(&self) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/io", self.child.id()))?;
        let count = text.lines().find_map(|line| line.strip_prefix("wchar: "));
        count.and_then(|count| count.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The processor time of the present threads of the process, in milliseconds.
    fn processor_ms(&self) -> f64 {
        processor::time_of_process(self.child.id()).as_secs_f64() * 1e3
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.stdin);
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("ship: {status}"))) }
    }
}

/// The processor time of all children that have ended, in milliseconds.
fn children_ms() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name and may hold spaces; the times are the 16th and 17th.
    let (_, rest) = stat.rsplit_once(')').ok_or(io::ErrorKind::InvalidData)?;
    let ticks: f64 = rest.split_whitespace().skip(13).take(2).flat_map(str::parse::<f64>).sum();
    Ok(ticks * TICK_MS)
}

/// The processor time that something needs in child processes, in milliseconds.
pub(crate) fn spent(work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let before = children_ms()?;
    work()?;
    Ok(children_ms()? - before)
}

/// From start to prompt, as a person sees it: in a terminal, with the line editor open.
fn start(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let root = ship.project("start", "{}")?;
    ship.says(&root, "hello", 20)?;
    let began = Instant::now();
    let all = spent(|| (0..STARTS).try_for_each(|_| crate::terminal::to_prompt(ship.chat(&root))))?;
    let waited = began.elapsed() / STARTS;
    let each = all / f64::from(STARTS);
    report.ratio("ms of processor from start to prompt", each, Want::AtMost(30.0));
    report.note(&format!("{:.1} ms by the clock, the end included", waited.as_secs_f64() * 1000.0));
    Ok(())
}

/// Compares a start in an old chat with one in a young chat.
fn old_start(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let chat = |turns| {
        let root = ship.project(&format!("turns-{turns}"), r#"{ "durability": "flush" }"#)?;
        ship.says(&root, "hello there, how are you?", turns)?;
        io::Result::Ok(root)
    };
    let (young, old) = (chat(20)?, chat(2_000)?);
    let start = |root: &Path| {
        let starts = || (0..STARTS).try_for_each(|_| crate::terminal::to_prompt(ship.chat(root)));
        io::Result::Ok(spent(starts)? / f64::from(STARTS))
    };
    let (mut first, mut last) = (0.0, 0.0);
    // One beside the other, so that whatever else the machine does disturbs both.
    for _ in 0..STARTS_BESIDE {
        first += start(&young)?;
        last += start(&old)?;
    }
    report.limit("processor to the prompt at 2,000 turns over 20", last / first, 1.5, 1.2);
    let each = |all: f64| all / f64::from(STARTS_BESIDE);
    report.note(&format!("{:.1} ms and {:.1} ms", each(last), each(first)));
    Ok(())
}

/// What a turn hands to the system in ledger, context, journal and records: everything that the process
/// wrote, less what it printed and logged. Growth of files would not do: the journal begins anew each time.
fn bytes(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    for size in [20, 2_000, 20_000] {
        // A turn is measured, not the compaction that a hundred of them lead to.
        let settings = r#"{"context":{"history":{"maxInputTokensApprox":100000000}}}"#;
        let root = ship.project(&format!("bytes-{size}"), settings)?;
        let line = "x".repeat(size);
        let mut talk = Talk::begin(ship.chat(&root))?;
        // What follows an answer is written while the next line is read, so turns are counted from
        // answer to answer.
        talk.turn(&line)?;
        let (before, logged) = (talk.written()?, files_len(&root.join(".ship/logs"))?);
        let mut printed = 0;
        for _ in 0..TURNS_FOR_BYTES {
            printed += talk.turn(&line)?;
        }
        let logged = files_len(&root.join(".ship/logs"))? - logged;
        let all = talk.written()? - before - logged - printed as u64;
        talk.end()?;
        let each = all as f64 / f64::from(TURNS_FOR_BYTES);
        let payload = size as f64 + printed as f64 / f64::from(TURNS_FOR_BYTES);
        let what = format!("bytes of a turn of {payload:.0} over 2.5 times that and 3 KB");
        report.ratio(&what, each / (2.5 * payload + 3.0 * 1024.0), Want::AtMost(1.0));
        report.note(&format!(
            "{each:.0} bytes written, and {} logged",
            logged / u64::from(TURNS_FOR_BYTES)
        ));
    }
    Ok(())
}

/// Returns the bytes of the files in a folder, none if it is not there: a log begins a moment after its first line.
fn files_len(folder: &Path) -> io::Result<u64> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        files => files?,
    };
    files.map(|entry| Ok(entry?.metadata()?.len())).sum()
}
