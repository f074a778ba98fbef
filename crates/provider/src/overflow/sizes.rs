//! Finds the sizes that an error names.
//!
//! A form is a sentence with placeholders: `{o}` is the observed size, `{n}` the limit, `{a}` the size of the
//! messages, `{b}` the room for the answer, and `*` any text. The first form that fits counts; later ones fill
//! what is still missing.

use super::Overflow;
use super::error_text::ErrorText;

const FORMS: &[&str] = &[
    // Anthropic
    "{o} tokens > {n} maximum",
    "exceed context limit: {a} + {b} > {n}",
    // OpenAI, vLLM, DeepSeek, OpenRouter
    "maximum context length is {n} tokens*resulted in {o} tokens",
    "maximum context length is {n} tokens*prompt contains at least {o} input tokens",
    "maximum context length is {n} tokens*prompt contains {o} input tokens",
    "maximum context length is {n} tokens*your request has {a} input tokens",
    "maximum context length is {n} tokens*requested about {o} tokens",
    "maximum context length is {n} tokens*requested {o} tokens ({a} in the messages, {b} in the completion)",
    "maximum context length is {n} tokens*requested {o} tokens ({a} in your prompt; {b} for the completion)",
    "maximum context length is {n} tokens*requested {o} tokens",
    "configured limit of {n} tokens*resulted in {o} tokens",
    "input length ({o}) exceeds model's maximum context length ({n})",
    "decoder prompt (length {o}) is longer than the maximum model length of {n}",
    "prompt length {o} exceeds the max_model_len {n}",
    // SGLang
    "input ({o} tokens) is longer than the model's context length ({n} tokens)",
    // Google
    "token count ({o}) exceeds the maximum number of tokens allowed ({n})",
    "maximum number of tokens allowed ({n})",
    "maximum number of tokens allowed {n}",
    "input token count is {o} but*only supports up to {n}",
    // Amazon
    "max input tokens: {n}, request input token count: {o}",
    // llama.cpp, and its Python
    "requested tokens ({o}) exceed context window of {n}",
    "request ({o} tokens) exceeds the available context size ({n} tokens)",
    // LM Studio
    "n_keep: {o}>= n_ctx: {n}",
    "n_keep ({o}) >= n_ctx ({n})",
    "keep the first {o} tokens*context length of only {n} tokens",
    // xAI, Mistral, Cerebras, Copilot, Moonshot, Fireworks
    "maximum prompt length is {n} but the request contains {o} tokens",
    "prompt contains {o} tokens*model with {n} maximum context length",
    "current length is {o} while limit is {n}",
    "token count of {o} exceeds the limit of {n}",
    "token limit: {n} (requested: {o})",
    "prompt is too long: {o}, model maximum context length: {n}",
    "input length {o} exceeds the maximum allowed input length of {n}",
    // DashScope, Hugging Face, LiteLLM
    "range of input length should be [1, {n}]",
    "must be <= {n}. given: {o} ",
    "must have less than {n} tokens. given: {o}",
    "maximum context length of {n} tokens",
    "maximum context length is {n}",
];

/// Returns the sizes in the texts of an error.
pub(super) fn sizes_in(error: &ErrorText) -> Overflow {
    let mut found = Overflow { observed: error.observed, limit: error.limit, max_tokens: None };
    for text in &error.texts {
        for form in FORMS {
            let Some(sizes) = match_form(form, text) else { continue };
            found.observed = found.observed.or(sizes.observed).or(sizes.messages);
            found.limit = found.limit.or(sizes.limit);
            found.max_tokens = found.max_tokens.or(sizes.answer_room());
        }
    }
    found
}

#[derive(Clone, Copy, Default)]
struct OverflowSizes {
    observed: Option<u64>,
    limit: Option<u64>,
    messages: Option<u64>,
    answer: Option<u64>,
}

impl OverflowSizes {
    /// Returns the room that the messages leave for an answer, if there is any and it is less than was asked for.
    fn answer_room(&self) -> Option<u64> {
        let room = self.limit?.checked_sub(self.messages?)?;
        (room > 0 && self.answer.is_none_or(|answer| room < answer)).then_some(room)
    }
}

/// Fits a form to a text, at any place of the text.
fn match_form(form: &str, text: &str) -> Option<OverflowSizes> {
    if let Some(begin) = form.split(['{', '*']).next().filter(|begin| !begin.is_empty()) {
        return text.match_indices(begin).find_map(|(at, _)| match_form_at(form, &text[at..]));
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let starts = text.match_indices(is_digit).filter(|(at, _)| !text[..*at].ends_with(is_digit));
    starts.map(|(at, _)| at).find_map(|at| match_form_at(form, &text[at..]))
}

fn match_form_at(form: &str, text: &str) -> Option<OverflowSizes> {
    let (mut form, mut text) = (form, text);
    let mut sizes = OverflowSizes::default();
    while !form.is_empty() {
        if let Some(rest) = form.strip_prefix('*') {
            let piece = rest.split(['{', '*']).next().unwrap_or(rest);
            text = &text[text.find(piece)?..];
            form = rest;
        } else if let Some((hole, rest)) = form.strip_prefix('{').and_then(|f| f.split_once('}')) {
            let (number, after) = parse_number(text)?;
            match hole {
                "o" => sizes.observed = Some(number),
                "n" => sizes.limit = Some(number),
                "a" => sizes.messages = Some(number),
                _ => sizes.answer = Some(number),
            }
            (form, text) = (rest, after);
        } else {
            let end = form.find(['{', '*']).unwrap_or(form.len());
            text = text.strip_prefix(&form[..end])?;
            form = &form[end..];
        }
    }
    Some(sizes)
}

/// Parses a number, also with commas.
fn parse_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(text.len());
    let digits = text[..end].trim_end_matches(',');
    let number = digits.replace(',', "").parse().ok()?;
    Some((number, &text[digits.len()..]))
}
