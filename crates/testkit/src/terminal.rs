//! A pseudo-terminal with a command in it, and the screen that a person would see.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

/// The time after which a command that does not show what is wanted is taken for stuck.
const STUCK: Duration = Duration::from_secs(60);

/// The part of the output that a failure shows: its end.
const FAILURE_BYTES: usize = 2000;

/// The rows of [`Terminal::screen`]: so many that nothing is scrolled out of it.
const SCREEN_ROWS: NonZero<u16> = NonZero::new(1000).unwrap();

/// A terminal of some width, with a command in it. The command is killed when the terminal is dropped.
pub struct Terminal {
    ours: File,
    child: Child,
    columns: u16,
    /// Everything that was shown, and how much of it was looked at.
    shown: Vec<u8>,
    seen: usize,
}

impl Terminal {
    /// Starts a command with its three streams in a new terminal.
    pub fn open(command: Command, columns: u16) -> Self {
        let (ours, theirs) = pair(columns);
        Self::start(command, columns, ours, |command| {
            command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap());
            command.stderr(theirs);
        })
    }

    /// Starts a command whose standard output is not the terminal, as in `ship send hi > file`.
    pub fn open_with_stdout(command: Command, columns: u16, stdout: Stdio) -> Self {
        let (ours, theirs) = pair(columns);
        Self::start(command, columns, ours, |command| {
            command.stdin(theirs.try_clone().unwrap()).stdout(stdout).stderr(theirs);
        })
    }

    fn start(
        mut command: Command,
        columns: u16,
        ours: File,
        connect: impl FnOnce(&mut Command),
    ) -> Self {
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        connect(&mut command);
        let child = command.spawn().unwrap();
        Self { ours, child, columns, shown: Vec::new(), seen: 0 }
    }

    /// Reads on until `wanted` is shown, and returns everything up to its end that was not returned before.
    #[track_caller]
    pub fn until(&mut self, wanted: &str) -> String {
        let deadline = Instant::now() + STUCK;
        loop {
            let new = &self.shown[self.seen..];
            if let Some(at) = new.windows(wanted.len()).position(|at| at == wanted.as_bytes()) {
                let read = String::from_utf8_lossy(&new[..at + wanted.len()]).into_owned();
                self.seen += at + wanted.len();
                return read;
            }
            if !self.read_more(deadline) {
                let new = &self.shown[self.seen..];
                let end = &new[new.len().saturating_sub(FAILURE_BYTES)..];
                panic!("{wanted:?} is not shown: {:?}", String::from_utf8_lossy(end));
            }
        }
    }

    /// Reads on until the command has ended, and returns everything that it has shown since the last look.
    pub fn all(&mut self) -> String {
        self.read_to_end();
        let new = String::from_utf8_lossy(&self.shown[self.seen..]).into_owned();
        self.seen = self.shown.len();
        new
    }

    fn read_to_end(&mut self) {
        let deadline = Instant::now() + STUCK;
        while self.read_more(deadline) {}
    }

    /// Reads what comes next. Returns false if the command has ended, or is stuck.
    fn read_more(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap();
        let ready = poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&left)).unwrap();
        if ready == 0 {
            return false;
        }
        let mut piece = [0; 4096];
        // A terminal that no process has open on the other side cannot be read from.
        match self.ours.read(&mut piece) {
            Ok(count @ 1..) => {
                self.shown.extend_from_slice(&piece[..count]);
                true
            }
            _ => false,
        }
    }

    /// Returns the lines that were ever on the screen, without styles, as they are after everything that was read.
    /// What was erased is not there, and what was broken at the right edge is broken.
    pub fn screen(&self) -> Vec<String> {
        let columns = self.columns.try_into().unwrap();
        let mut parser = vt100::Parser::new(SCREEN_ROWS, columns, 0);
        parser.process(&self.shown);
        let rows = parser.screen().rows(0, self.columns);
        let mut lines: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
        lines
    }

    /// Types a line, and waits until the next can be typed.
    #[track_caller]
    pub fn says(&mut self, line: &str) {
        self.types(&format!("{line}\r"));
        self.until(line);
        self.until("\n");
        self.until("> ");
    }

    /// Presses these keys, one after the other.
    pub fn types(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Sends the signal of Ctrl-C, as a terminal does while no program reads its keys one by one.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Ends the command politely, as `kill` does.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Closes the window, as the system tells the command.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Stops the command and goes on with it, as Ctrl-Z and `fg` do in a shell, which has the modes of its own prompt
    /// meanwhile.
    pub fn stop_and_continue(&self) {
        self.signal(Signal::STOP);
        let mut modes = tcgetattr(&self.ours).unwrap();
        modes.local_modes.insert(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        modes.input_modes.insert(InputModes::ICRNL);
        tcsetattr(&self.ours, OptionalActions::Now, &modes).unwrap();
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Leaves, as Ctrl-D does.
    #[track_caller]
    pub fn leave(mut self) {
        self.types("\u{4}");
        assert_eq!(self.exit_code(), 0);
    }

    /// Waits until the command has ended.
    #[track_caller]
    pub fn exit_code(&mut self) -> i32 {
        // A command that still writes would wait for a reader.
        self.read_to_end();
        self.child.wait().unwrap().code().expect("it ended by itself")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A command that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the two ends of a new terminal: ours and the command's.
fn pair(columns: u16) -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).unwrap();
    (ours.into(), theirs.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_has_what_stays_and_breaks_at_the_edge() {
        let mut command = Command::new("/bin/sh");
        command.args([
            "-c",
            r"printf 'gone\r\033[2Kkept'; read key; printf '\033[1m12345678'; exit 3",
        ]);
        let mut terminal = Terminal::open(command, 6);
        terminal.until("kept");
        terminal.types("x\n");
        assert_eq!(terminal.exit_code(), 3);
        assert_eq!(terminal.screen(), ["keptx", "123456", "78"]);
    }
}
