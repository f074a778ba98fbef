//! Defines the command line of `ship search`.

use clap::Args;
use ship_store::{ContextId, Timestamp};

use super::moments::{parse_since, parse_until};
use super::usage::parse_limit;

const EXAMPLES: &str =
    "The best comes first. Words of other forms are found, too, and an answer by its question.

Examples:
  ship search 'which port does the database use?'
  ship search 数据库 迁移
  ship search src/main.rs --role user --since 2026-02-01
  ship search soup --all-chats --json";

/// The number of hits that are shown unless a number is given.
const HITS: u64 = 10;

/// Says what to search for, and where.
#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SearchFlags {
    /// Words of it, or a question
    #[arg(value_name = "QUERY", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
    /// Search in all chats of the project
    #[arg(long)]
    pub(crate) all_chats: bool,
    /// Only what this side said
    #[arg(long, value_name = "ROLE", value_parser = ["user", "assistant"])]
    pub(crate) role: Option<String>,
    /// Only what stands in this context
    #[arg(long, value_name = "ID", conflicts_with = "all_chats")]
    pub(crate) context: Option<ContextId>,
    /// Only what is not older than this date or time
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub(crate) since: Option<Timestamp>,
    /// Only what is not newer than this date or time
    #[arg(long, value_name = "TIME", value_parser = parse_until)]
    pub(crate) until: Option<Timestamp>,
    /// How many to show, at most 200
    #[arg(long, value_name = "K", default_value_t = HITS, value_parser = parse_limit)]
    pub(crate) limit: u64,
}
