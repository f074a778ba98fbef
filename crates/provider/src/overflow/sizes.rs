//! Finds the sizes that an error names.
//!
//! A form is a sentence with placeholders: `{p}` is a size of the prompt, or of a piece of it; `{c}` the room for the
//! answer, `{n}` the limit, `{_}` a number that is none of these, and `*` any text. The first form that fits counts;
//! later ones fill what is still missing.
//!
//! A sum of prompt and answer is not the prompt, and neither is a number that it has "at least": from either, the
//! caller would learn to count wrongly.

use super::Overflow;
use super::error_text::ErrorText;

const FORMS: &[&str] = &[
    // Anthropic
    "{p} tokens > {n} maximum",
    "exceed context limit: {p} + {c} > {n}",
    // OpenAI, vLLM, DeepSeek, OpenRouter
    "maximum context length is {n} tokens*resulted in {p} tokens",
    "maximum context length is {n} tokens*requested {c} output tokens and your prompt contains {p} input tokens",
    "maximum context length is {n} tokens*requested {c} output tokens",
    "maximum context length is {n} tokens*prompt contains {p} input tokens",
    "too large: {c}.*maximum context length is {n} tokens and your request has {p} input tokens",
    "maximum context length is {n} tokens*your request has {p} input tokens",
    "maximum context length is {n} tokens*({p} of text input, {p} of tool input, {c} in the output)",
    "maximum context length is {n} tokens*({p} of text input, {c} in the output)",
    "maximum context length is {n} tokens*({p} in the messages, {p} in the functions, and {c} in the completion)",
    "maximum context length is {n} tokens*({p} in the messages, {c} in the completion)",
    "maximum context length is {n} tokens*({p} in your prompt; {c} for the completion)",
    "configured limit of {n} tokens*resulted in {p} tokens",
    "input length ({p}) exceeds model's maximum context length ({n})",
    "decoder prompt (length {p}) is longer than the maximum model length of {n}",
    "prompt length {p} exceeds the max_model_len {n}",
    // SGLang
    "input ({p} tokens) is longer than the model's context length ({n} tokens)",
    // Google
    "token count ({p}) exceeds the maximum number of tokens allowed ({n})",
    "maximum number of tokens allowed ({n})",
    "maximum number of tokens allowed {n}",
    "input token count is {p} but*only supports up to {n}",
    // Amazon
    "max input tokens: {n}, request input token count: {p}",
    // llama.cpp, and its Python
    "requested tokens ({p}) exceed context window of {n}",
    "request ({p} tokens) exceeds the available context size ({n} tokens)",
    // LM Studio
    "n_keep: {p}>= n_ctx: {n}",
    "n_keep ({p}) >= n_ctx ({n})",
    "keep the first {p} tokens*context length of only {n} tokens",
    // xAI, Mistral, Cerebras, Copilot, Moonshot, Fireworks, SiliconFlow
    "maximum prompt length is {n} but the request contains {p} tokens",
    "prompt contains {p} tokens*model with {n} maximum context length",
    "current length is {_} while limit is {n}",
    "token count of {p} exceeds the limit of {n}",
    "token limit: {n} (requested: {_})",
    "prompt is too long: {p}, model maximum context length: {n}",
    "input length {p} exceeds the maximum allowed input length of {n}",
    "max length exceeded, max length:{n}",
    "max length exceeded, max length: {n}",
    // DashScope, Hugging Face, LiteLLM
    "range of input length should be [1, {n}]",
    "must be <= {n}. given: {p} inputs tokens and {c} ",
    "must be <= {n}. given: {p} ",
    "must have less than {n} tokens. given: {p}",
    "maximum context length of {n} tokens",
    "maximum context length is {n}",
];

/// Returns the sizes in the texts of an error.
pub(super) fn sizes_in(error: &ErrorText) -> Overflow {
    let mut found = Overflow { prompt: error.prompt, completion: None, limit: error.limit };
    for text in &error.texts {
        for form in FORMS {
            let Some(sizes) = match_form(form, text) else { continue };
            found.prompt = found.prompt.or(sizes.prompt);
            found.completion = found.completion.or(sizes.completion);
            found.limit = found.limit.or(sizes.limit);
        }
    }
    found
}

/// Fits a form to a text, at any place of the text.
fn match_form(form: &str, text: &str) -> Option<Overflow> {
    if let Some(begin) = form.split(['{', '*']).next().filter(|begin| !begin.is_empty()) {
        return text.match_indices(begin).find_map(|(at, _)| match_form_at(form, &text[at..]));
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let starts = text.match_indices(is_digit).filter(|(at, _)| !text[..*at].ends_with(is_digit));
    starts.map(|(at, _)| at).find_map(|at| match_form_at(form, &text[at..]))
}

fn match_form_at(form: &str, text: &str) -> Option<Overflow> {
    let (mut form, mut text) = (form, text);
    let mut sizes = Overflow::default();
    while !form.is_empty() {
        if let Some(rest) = form.strip_prefix('*') {
            let piece = rest.split(['{', '*']).next().unwrap_or(rest);
            text = &text[text.find(piece)?..];
            form = rest;
        } else if let Some((hole, rest)) = form.strip_prefix('{').and_then(|f| f.split_once('}')) {
            let (number, after) = parse_number(text)?;
            match hole {
                "p" => sizes.prompt = Some(sizes.prompt.unwrap_or_default().saturating_add(number)),
                "c" => sizes.completion = Some(number),
                "n" => sizes.limit = Some(number),
                _ => {}
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
