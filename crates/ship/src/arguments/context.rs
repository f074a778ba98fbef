//! Defines the command line of `ship context`.

use clap::Subcommand;

use super::usage::parse_limit;

const LOAD_EXAMPLES: &str = "Examples:
  ship context load 'database plan'
  ship context load c_20260205_4f1c22d09a7e
  ship context load -                        the one left last
  ship context load plan --mode summary      only look";

#[derive(Subcommand)]
pub(crate) enum ContextCommand {
    /// List the contexts of a chat, the active one first
    List {
        /// How many to list, at most 200
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = parse_limit)]
        limit: u64,
    },
    /// Show a context: the active one, or one that was left
    #[command(
        after_help = "Examples:\n  ship context show\n  ship context show 'database plan'\n  ship context show --json"
    )]
    Show {
        /// An id or its beginning, words from it, or - for the one you left last
        #[arg(value_name = "ID|QUERY", num_args = 0..)]
        which: Vec<String>,
    },
    /// Begin a clean context; the active one is kept
    #[command(after_help = "Examples:\n  ship context new\n  ship context new Dinner for eight")]
    New {
        /// The title of the new context
        #[arg(value_name = "TITLE", num_args = 0..)]
        words: Vec<String>,
        /// The same as a flag
        #[arg(long, value_name = "TITLE", conflicts_with = "words")]
        title: Option<String>,
        /// Why you leave the other one
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Go back to another context
    #[command(after_help = LOAD_EXAMPLES)]
    Load {
        /// An id or its beginning, words from it, or - for the one you left last
        #[arg(value_name = "ID|QUERY", required = true, num_args = 1..)]
        which: Vec<String>,
        /// Go there (switch), or only show it to the model (the others)
        #[arg(long, default_value = "switch", value_parser = ["switch", "reference", "summary", "recent", "full"])]
        mode: String,
    },
    /// Show another context, or an earlier message, to the model once, and stay here
    #[command(
        after_help = "Examples:\n  ship context recall 'database plan'\n  ship context recall - --mode recent\n  ship context recall --around u_17     (ship search tells ids)"
    )]
    Recall {
        /// An id or its beginning, words from it, or - for the one you left last
        #[arg(value_name = "ID|QUERY", required_unless_present = "around", num_args = 1..)]
        which: Vec<String>,
        /// How much to show
        #[arg(long, default_value = "summary", value_parser = ["summary", "recent", "full"])]
        mode: String,
        /// Show this message, with what was said before and after it
        #[arg(long, value_name = "ID", conflicts_with_all = ["which", "mode"])]
        around: Option<String>,
    },
    /// Drop the active context and begin a clean one; undo brings it back
    Clear,
    /// Give the active context a new title
    #[command(after_help = "Example:\n  ship context rename 'The migration'")]
    Rename {
        /// The new title
        #[arg(required = true, num_args = 1..)]
        title: Vec<String>,
    },
}
