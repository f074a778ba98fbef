//! `ship completions`: prints the script that completes commands in a shell.

mod candidates;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::ValueHint;
use clap_complete::engine::{ArgValueCompleter, ValueCompleter};
use clap_complete::env::CompleteEnv;

use crate::arguments::{Shell, command_line};
use crate::failure::Failure;
use crate::output;

/// The script for bash. That of clap is misled by the colon of a chat and the @ of a file.
const BASH_SCRIPT: &str = include_str!("completions/ship.bash");

/// The script for zsh. That of clap completes no title and no word with a quote or a backslash, and it quotes a ~.
const ZSH_SCRIPT: &str = include_str!("completions/ship.zsh");

/// The script for fish. With that of clap, a word with a quote or a backslash is not completed.
const FISH_SCRIPT: &str = include_str!("completions/ship.fish");

/// The variable with which a script asks this program for completions.
const VARIABLE: &str = "_SHIP_COMPLETE";

/// Answers the script and exits, if it has called the program.
pub(crate) fn answer_script() {
    let is_bash = std::env::var_os(VARIABLE).is_some_and(|shell| shell == "bash");
    let command = move || with_candidates(command_line(), is_bash);
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// Adds the names that a project has to the arguments that take them.
fn with_candidates(command: clap::Command, is_bash: bool) -> clap::Command {
    let checkpoints = move |typed: &OsStr| candidates::places(typed, is_bash);
    let folder = |argument: clap::Arg| argument.value_hint(ValueHint::DirPath);
    let command = command
        .mut_arg("project", folder)
        .mut_arg("chat", |flag| flag.add(ArgValueCompleter::new(candidates::chats)))
        .mut_subcommand("init", |command| command.mut_arg("folder", folder))
        .mut_subcommand("man", |command| command.mut_arg("folder", folder))
        .mut_subcommand("send", |command| {
            command.mut_arg("files", |flag| flag.value_hint(ValueHint::FilePath))
        });
    let command = complete_below(
        command,
        "context",
        &["load", "recall", "show"],
        "which",
        candidates::contexts,
    );
    let command =
        complete_below(command, "config", &["get", "set", "unset"], "key", candidates::settings);
    let command = complete_below(command, "config", &["set"], "value", candidates::setting_values);
    let command = complete_in(command, "send", "words", candidates::attachments);
    let command = complete_in(command, "chat", "words", candidates::attachments);
    let command = complete_in(command, "inspect", "request", candidates::requests);
    let command = complete_in(command, "logs", "request", candidates::requests);
    complete_in(complete_in(command, "fork", "at", checkpoints), "rewind", "to", checkpoints)
}

fn complete_below(
    command: clap::Command,
    group: &str,
    names: &[&str],
    argument: &'static str,
    candidates: impl ValueCompleter + Clone + 'static,
) -> clap::Command {
    command.mut_subcommand(group, |command| {
        names
            .iter()
            .fold(command, |command, name| complete_in(command, name, argument, candidates.clone()))
    })
}

fn complete_in(
    command: clap::Command,
    name: &str,
    argument: &'static str,
    candidates: impl ValueCompleter + 'static,
) -> clap::Command {
    command.mut_subcommand(name, |command| {
        command.mut_arg(argument, |argument| argument.add(ArgValueCompleter::new(candidates)))
    })
}

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Failure> {
    output::print_part(match shell {
        Shell::Bash => BASH_SCRIPT,
        Shell::Zsh => ZSH_SCRIPT,
        Shell::Fish => FISH_SCRIPT,
    })?;
    Ok(ExitCode::SUCCESS)
}
