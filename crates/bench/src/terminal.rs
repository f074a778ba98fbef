//! A terminal for a program that wants one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// What `ship chat` shows when it waits for a line.
const PROMPT: &[u8] = b"> ";

/// What a person types to leave.
const CTRL_D: &[u8] = &[4];

/// Runs a program in a terminal of its own until it shows its prompt, and has it leave.
pub(crate) fn to_prompt(mut command: Command) -> io::Result<()> {
    let (mut ours, theirs) = pair()?;
    command.env("TERM", "xterm-256color");
    command.stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs));
    let mut child = command.spawn()?;
    // It holds the other end too; without it the end of the program is the end of what can be read.
    drop(command);
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    while !shown.windows(PROMPT.len()).any(|window| window == PROMPT) {
        match ours.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => shown.extend_from_slice(&piece[..read]),
        }
    }
    ours.write_all(CTRL_D)?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("ship: {status}"))) }
}

/// The two ends of a new terminal.
fn pair() -> io::Result<(File, File)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    Ok((ours.into(), theirs.into()))
}
