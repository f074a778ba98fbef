//! Shows long output page by page, as `git log` does: with `$PAGER`, or with `less`.

use std::io::{IsTerminal as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio::dup2_stdout;
use tokio::signal::unix::{SignalKind, signal};

/// Whether standard output leads to a pager.
static IS_PAGED: AtomicBool = AtomicBool::new(false);

/// Whether a person reads standard output, at the terminal itself or through a pager.
pub(crate) fn is_read_at_terminal() -> bool {
    is_paged() || std::io::stdout().is_terminal()
}

pub(crate) fn is_paged() -> bool {
    IS_PAGED.load(Ordering::Relaxed)
}

/// A pager that gets standard output until it is dropped.
pub(crate) struct Pager {
    child: Child,
    terminal: OwnedFd,
}

impl Pager {
    /// Starts the pager; `None` if there is no terminal or no pager, and then the output is shown at once. A program that
    /// `$PAGER` names and that does not exist is reported.
    pub(crate) fn start(report_missing: impl FnOnce(&str)) -> Option<Self> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return None;
        }
        let mut command = command()?;
        if let Some(missing) = missing_program() {
            report_missing(&missing);
            return None;
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let terminal = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
        // The pager obeys Ctrl-C itself, and must not lose its writer and its terminal by it.
        let _ = signal(SignalKind::interrupt());
        dup2_stdout(child.stdin.take()?).ok()?;
        IS_PAGED.store(true, Ordering::Relaxed);
        Some(Self { child, terminal })
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // The pager ends when its input does. If it is gone already, its reader has seen enough, and what it did not
        // take must not appear behind it.
        let _ = match std::io::stdout().flush() {
            Ok(()) => dup2_stdout(&self.terminal),
            Err(_) => std::fs::File::create("/dev/null").map_or(Ok(()), dup2_stdout),
        };
        let _ = self.child.wait();
        IS_PAGED.store(false, Ordering::Relaxed);
    }
}

/// Returns the command of the pager. An empty `$PAGER` or `cat` means that none is wanted.
fn command() -> Option<Command> {
    let wanted = std::env::var_os("PAGER");
    let mut command = match &wanted {
        Some(pager) if pager.is_empty() || pager == "cat" => return None,
        Some(pager) => {
            let mut command = Command::new("sh");
            command.arg("-c").arg(pager);
            command
        }
        None => Command::new("less"),
    };
    if std::env::var_os("LESS").is_none() {
        // Colours are shown, and what fits on the screen needs no key and stays there.
        command.env("LESS", "FRX");
    }
    Some(command)
}

/// Returns the program that `$PAGER` names if it does not exist. The shell that starts it would say so too late: the
/// text would be gone. Of a script, which may begin with anything, the program is not known.
fn missing_program() -> Option<String> {
    let pager = std::env::var("PAGER").ok()?;
    let is_assignment = |word: &&str| word.contains('=');
    let program = pager.split_whitespace().find(|word| !is_assignment(word))?;
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+".contains(c);
    if !program.chars().all(is_plain) {
        return None;
    }
    let mut lookup = Command::new("sh");
    lookup.args(["-c", r#"command -v -- "$1""#, "sh", program]);
    let found = lookup.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|found| !found.success()).then(|| program.to_owned())
}
