//! `ship import`: the conversations of a file become contexts of a chat.

mod input_file;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ship_agent::{
    ContextFate, ConversationFile, FileFormat, ImportFailure, ImportReport, ImportWishes,
    ImportedContext, SurveyError, read_conversations,
};

use crate::failure::Failure;
use crate::output;
use crate::progress_line::{CursorPlace, ProgressLine};
use crate::session::Session;
use crate::table;
use input_file::InputFile;

/// The number of bad values that are printed.
const BAD_PRINTED: usize = 20;

/// What the person asks for.
pub(crate) struct ImportRequest<'a> {
    pub(crate) file: &'a Path,
    pub(crate) format: FileFormat,
    pub(crate) title: Option<String>,
    pub(crate) is_dry_run: bool,
    pub(crate) skips_bad: bool,
}

pub(crate) async fn run(
    session: &Session,
    request: ImportRequest<'_>,
) -> Result<ExitCode, Failure> {
    let file = survey(session, request.file, request.format).await?;
    let wishes = ImportWishes {
        title: request.title,
        skips_bad: request.skips_bad,
        is_dry_run: request.is_dry_run,
        channel: Some("terminal".to_owned()),
    };
    let agent = session.agent().await?;
    let import = agent.import(&session.chat, file, wishes);
    let report = match with_progress("importing", import).await {
        Ok(report) => report,
        Err(failure) => return Err(failure_of(session, &failure)),
    };
    match session.json {
        true => output::print_json(&report.to_json())?,
        false => print(session, &report, request.is_dry_run)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a file once, and shows how far it is.
async fn survey(
    session: &Session,
    path: &Path,
    format: FileFormat,
) -> Result<ConversationFile, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("cannot read {}: {error}", path.display());
        Failure::new("import", message).with_hint("check the path and the permissions")
    };
    let (given, folder) = (path.to_owned(), session.project.root().join(".ship"));
    // A pipe takes as long as the program behind it.
    let opening = tokio::task::spawn_blocking(move || input_file::open(&given, &folder));
    let opened = with_progress("reading", opening).await.map_err(|error| unreadable(&error))?;
    let InputFile { file: source, bytes } = opened.map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => {
            Failure::new("import", format!("{} is no file", path.display()))
        }
        _ => unreadable(&error),
    })?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&bytes_read);
    let work = tokio::task::spawn_blocking(move || {
        read_conversations(Box::new(source), format, &mut |bytes| {
            told.store(bytes, Ordering::Relaxed)
        })
    });
    let mut line = ProgressLine::begin("reading");
    tokio::pin!(work);
    let read = loop {
        tokio::select! {
            read = &mut work => break read,
            () = line.next_frame(CursorPlace::LineStart) => {
                let percent = bytes_read.load(Ordering::Relaxed) * 100 / bytes.max(1);
                line.set(format!("reading {percent} %"));
            }
        }
    };
    drop(line);
    match read {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(SurveyError::Read(error))) => Err(unreadable(&error)),
        Ok(Err(error)) => Err(unreadable(&error)),
        // The thread was stopped, or has panicked.
        Err(error) => Err(unreadable(&error)),
    }
}

async fn with_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut line = ProgressLine::begin(what);
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = line.next_frame(CursorPlace::LineStart) => {}
        }
    }
}

/// Makes a failure of an import. A person is told the bad values first.
fn failure_of(session: &Session, failure: &ImportFailure) -> Failure {
    if let ImportFailure::BadItems(report) = failure
        && !session.json
    {
        print_bad_items(report);
    }
    match failure {
        ImportFailure::Run(error) => {
            let code = error.storage().map_or("import", ship_store::StorageError::code);
            Failure::from_error(code, failure)
        }
        ImportFailure::Import(ship_store::ImportError::Storage(error)) => {
            Failure::from_error(error.code(), failure)
        }
        _ => Failure::from_error("import", failure),
    }
}

fn print_bad_items(report: &ImportReport) {
    for item in report.bad_items.iter().take(BAD_PRINTED) {
        output::print_warning(&format!("line {}: {}", item.line, item.reason));
    }
    let more = report.bad_items.len().saturating_sub(BAD_PRINTED);
    if more > 0 {
        output::print_warning(&format!("and {more} more"));
    }
}

fn print(session: &Session, report: &ImportReport, is_dry_run: bool) -> Result<(), Failure> {
    print_bad_items(report);
    for context in &report.contexts {
        output::print_line(&table::wrap_text(&sentence(context, is_dry_run), 2))?;
        let calls = context.unanswered_calls;
        if calls > 0 {
            output::print_line(&format!("  {} without a result", count(calls, "call")))?;
        }
        for (kind, number) in &context.kept_as_data {
            let kept = format!("  {number} × {kind}: kept as data, which no model is sent");
            output::print_line(&table::wrap_text(&kept, 4))?;
        }
    }
    if report.renames_messages {
        let renamed =
            "The ids of the messages have a suffix, because the chat has others with theirs.";
        output::print_line(&table::wrap_text(renamed, 0))?;
    }
    if is_dry_run {
        output::print_line("Nothing was changed.")?;
    } else if report.contexts.iter().any(|context| !context.is_active) && !report.changes_nothing()
    {
        let list = session.chat_flags.add_to("ship context list");
        let advice = format!("`{list}` shows the contexts of the chat.");
        output::print_line(&table::wrap_text(&advice, 0))?;
    }
    Ok(())
}

/// Tells what became of a conversation.
fn sentence(context: &ImportedContext, is_dry_run: bool) -> String {
    let title = context.title.as_deref().map_or(String::new(), |title| format!("“{title}” "));
    let id = &context.context;
    let messages = count(context.messages, "message");
    let done =
        |past: &str, future: &str| if is_dry_run { future.to_owned() } else { past.to_owned() };
    let how = match (context.fate, context.is_active) {
        (ContextFate::Unchanged, _) => "is there already".to_owned(),
        (ContextFate::New, true) => {
            done("is the active context now", "would be the active context")
        }
        (ContextFate::New, false) => {
            done("is an archived context now", "would be an archived context")
        }
        (ContextFate::Grown, _) => done("was brought up to date", "would be brought up to date"),
        (ContextFate::Apart, _) => done(
            "has grown, and is a context of its own now, because its context was continued here",
            "has grown, and would be a context of its own, because its context was continued here",
        ),
    };
    output::escape_unprintable(&format!("{title}{id} {how}: {messages}"))
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
