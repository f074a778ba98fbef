//! `ship search`: finds what was said, best first.

mod hit_lines;

use std::process::ExitCode;

use ship_agent::{Agent, MessageSearch, SearchQuery, SearchResult, SearchedBy};
use ship_message::Role;

use crate::arguments::{DEFAULT_CHAT, SearchFlags};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use hit_lines::{RecallCommand, print_hits};

/// Runs the command.
pub(crate) async fn run(session: &Session, flags: &SearchFlags) -> Result<ExitCode, Failure> {
    let search = MessageSearch::new(session.store()?);
    let found = find(session, &search, flags).await?;
    print(session, &found, recall_at_shell)?;
    if found.from == SearchedBy::Scan && !flags.all_chats {
        // The answer is there; what follows makes the next one faster. The rest of a long chat is left to later searches.
        search.index(&session.chat, PAGES_AFTER).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The pages of 1,000 lines that are put into the index after an answer.
const PAGES_AFTER: usize = 20;

fn print(session: &Session, found: &SearchResult, recall: RecallCommand) -> Result<(), Failure> {
    tell_limits(found);
    if session.json {
        output::print_json(&found.to_json())?;
    } else if found.hits.is_empty() {
        output::print_line("Nothing was found.")?;
    } else {
        print_hits(session, &found.hits, recall)?;
    }
    Ok(())
}

fn recall_at_shell(session: &Session, id: &str) -> String {
    let id = output::quote_for_shell(id);
    session.chat_flags.add_to(&format!("ship context recall --around {id}"))
}

fn recall_in_chat(_: &Session, id: &str) -> String {
    format!("/context recall --around {}", output::escape_unprintable(id))
}

/// Searches in this chat for words, as `/search` does.
pub(crate) async fn run_in_chat(
    session: &Session,
    agent: &Agent,
    words: &str,
) -> Result<ExitCode, Failure> {
    let found = agent.search(&session.chat, &SearchQuery::new(words)).await?;
    print(session, &found.unwrap_or_else(nothing), recall_in_chat)?;
    Ok(ExitCode::SUCCESS)
}

/// Searches. No agent is needed, so a chat can be searched whatever is wrong with the model.
async fn find(
    session: &Session,
    search: &MessageSearch,
    flags: &SearchFlags,
) -> Result<SearchResult, Failure> {
    let query = query_of(flags);
    if flags.all_chats {
        return Ok(search.search_all(&query).await?);
    }
    match search.search(&session.chat, &query).await? {
        Some(found) => Ok(found),
        // Every project has the default chat, so it is not an error that nothing was said in it yet.
        None if session.chat.as_str() == DEFAULT_CHAT => Ok(nothing()),
        None => Err(Failure::new("no_chat", format!("there is no chat `{}`", session.chat))
            .with_hint("`ship chats` lists them")),
    }
}

fn nothing() -> SearchResult {
    SearchResult { hits: Vec::new(), is_complete: true, is_cut: false, from: SearchedBy::Index }
}

fn query_of(flags: &SearchFlags) -> SearchQuery {
    SearchQuery {
        role: flags.role.as_deref().map(Role::named),
        context: flags.context.clone(),
        since: flags.since,
        until: flags.until,
        limit: usize::try_from(flags.limit).unwrap_or(usize::MAX),
        ..SearchQuery::new(flags.words.join(" "))
    }
}

/// Says what was not searched.
fn tell_limits(found: &SearchResult) {
    if found.is_cut {
        output::print_warning("the question is too long; only its beginning was searched for");
    } else if !found.is_complete {
        output::print_warning("a part cannot be read and was not searched; see `ship verify`");
    }
}
