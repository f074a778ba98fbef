//! A long chat with a real small model, which imitates what it sees more readily than a large one.
//!
//! Answers are cut and stopped, calls fail, and an archived context is recalled: the model must not take our sentences for its own
//! words. Its summaries must name nothing that their source does not have.

use std::io;

use ship_context::compact::identifiers;
use ship_message::json::Json;
use ship_testkit::random::Random;

use crate::real_chat::{RealChat, texts};
use crate::real_hosts::{Host, RealSetup};

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Answers of the model.
    pub answers: usize,
    /// The number of compactions.
    pub compactions: u64,
    /// The part of the input, in percent, that the host had cached.
    pub cached_percent: u64,
    /// The same for the requests for summaries.
    pub cached_percent_of_summaries: u64,
}

const TURNS_PER_COMPACTION: u64 = 15;

/// Sentences for people, facts beside a text, and frames of references. In an answer they are imitations.
const FOREIGN_WORDS: [&str; 13] = [
    "answer was cut off",
    "could not answer",
    "What you wrote is kept",
    "(stopped",
    "llm.",
    "历史归档",
    "for reference only",
    "I had to stop here",
    "I stopped after",
    "[The results are noted.]",
    "(Go on.)",
    "Request ID:",
    "Last answer:",
];

/// The part of the input of turns, in percent, that the host must have cached. Each turn adds to the one before; only
/// compactions and switches begin anew.
const CACHED_PERCENT_MIN: u64 = 50;

/// Leads a chat with a turn for each second. `None` where the model or its host cannot be had.
///
/// # Errors
/// The broken promise, and the seed that showed it.
pub fn soak(seed: u64, seconds: u64) -> Result<Option<Counts>, String> {
    let setup = RealSetup::find().map_err(|error| error.to_string())?;
    let Some(setup) = setup else { return Ok(None) };
    let counts = lead(&setup, seed, seconds.max(TURNS_PER_COMPACTION));
    let counts = setup.finish(counts).map(Some);
    counts.map_err(|wrong| format!("a chat with a real model, seed {seed}: {wrong}"))
}

fn lead(setup: &RealSetup, seed: u64, turns: u64) -> io::Result<Counts> {
    let host = Host::llama(setup, seed, None)?;
    let chat = RealChat::new(&setup.ship, setup.path("chat"))?;
    let mut random = Random::new(seed);
    for nth in 1..=turns {
        match nth {
            3 => drop(chat.run(&["context", "new"])?),
            6 => drop(chat.run(&["context", "recall", "-", "--mode", "full"])?),
            8 => chat.say_in_vain("Is there anybody?")?,
            10 => {
                chat.call_and_say("chat_context_recall", r#"{"contextId":"last"}"#, "There it is.")?
            }
            12 => chat.say_and_stop("Which skills are there?")?,
            _ => {}
        }
        let max_tokens = if matches!(nth, 4 | 5 | 7) { 12 } else { 60 };
        // The likeliest words are those that imitate most.
        let temperature = if random.percent(50) { 0.0 } else { 0.8 };
        chat.say(&host.url, max_tokens, temperature, &random_text(&mut random))?;
        if nth % TURNS_PER_COMPACTION == 0 {
            compact(&chat)?;
        }
    }
    let answers = chat.answers()?;
    check_answers(&answers, &told_endings(&chat)?)?;
    let requests = chat.run_json(&["inspect", "--requests", "--last", "10000"])?;
    // Every request but one for a summary belongs to a message.
    let (summaries, others): (Vec<Json>, Vec<Json>) =
        requests.into_iter().partition(|request| request.get("requestId") == Some(&Json::from("")));
    let cached_percent_of_turns = cached_percent(&others);
    if cached_percent_of_turns < CACHED_PERCENT_MIN {
        return Err(io::Error::other(format!(
            "only {cached_percent_of_turns} % of the input of turns was cached"
        )));
    }
    Ok(Counts {
        answers: answers.len(),
        compactions: turns / TURNS_PER_COMPACTION,
        cached_percent: cached_percent_of_turns,
        cached_percent_of_summaries: cached_percent(&summaries),
    })
}

/// Returns a text with an identifier, or a question.
fn random_text(random: &mut Random) -> String {
    let number = 1000 + random.below(9000);
    match random.below(6) {
        0 => format!("The log is in /srv/ship/log-{number}.txt. Remember that."),
        1 => format!("The order ABC-{number} costs 45.50 EUR."),
        2 => format!("We sail at noon, on day {number}, and not earlier. Is that good?"),
        3 => "Tell me something about the sea.".to_owned(),
        4 => "What did I tell you first?".to_owned(),
        _ => "What should a sailor eat? I like short answers.".to_owned(),
    }
}

/// Compacts, and looks up each identifier of the summary in what was summarised.
fn compact(chat: &RealChat) -> io::Result<()> {
    let mut source = String::new();
    for request in chat.run_json(&["inspect"])? {
        request.for_each(|value| source.extend([value.as_str().unwrap_or_default(), "\n"]));
    }
    chat.run(&["compact"])?;
    let request = chat.run_json(&["inspect"])?;
    let messages = request.first().and_then(|it| it.get("messages")?.as_array());
    let first = messages.and_then(<[Json]>::first);
    let kind = first.and_then(|it| it.get("metadata")?.get("kind")?.as_str());
    if kind != Some("summary") {
        return Err(io::Error::other(format!("no summary, but {first:?}")));
    }
    let summary = texts(first.and_then(|message| message.get("parts")));
    match identifiers(&summary).into_iter().find(|it| !source.contains(it)) {
        Some(new) => Err(io::Error::other(format!(
            "{new:?} is not in the source of this summary:\n{summary}"
        ))),
        None => Ok(()),
    }
}

/// Returns what the model was told of its incomplete answers, without the name of the fact.
fn told_endings(chat: &RealChat) -> io::Result<Vec<String>> {
    let messages = chat.run_json(&["history", "--last", "10000"])?;
    let notes = messages.iter().filter_map(|it| it.get("metadata")?.get("noteToModel")?.as_str());
    let endings: Vec<String> =
        notes.filter_map(|note| note.rsplit(": ").next()).map(str::to_owned).collect();
    match endings.is_empty() {
        true => Err(io::Error::other("the model was told nothing of its incomplete answers")),
        false => Ok(endings),
    }
}

/// Fails if the model imitates words that we wrote.
fn check_answers(answers: &[String], endings: &[String]) -> io::Result<()> {
    let foreign: Vec<&str> =
        FOREIGN_WORDS.into_iter().chain(endings.iter().map(String::as_str)).collect();
    let imitates = |answer: &&String| foreign.iter().any(|words| answer.contains(words));
    let imitations: Vec<&String> = answers.iter().filter(imitates).collect();
    if imitations.is_empty() {
        return Ok(());
    }
    let (wrong, all) = (imitations.len(), answers.len());
    Err(io::Error::other(format!("{wrong} of {all} answers imitate us: {imitations:#?}")))
}

/// Returns the part of the input that came from the host's cache, where the host tells.
fn cached_percent(requests: &[Json]) -> u64 {
    let number = |request: &Json, name| request.get("answer")?.get(name)?.as_u64();
    let (mut input, mut cached) = (0, 0);
    for request in requests {
        input += number(request, "inputTokens").unwrap_or(0);
        cached += number(request, "cachedTokens").unwrap_or(0);
    }
    cached * 100 / input.max(1)
}
