//! The `ship` command.

mod chat;

use clap::{Parser, Subcommand};

/// Turn a repository into an agent that never loses the thread.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  ship chat          talk to the agent\n  echo hi | ship chat  one line, one answer"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Talk to the agent, line by line; ends at the end of the input.
    Chat,
}

fn main() -> std::io::Result<()> {
    match Arguments::parse().command {
        Command::Chat => chat::run(),
    }
}
