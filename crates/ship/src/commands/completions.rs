//! `ship completions`: prints the script that completes commands in a shell.

use std::process::ExitCode;

use clap_complete::env::{CompleteEnv, Shells};

use crate::arguments::{Shell, command_line};
use crate::failure::Failure;
use crate::output;

/// The variable with which the script asks this program for completions.
const VARIABLE: &str = "_SHIP_COMPLETE";

/// Answers the script and exits, if it has called the program.
pub(crate) fn answer_script() {
    CompleteEnv::with_factory(command_line).var(VARIABLE).complete();
}

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Failure> {
    let name = match shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
    };
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(name) {
        shell.write_registration(VARIABLE, "ship", "ship", "ship", &mut script)?;
    }
    output::print_part(String::from_utf8_lossy(&script).trim_start())?;
    Ok(ExitCode::SUCCESS)
}
