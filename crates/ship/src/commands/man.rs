//! `ship man`: prints or writes manual pages.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::arguments::command_line;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(folder: Option<&Path>) -> Result<ExitCode, Failure> {
    let mut command = command_line().disable_help_subcommand(true);
    command.build();
    match folder {
        Some(folder) => write(&command, folder).map_err(|error| {
            Failure::new("output", format!("{} cannot be written: {error}", folder.display()))
                .with_hint("check the folder's permissions and the free space")
        })?,
        None => output::print_part(&String::from_utf8_lossy(&page(&command)?.1))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a command and of those below it.
fn write(command: &clap::Command, folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let (name, page) = page(command)?;
    fs::write(folder.join(name), page)?;
    let mut below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.try_for_each(|command| write(command, folder))
}

/// Returns the file name and the text of a page. Its synopsis is the usage of the help, which names the values of flags,
/// and the end of the help has sections of its own.
fn page(command: &clap::Command) -> std::io::Result<(String, Vec<u8>)> {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let command = command.override_usage(usage);
    let after_help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.get_subcommands().any(|command| !command.is_hide_set());
    let (number, date) = version();
    let man = Man::new(command).source(format!("ship {number}")).date(date).manual("Shipmate");

    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    write_help_sections(&after_help, &mut page)?;
    Ok((man.get_filename(), page))
}

/// Returns the number of the version and the date of its commit, which is empty where it is not known.
fn version() -> (&'static str, &'static str) {
    let (number, commit) =
        env!("SHIP_VERSION").split_once(' ').unwrap_or((env!("SHIP_VERSION"), ""));
    (number, commit.trim_end_matches(')').split(' ').nth(1).unwrap_or_default())
}

/// Writes the end of a help text as sections, with its lines as they are.
fn write_help_sections(help: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut roff = Roff::new();
    let mut above = "";
    for block in help.split("\n\n").filter(|block| !block.is_empty()) {
        let (title, text) = match block.split_once(':') {
            Some(("Examples" | "Example", text)) => ("EXAMPLES", text.trim_start_matches('\n')),
            Some(("Exit codes", text)) => ("EXIT STATUS", text.trim_start()),
            _ => ("NOTES", block),
        };
        match title == above {
            true => roff.control("PP", []),
            false => roff.control("SH", [title]),
        };
        above = title;
        roff.control("nf", []);
        text.lines().for_each(|line| {
            roff.text([roman(line)]);
        });
        roff.control("fi", []);
    }
    roff.to_writer(page)
}
