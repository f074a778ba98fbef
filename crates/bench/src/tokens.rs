//! Counting tokens: how fast on each kind of text, and what the memory of counts saves.
//!
//! The speeds are limits and no ratios, in megabytes of text for a second of processor time. A text is counted
//! once before, so that no vocabulary is loaded and no automaton built while it is measured.

use std::hint::black_box;
use std::time::Instant;

use ship_context::Tokenizer;
use ship_message::{Role, UiMessage, UiPart};
use ship_testkit::texts;

use crate::processor::time_of;
use crate::report::{Report, Want};

const BYTES: usize = 100_000;
const WINDOW: usize = 400;

/// The least that is promised of English and of every other text.
const ENGLISH_MBS: f64 = 20.0;
const ANY_TEXT_MBS: f64 = 2.0;

/// A model for each vocabulary.
const MODELS: [&str; 10] = [
    "gpt-4o",
    "gpt-4",
    "deepseek-chat",
    "qwen3",
    "llama-3.3",
    "mistral-large",
    "kimi-k2",
    "glm-4.6",
    "glm-5",
    "minimax-m2",
];

/// Measures counting with OpenAI's vocabulary on every text, and with each other one on the slowest.
pub fn bench(report: &mut Report) {
    report.section("Tokens: MB/s of counting 100 KB");
    let tokenizer = Tokenizer::for_model(MODELS[0]);
    for (name, text) in texts::all(BYTES) {
        let limit = if name == "English" { ENGLISH_MBS } else { ANY_TEXT_MBS };
        report.ratio(name, speed(&tokenizer, &text), Want::AtLeast(limit));
    }
    report.section("Tokens: MB/s of the slowest text in each vocabulary");
    for model in MODELS {
        slowest(model, report);
    }
    growth(report);
    cache(report);
}

fn slowest(model: &str, report: &mut Report) {
    let tokenizer = Tokenizer::for_model(model);
    let start = Instant::now();
    tokenizer.count("a");
    let loading = start.elapsed();
    let speeds = texts::all(BYTES).into_iter().map(|(name, text)| (name, speed(&tokenizer, &text)));
    let Some((name, speed)) = speeds.min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    report.ratio(&format!("{model}, {name}"), speed, Want::AtLeast(ANY_TEXT_MBS));
    report.note(&format!("loaded in {loading:.0?}"));
}

/// What ten times the text costs: more than ten times would not be linear.
fn growth(report: &mut Report) {
    report.section("Tokens: cost of a text ten times as long, by its length");
    let tokenizer = Tokenizer::for_model(MODELS[0]);
    let worst = texts::all(BYTES)
        .into_iter()
        .zip(texts::all(10 * BYTES))
        .map(|(small, large)| (small.0, speed(&tokenizer, &small.1) / speed(&tokenizer, &large.1)));
    let Some((name, growth)) = worst.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    report.ratio(&format!("the worst, {name}"), growth, Want::AtMost(2.0));
}

fn speed(tokenizer: &Tokenizer, text: &str) -> f64 {
    tokenizer.count(text);
    let seconds = time_of(|| {
        black_box(tokenizer.count(black_box(text)));
    });
    text.len() as f64 / 1e6 / seconds
}

/// Measures a window of 400 messages to which one was added, with and without the memory.
fn cache(report: &mut Report) {
    report.section("Tokens: a window of 400 messages and one more");
    let tokenizer = Tokenizer::for_model(MODELS[0]);
    let window: Vec<UiMessage> = (0..=WINDOW).map(message).collect();
    let bytes: usize = window.iter().map(|message| message.text().len()).sum();
    let whole = time_of(|| {
        black_box(window.iter().map(|message| tokenizer.message_tokens(message)).sum::<u64>());
    });
    // The last message is told apart by its number in each round, so that it is never remembered.
    let count = |messages: &[UiMessage]| -> u64 {
        messages.iter().map(|message| tokenizer.kept_message_tokens(message)).sum()
    };
    count(&window[..WINDOW]);
    let mut rounds = WINDOW;
    let again = time_of(|| {
        rounds += 1;
        let known = count(&window[..WINDOW]);
        let last = UiMessage::new("u", Role::User, vec![UiPart::text(format!("Is it {rounds}?"))]);
        black_box(known + tokenizer.kept_message_tokens(&last));
    });
    let micros = |seconds: f64| seconds * 1e6;
    report.note(&format!(
        "{} KB: counted in {:.0} µs, recounted in {:.0} µs",
        bytes / 1000,
        micros(whole),
        micros(again)
    ));
    report.ratio("recounted with one more, times faster", whole / again, Want::AtLeast(10.0));
}

/// A message of about a kilobyte.
fn message(number: usize) -> UiMessage {
    let (_, text) = texts::ordinary(1_000).swap_remove(number % 3);
    UiMessage::new(format!("m{number}"), Role::User, vec![UiPart::text(format!("{number} {text}"))])
}
