//! The `ship` command: argv, terminal and environment around the engine.

mod arguments;
mod commands;
mod failure;
mod output;
mod session;
mod style;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use session::Session;

fn main() -> ExitCode {
    // Clap prints help and usage itself, and ends with 0 or 2.
    let arguments = Arguments::parse();
    let json = arguments.json;
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            failure.print(json);
            ExitCode::FAILURE
        }
    }
}

/// One thread is enough: what blocks is done on threads of its own.
#[tokio::main(flavor = "current_thread")]
async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Command::Init { folder } = &arguments.command {
        return commands::init::run(arguments, folder.as_deref());
    }
    let session = Session::open(arguments)?;
    match &arguments.command {
        Command::Init { .. } => Ok(ExitCode::SUCCESS),
        Command::Chat => commands::chat::run(&session).await,
        Command::Send { text } => commands::send::run(&session, text).await,
        Command::Chats => commands::chats::run(&session).await,
        Command::History { last, ledger } => commands::history::run(&session, *last, *ledger).await,
        Command::Inspect => commands::inspect::run(&session).await,
        Command::Verify => commands::verify::run(&session).await,
        Command::Config => commands::config::run(&session),
        Command::Logs { follow, request } => {
            commands::logs::run(&session, *follow, request.as_deref()).await
        }
    }
}
