//! Defines the command line of `ship context`.

use clap::Subcommand;

const LOAD_EXAMPLES: &str = "Examples:
  ship context load 'database plan'
  ship context load c_20260205_4f1c22d09a7e
  ship context load -                        the one left last
  ship context load plan --mode summary      only look";

#[derive(Subcommand)]
pub(crate) enum ContextCommand {
    /// List the contexts of a chat: the active one, then the others, the one left last first
    List {
        /// How many of the others, at most 200
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u64,
    },
    /// Show a context: the active one, or one that was left
    #[command(
        after_help = "Examples:\n  ship context show\n  ship context show 'database plan'\n  ship context show --json"
    )]
    Show {
        /// Its id, the beginning of one, words of it, or - for the one left last
        #[arg(value_name = "ID|QUERY", num_args = 0..)]
        which: Vec<String>,
    },
    /// Leave the active context and go on in a clean one
    #[command(after_help = "Examples:\n  ship context new\n  ship context new --title Dinner")]
    New {
        /// What the new one is called
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// Why the other one is left
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Go to a context that was left
    #[command(after_help = LOAD_EXAMPLES)]
    Load {
        /// Its id, the beginning of one, words of it, or - for the one left last
        #[arg(value_name = "ID|QUERY", required = true, num_args = 1..)]
        which: Vec<String>,
        /// Go there, or only show it to the model: reference is as recent
        #[arg(long, default_value = "switch", value_parser = ["switch", "reference", "summary", "recent", "full"])]
        mode: String,
    },
    /// Show a context that was left to the model, for its next answer, and to you
    #[command(
        after_help = "Examples:\n  ship context recall 'database plan'\n  ship context recall - --mode recent"
    )]
    Recall {
        /// Its id, the beginning of one, words of it, or - for the one left last
        #[arg(value_name = "ID|QUERY", required = true, num_args = 1..)]
        which: Vec<String>,
        /// How much of it
        #[arg(long, default_value = "summary", value_parser = ["summary", "recent", "full"])]
        mode: String,
    },
    /// Leave the active context because it is spoilt, and go on in a clean one
    Clear,
    /// Call the active context something else
    #[command(after_help = "Example:\n  ship context rename 'The migration'")]
    Rename {
        /// The new title, in one or more words
        #[arg(required = true, num_args = 1..)]
        title: Vec<String>,
    },
}
