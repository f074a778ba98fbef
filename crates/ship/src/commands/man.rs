//! `ship man`: prints or writes manual pages.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap_mangen::Man;

use crate::arguments::command_line;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(folder: Option<&Path>) -> Result<ExitCode, Failure> {
    match folder {
        Some(folder) => write(folder).map_err(|error| {
            Failure::new("output", format!("{} cannot be written: {error}", folder.display()))
                .with_hint("check the folder's permissions and the free space")
        })?,
        None => print()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print() -> Result<(), Failure> {
    let mut page = Vec::new();
    Man::new(command_line()).render(&mut page)?;
    output::print_part(&String::from_utf8_lossy(&page))
}

fn write(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command_line(), folder)
}
