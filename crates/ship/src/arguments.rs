//! Defines the command line.

mod config;
mod context;
mod moments;
mod search;
#[cfg(test)]
mod tested_options;
mod usage;

use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use ship_agent::FileFormat;

use crate::output::quote_for_shell;
use crate::pipe::is_piped;
pub(crate) use config::ConfigCommand;
pub(crate) use context::ContextCommand;
pub(crate) use search::SearchFlags;
pub(crate) use usage::parse_model;
use usage::{keep_close_tips, parse_count};

/// The chat that is used if none is named.
pub(crate) const DEFAULT_CHAT: &str = "terminal:main";

const EXAMPLES: &str = "Examples:
  ship init                      make this folder a project
  ship chat                      talk to the agent
  ship send 'hello'              one message, one answer
  ship send -f notes.txt 'what is this about?'
  ship history --last 5          what was said
  ship search 'the price'        find it again
  ship context new Dinner        begin a clean context
  ship undo                      take that back
  ship inspect                   what the model would see

Exit codes: 0 done, 1 not done, 2 wrong usage, 3 a frozen process holds the chat (what you sent is kept),
  129 the terminal was closed, 130 stopped with Ctrl-C, 143 ended by SIGTERM";

/// What `ship` alone prints: enough to begin.
const FIRST_HELP: &str = "Turn a folder into an agent that never loses the thread.

  ship chat           talk to the agent
  ship send 'hello'   one message, one answer
  ship history        what was said
  ship inspect        what the model would see
  ship init           write settings and a role to edit

`ship --help` lists all commands and options.
`ship COMMAND --help` has examples.
";

const SEND_HELP: &str =
    "A pipe or a file on standard input is read to its end and sent behind the text;
</dev/null leaves it out, for example in a loop that reads a file.
A file is attached with -f, or with @ before its path in the text. A word that names no file stays text.

Examples:
  ship send hello
  ship send 'quotes keep what a shell would change: $5?'
  git diff | ship send 'review this'
  ship send < question.txt
  ship send 'what is new in @CHANGELOG.md?'
  ship send -f screen.png -f notes.txt 'what do you see?'";

const COMPLETIONS_HELP: &str = "The script asks `ship` itself, so it knows your chats and contexts.

bash, in ~/.bashrc:
  source <(ship completions bash)
zsh, in ~/.zshrc after compinit:
  source <(ship completions zsh)
fish, in ~/.config/fish/config.fish:
  ship completions fish | source";

const IMPORT_HELP: &str =
    "In an empty chat the last conversation of the file is the active context; otherwise all are archived contexts.
All or nothing. The same file again changes nothing, and one that has grown brings its context up to date.

Examples:
  ship import --format claude-code session.jsonl --dry-run
  ship import --format openai messages.json --title Dinner
  ship import --format chatgpt conversations.json --chat terminal:chatgpt --skip-bad";

/// The heading of the flags that every command has, so that its own come first.
const GLOBAL: &str = "Global options";

/// The global flags that say nothing to a command.
const MEANINGLESS: [(&str, &[&str]); 17] = [
    ("chats", &["chat", "model"]),
    ("checkpoint", &["model"]),
    ("completions", &["chat", "json", "model", "project"]),
    ("config", &["chat", "model"]),
    ("context", &["model"]),
    ("export", &["model"]),
    ("fork", &["model"]),
    ("history", &["model"]),
    ("import", &["model"]),
    ("init", &["chat", "model"]),
    ("logs", &["model"]),
    ("man", &["chat", "json", "model", "project"]),
    ("repair", &["chat", "model"]),
    ("rewind", &["model"]),
    ("search", &["model"]),
    ("undo", &["model"]),
    ("verify", &["chat", "model"]),
];

/// Turn a folder into an agent that never loses the thread.
#[derive(Parser)]
#[command(name = "ship", version = env!("SHIP_VERSION"), after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The project's folder [default: this one, or the nearest project above it]
    #[arg(long, value_name = "DIR", global = true, env = "SHIP_PROJECT", hide_env_values = true)]
    #[arg(help_heading = GLOBAL)]
    pub(crate) project: Option<PathBuf>,
    /// The chat to work with; main means terminal:main where only that exists
    #[arg(long, value_name = "KEY", global = true, env = "SHIP_CHAT", hide_env_values = true)]
    #[arg(default_value = DEFAULT_CHAT, help_heading = GLOBAL)]
    pub(crate) chat: String,
    /// The model for this command [default: the chat's]
    #[arg(long, value_name = "NAME", global = true, help_heading = GLOBAL)]
    #[arg(value_parser = parse_model)]
    pub(crate) model: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    #[command(flatten)]
    early: EarlyFlags,
    /// The flags of project and chat that are on the command line, and not in the environment.
    #[arg(skip)]
    pub(crate) flags: GivenFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Says which flags the person wrote.
#[derive(Clone, Copy, Default)]
pub(crate) struct GivenFlags {
    pub(crate) project: bool,
    pub(crate) chat: bool,
}

impl GivenFlags {
    fn new(matches: &ArgMatches) -> Self {
        let is_given = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
        Self { project: is_given("project"), chat: is_given("chat") }
    }
}

/// Flags of single commands that stand before them. They are shown with their commands.
#[derive(clap::Args)]
struct EarlyFlags {
    #[arg(long = "last", value_name = "N", hide = true, value_parser = parse_count)]
    early_last: Option<usize>,
    #[arg(long = "ledger", hide = true)]
    early_ledger: bool,
    #[arg(long = "follow", hide = true)]
    early_follow: bool,
    #[arg(long = "request", value_name = "ID", hide = true)]
    early_request: Option<String>,
    #[arg(long = "requests", hide = true)]
    early_requests: bool,
    #[arg(long = "raw", hide = true)]
    early_raw: bool,
}

impl Arguments {
    /// Reads the command line. Prints help and usage itself, and then exits with 0 or 2.
    pub(crate) fn read() -> Self {
        if std::env::args_os().len() < 2 {
            // If standard error is gone, there is no reader to inform.
            let _ = std::io::stderr().write_all(FIRST_HELP.as_bytes());
            std::process::exit(2);
        }
        let matches = command_line().try_get_matches();
        let matches = matches.unwrap_or_else(|error| keep_close_tips(error).exit());
        let mut arguments = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        arguments.flags = GivenFlags::new(&matches);
        if let Err(flag) = arguments.command.take_flags(&mut arguments.early) {
            let sentence = format!("the argument '{flag}' does not belong to this command");
            Self::command().error(ErrorKind::UnknownArgument, sentence).exit();
        }
        let problem = unused_flag_problem(&matches)
            .or_else(|| inspect_usage_problem(&arguments.command))
            .or_else(|| send_usage_problem(&arguments.command));
        if let Some((kind, sentence)) = problem {
            let mut command = command_line();
            command.build();
            let name = matches.subcommand_name().unwrap_or_default();
            if let Some(command) = command.find_subcommand_mut(name) {
                command.error(kind, sentence).exit();
            }
        }
        arguments
    }
}

/// Returns the command line. The help of a command is silent about a flag that it does not use.
pub(crate) fn command_line() -> clap::Command {
    let command = Arguments::command().mut_args(ignore_empty_variable);
    let global: Vec<clap::Arg> =
        command.get_arguments().filter(|flag| flag.is_global_set()).cloned().collect();
    let chat = global.iter().find(|flag| flag.get_id() == "chat");
    let chat_of_logs = chat.map(|flag| {
        let flag = flag.clone().help("Only the lines of this chat [default: those of all chats]");
        flag.hide_default_value(true).hide_env(true)
    });
    let command = command.mut_subcommand("logs", |command| command.args(chat_of_logs));
    MEANINGLESS.iter().fold(command, |command, (name, flags)| {
        let hidden = global.iter().filter(|flag| flags.contains(&flag.get_id().as_str()));
        let hidden: Vec<_> = hidden.map(|flag| flag.clone().hide(true)).collect();
        command.mut_subcommand(name, |command| {
            let command = command.args(&hidden);
            command.mut_subcommands(|command| command.args(&hidden))
        })
    })
}

/// Takes an empty variable for one that is not set.
fn ignore_empty_variable(flag: clap::Arg) -> clap::Arg {
    let is_empty = |name| std::env::var_os(name).is_some_and(|value| value.is_empty());
    if flag.get_env().is_some_and(is_empty) { flag.env(Resettable::Reset) } else { flag }
}

/// Returns what is wrong with a flag on the command line that the command does not use. A variable of the environment
/// concerns all commands, and may be set.
fn unused_flag_problem(matches: &ArgMatches) -> Option<(ErrorKind, String)> {
    let name = matches.subcommand_name()?;
    let (_, flags) = MEANINGLESS.iter().find(|(command, _)| *command == name)?;
    let is_given = |flag: &&&str| matches.value_source(flag) == Some(ValueSource::CommandLine);
    let flag = flags.iter().find(is_given)?;
    let sentence = format!("`ship {name}` does not use '--{flag}'; leave it out");
    Some((ErrorKind::UnknownArgument, sentence))
}

/// Returns what is wrong with an `inspect` that limits a list without asking for one.
fn inspect_usage_problem(command: &Command) -> Option<(ErrorKind, String)> {
    let Command::Inspect { last: Some(_), requests: false, .. } = command else { return None };
    let sentence = "'--last' needs '--requests'".to_owned();
    Some((ErrorKind::MissingRequiredArgument, sentence))
}

/// Returns what is wrong with a `send` that says nothing, and the command to write instead.
fn send_usage_problem(command: &Command) -> Option<(ErrorKind, String)> {
    let Command::Send { words, files, message } = command else { return None };
    if let Some(message) = message {
        let quoted = quote_for_shell(message);
        let sentence = format!(
            "the text needs no flag: ship send {quoted}\n\n  --model chooses another model"
        );
        return Some((ErrorKind::UnknownArgument, sentence));
    }
    if !words.is_empty() || is_piped() {
        return None;
    }
    let files =
        files.iter().map(|file| format!("-f {} ", quote_for_shell(&file.to_string_lossy())));
    let files: String = files.collect();
    let sentence = match files.as_str() {
        "" => "there is nothing to send; write a text: ship send 'hello'".to_owned(),
        files => format!("a file needs a text with it: ship send {files}'what is this about?'"),
    };
    Some((ErrorKind::MissingRequiredArgument, sentence))
}

/// A shell with completions.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// A format that is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    // Messages of the AI SDK, one line for each
    #[value(name = "uimessage")]
    UiMessage,
    // The lines of a conversation file
    Entries,
    // Messages of OpenAI's chat completions, one line for each
    #[value(name = "openai")]
    OpenAi,
    // A text to read
    Markdown,
}

/// A format that is read.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ImportFormat {
    // Messages of the AI SDK
    #[value(name = "uimessage")]
    UiMessage,
    // The entries of a conversation file
    Entries,
    // Messages of OpenAI's chat completions
    #[value(name = "openai")]
    OpenAi,
    // A session of Claude Code
    ClaudeCode,
    // A session of Codex
    Codex,
    // An export of ChatGPT
    #[value(name = "chatgpt")]
    ChatGpt,
}

impl From<ImportFormat> for FileFormat {
    fn from(format: ImportFormat) -> Self {
        match format {
            ImportFormat::UiMessage => Self::UiMessage,
            ImportFormat::Entries => Self::Entries,
            ImportFormat::OpenAi => Self::OpenAi,
            ImportFormat::ClaudeCode => Self::ClaudeCode,
            ImportFormat::Codex => Self::Codex,
            ImportFormat::ChatGpt => Self::ChatGpt,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write Agent.md and ship.json into a folder; nothing is overwritten
    Init {
        /// The folder [default: --project, else this one]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Talk to the agent; piped lines are answered one by one
    #[command(
        after_help = "Examples:\n  ship chat\n  ship chat 'hello'\n  printf 'hello\\nbye\\n' | ship chat"
    )]
    Chat {
        /// The first thing to say
        #[arg(value_name = "TEXT")]
        words: Vec<String>,
    },
    /// Send one message and print the answer
    #[command(
        after_help = SEND_HELP
    )]
    Send {
        /// What to say; without it, or with -, all of it is read from standard input
        #[arg(value_name = "TEXT")]
        words: Vec<String>,
        /// A text or a picture to attach; can be given again
        #[arg(short, long = "file", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// What other programs call the text or the model; it is refused with advice.
        #[arg(short = 'm', long = "message", hide = true)]
        message: Option<String>,
    },
    /// List the chats of the project
    Chats,
    /// Find what was said, in all contexts of a chat, best first
    Search(SearchFlags),
    /// Print what was said in a chat, oldest first
    #[command(
        after_help = "A terminal shows it in $PAGER, or else in less; PAGER=cat prints it at once.\n\nExamples:\n  ship history --last 5\n  ship history --around u_17\n  ship history --ledger\n  ship history --json | head"
    )]
    History {
        /// How many of the newest to print
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = parse_count)]
        last: usize,
        /// Print what was said before and after a message, by its id from ship search
        #[arg(long, value_name = "ID", conflicts_with = "ledger")]
        around: Option<String>,
        /// Print the ledger: what came in and went out
        #[arg(long)]
        ledger: bool,
    },
    /// Show what the model would see now, or saw in an earlier request, with tokens
    #[command(
        after_help = "Examples:\n  ship inspect\n  ship inspect --requests\n  ship inspect --request q_0123456789abcdef\n  ship inspect --request q_0123456789abcdef --raw | sha256sum"
    )]
    Inspect {
        /// An earlier request: its id, or the request id of a message
        #[arg(long, value_name = "ID", conflicts_with = "requests")]
        request: Option<String>,
        /// Print the body of that request, byte for byte
        #[arg(long)]
        raw: bool,
        /// List earlier requests
        #[arg(long)]
        requests: bool,
        /// How many of the newest to list, with --requests [default: 20]
        #[arg(long, value_name = "N", value_parser = parse_count)]
        last: Option<usize>,
    },
    /// Make room: older messages become a summary, and the originals are kept
    #[command(
        after_help = "Examples:\n  ship compact --dry-run\n  ship compact --instructions 'keep all prices'\n  ship compact --undo"
    )]
    Compact {
        /// Tell what would be done, and change nothing
        #[arg(long, conflicts_with = "undo")]
        dry_run: bool,
        /// Bring the originals back
        #[arg(long)]
        undo: bool,
        /// What the summary should keep in particular
        #[arg(long, value_name = "TEXT", conflicts_with_all = ["undo", "dry_run"])]
        instructions: Option<String>,
    },
    /// Switch between the contexts of a chat, and look at them
    #[command(
        subcommand,
        after_help = "Examples:\n  ship context list\n  ship context new Dinner\n  ship context load 'database plan'\n  ship context load -"
    )]
    Context(ContextCommand),
    /// Give this point a name, to come back to
    #[command(after_help = "Example:\n  ship checkpoint 'before the rewrite'")]
    Checkpoint {
        /// The name of the checkpoint
        name: String,
    },
    /// Continue in a copy, here or in another chat
    #[command(
        after_help = "Examples:\n  ship fork\n  ship fork --at 'before the rewrite'\n  ship fork --to terminal:try"
    )]
    Fork {
        /// Where the copy ends: a checkpoint or a message id [default: the newest message]
        #[arg(long, value_name = "NAME|ID")]
        at: Option<String>,
        /// A new chat for the copy [default: this chat]
        #[arg(long, value_name = "CHAT")]
        to: Option<String>,
    },
    /// Go back to an earlier point; what followed is kept as a context
    #[command(
        after_help = "Examples:\n  ship rewind 'before the rewrite'\n  ship rewind u_17    (ship history --json tells ids)"
    )]
    Rewind {
        /// The checkpoint, or the id of a message
        #[arg(value_name = "NAME|ID")]
        to: String,
    },
    /// Undo the last new, load, clear, fork, rewind, rename, checkpoint or recall; a second undo restores it
    Undo,
    /// Print the messages of a context in a format of other programs
    #[command(
        after_help = "Examples:\n  ship export --format markdown > talk.md\n  ship export --format uimessage --context dinner\n  ship export --format openai --all\n  ship export --format uimessage --around u_17"
    )]
    Export {
        /// What is written
        #[arg(long)]
        format: ExportFormat,
        /// The context: its id, or words of its title [default: the active one]
        #[arg(long, value_name = "ID")]
        context: Option<String>,
        /// All contexts of the chat
        #[arg(long, conflicts_with = "context")]
        all: bool,
        /// Only this message and those beside it
        #[arg(long, value_name = "ID")]
        around: Option<String>,
    },
    /// Make contexts of the conversations in a file of another program
    #[command(after_help = IMPORT_HELP)]
    Import {
        /// The file to read, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What the file has
        #[arg(long)]
        format: ImportFormat,
        /// The title of the file's last conversation
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// Tell what would be done, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Leave out what cannot be read
        #[arg(long)]
        skip_bad: bool,
    },
    /// Look for damage in every chat; changes nothing
    Verify,
    /// Repair damage in every chat; what cannot be repaired is listed as known
    #[command(after_help = "Examples:\n  ship repair --dry-run\n  ship repair")]
    Repair {
        /// Tell what would be done, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show all settings and where they come from, or change one
    #[command(
        after_help = "Examples:\n  ship config\n  ship config get llm.maxTokens\n  ship config set llm.maxTokens 2000\n  ship config set --user llm.retries 2"
    )]
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Print what the agent did, line by line
    #[command(
        after_help = "Examples:\n  ship logs --follow\n  ship logs --chat main\n  ship logs --request req_0123456789abcdef"
    )]
    Logs {
        /// Keep printing new lines
        #[arg(long)]
        follow: bool,
        /// Only the lines of this request, by an id from `ship inspect --requests`
        #[arg(long, value_name = "ID")]
        request: Option<String>,
    },
    /// Print the script that completes `ship` commands in your shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell that the script is for
        shell: Shell,
    },
    /// Print the manual page of `ship`, or write a page for each command
    #[command(after_help = "Examples:\n  ship man | man -l -\n  ship man ~/.local/share/man/man1")]
    Man {
        /// The folder for the pages; it is made if it is missing
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

impl Command {
    /// Takes the flags that stand before the command. Fails with a flag that is not its own.
    fn take_flags(&mut self, early: &mut EarlyFlags) -> Result<(), &'static str> {
        match self {
            Self::History { last, ledger, .. } => {
                *last = early.early_last.take().unwrap_or(*last);
                *ledger |= std::mem::take(&mut early.early_ledger);
            }
            Self::Inspect { request, raw, requests, last } => {
                *request = request.take().or(early.early_request.take());
                *raw |= std::mem::take(&mut early.early_raw);
                *requests |= std::mem::take(&mut early.early_requests);
                *last = early.early_last.take().or(*last);
            }
            Self::Logs { follow, request } => {
                *follow |= std::mem::take(&mut early.early_follow);
                *request = request.take().or(early.early_request.take());
            }
            _ => {}
        }
        match early {
            EarlyFlags { early_last: Some(_), .. } => Err("--last"),
            EarlyFlags { early_ledger: true, .. } => Err("--ledger"),
            EarlyFlags { early_follow: true, .. } => Err("--follow"),
            EarlyFlags { early_request: Some(_), .. } => Err("--request"),
            EarlyFlags { early_requests: true, .. } => Err("--requests"),
            EarlyFlags { early_raw: true, .. } => Err("--raw"),
            _ => Ok(()),
        }
    }
}
