//! The `ship` command: arguments, terminal and environment around the engine.

mod arguments;
mod chat_flags;
mod commands;
mod failure;
mod markdown;
mod output;
mod pager;
mod pipe;
mod process;
mod progress_line;
mod session;
mod style;
mod table;
mod text_for_user;

use std::process::ExitCode;

use arguments::{Arguments, Command, ConfigCommand};
use commands::config_edit::SettingChange;
use failure::Failure;
use session::{Session, TellNewFolder};
use ship_agent::ContextOperation;

fn main() -> ExitCode {
    commands::completions::answer_script();
    let arguments = Arguments::read();
    match run(&arguments) {
        Ok(code) => code,
        // The reader of the output has seen enough, as in `ship history | head -1`.
        Err(failure) if failure.is_reader_gone() => ExitCode::SUCCESS,
        Err(failure) => {
            let code = failure.exit_code();
            let failure = failure.mask_secrets(&session::environment_secrets());
            output::print_failure(&failure, arguments.json);
            code
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let threads = match arguments.command {
        Command::Chat { .. } => process::RuntimeThreads::Several,
        _ => process::RuntimeThreads::One,
    };
    let runtime = process::runtime(threads)?;
    match &arguments.command {
        Command::Init { folder } => return commands::init::run(arguments, folder.as_deref()),
        Command::Completions { shell } => return commands::completions::run(*shell),
        Command::Man { folder } => return commands::man::run(folder.as_deref()),
        Command::Config { command: Some(ConfigCommand::Set { key, value, file }) } => {
            let change = SettingChange { scope: file.scope(), key, value: Some(value) };
            return commands::config_edit::run(arguments, &change);
        }
        Command::Config { command: Some(ConfigCommand::Unset { key, file }) } => {
            let change = SettingChange { scope: file.scope(), key, value: None };
            return commands::config_edit::run(arguments, &change);
        }
        _ => {}
    }
    let session = Session::open(arguments)?;
    runtime.block_on(session.adopt_model());
    let result = runtime.block_on(run_command(&session, &arguments.command));
    session.print_budget_warnings();
    session.print_repairs();
    let is_send = matches!(arguments.command, Command::Send { .. });
    session.settle_new_folder(if is_send { TellNewFolder::Yes } else { TellNewFolder::No });
    // A thread that waits for another line of input must not delay the exit. Everything that was accepted is
    // on disk by now.
    runtime.shutdown_background();
    session.flush_log();
    result.map_err(|failure| session.complete_failure(failure))
}

async fn run_command(session: &Session, command: &Command) -> Result<ExitCode, Failure> {
    match command {
        // `run` has done these, because they need no project to be there.
        Command::Init { .. } | Command::Completions { .. } | Command::Man { .. } => {
            Ok(ExitCode::SUCCESS)
        }
        Command::Chat { words } => commands::chat::run(session, &words.join(" ")).await,
        Command::Send { words, files, .. } => commands::send::run(session, words, files).await,
        Command::Chats => commands::chats::run(session).await,
        Command::Search(flags) => commands::search::run(session, flags).await,
        Command::History { last, around, ledger } => {
            let report = |missing: &str| {
                let notice = format!("cannot start `{missing}` of $PAGER; here is the text");
                output::print_notice(&notice);
            };
            let _pager = if session.json { None } else { pager::Pager::start(report) };
            match around {
                Some(id) => commands::history::run_around(session, id, *last).await,
                None => commands::history::run(session, *last, *ledger).await,
            }
        }
        Command::Inspect { request: Some(id), raw, .. } => {
            commands::inspect::run_past(session, id, *raw).await
        }
        Command::Inspect { raw: true, .. } => Err(commands::inspect::raw_without_request()),
        Command::Inspect { requests: true, last, .. } => {
            commands::inspect::list(session, last.unwrap_or(20)).await
        }
        Command::Inspect { .. } => commands::inspect::run(session).await,
        Command::Compact { dry_run, undo, instructions } => {
            let instructions = instructions.clone();
            let flags =
                commands::compact::CompactFlags { dry_run: *dry_run, undo: *undo, instructions };
            commands::compact::run(session, flags, commands::compact::CompactPlace::Shell).await
        }
        Command::Context(command) => commands::context::run(session, &command.into()).await,
        Command::Checkpoint { name } => {
            operate(session, ContextOperation::Checkpoint { name: name.clone() }).await
        }
        Command::Fork { at, to } => {
            let to = to.as_deref().map(str::parse).transpose()?;
            operate(session, ContextOperation::Fork { at: at.clone(), to }).await
        }
        Command::Rewind { to } => {
            operate(session, ContextOperation::Rewind { to: to.clone() }).await
        }
        Command::Undo => operate(session, ContextOperation::Undo).await,
        Command::Export { format, context, all, around } => {
            let request = commands::export::ExportRequest {
                format: *format,
                context: context.as_deref(),
                has_all: *all,
                around: around.as_deref(),
            };
            commands::export::run(session, request).await
        }
        Command::Import { file, format, title, dry_run, skip_bad } => {
            let request = commands::import::ImportRequest {
                file,
                format: (*format).into(),
                title: title.clone(),
                is_dry_run: *dry_run,
                skips_bad: *skip_bad,
            };
            commands::import::run(session, request).await
        }
        Command::Verify => commands::verify::run(session).await,
        Command::Repair { dry_run } => commands::repair::run(session, *dry_run).await,
        Command::Config { command: Some(ConfigCommand::Get { key }) } => {
            commands::config::get(session, key)
        }
        Command::Config { command: Some(ConfigCommand::Other(words)) } => {
            commands::config::run_words(session, words)
        }
        Command::Config { .. } => commands::config::run(session),
        Command::Logs { follow, request } => {
            commands::logs::run(session, *follow, request.as_deref()).await
        }
    }
}

async fn operate(session: &Session, operation: ContextOperation) -> Result<ExitCode, Failure> {
    commands::context::run(session, &commands::context::ContextRequest::Do(operation)).await
}
