//! What a provider's cache would remember of the prompts that it has seen.
//!
//! OpenAI compares beginnings by itself: what a prompt has in common with an earlier one counts as
//! cached, in steps of 128 tokens and from 1,024 up. Anthropic looks up only what was marked: at
//! each mark, and at most twenty blocks before it. Neither forgets with time here; a test that wants
//! that calls [`LlmServer::forget_cache`](super::LlmServer::forget_cache).

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::prompt::{Lifetime, Segment};
use super::script::{Format, Usage};
use super::tokens;

/// The shortest beginning that is cached, for both.
const TOKENS_MIN: u64 = 1024;
/// In which steps OpenAI caches.
const TOKENS_STEP: u64 = 128;
/// How many blocks before a mark Anthropic looks for something that it knows.
const LOOK_BACK: usize = 20;

/// Prompts that were seen, by model.
#[derive(Debug, Default)]
pub(super) struct Cache {
    openai: HashMap<String, Vec<Vec<Segment>>>,
    anthropic: HashMap<String, HashMap<[u8; 32], ()>>,
}

impl Cache {
    /// Says what a prompt costs, and how much of it is known.
    pub(super) fn look(
        &self,
        format: Format,
        model: &str,
        prompt: &[Segment],
        factor: f64,
    ) -> Usage {
        let costs: Vec<u64> = prompt.iter().map(Segment::tokens).collect();
        match format {
            Format::OpenAi => self.look_openai(model, prompt, &costs, factor),
            Format::Anthropic => self.look_anthropic(model, prompt, &costs, factor),
        }
    }

    /// Remembers a prompt that was answered.
    pub(super) fn keep(&mut self, format: Format, model: &str, prompt: Vec<Segment>, factor: f64) {
        match format {
            Format::OpenAi => self.openai.entry(model.to_owned()).or_default().push(prompt),
            Format::Anthropic => {
                let costs: Vec<u64> = prompt.iter().map(Segment::tokens).collect();
                let known = self.anthropic.entry(model.to_owned()).or_default();
                let prefixes = prefixes(&prompt);
                for (at, segment) in prompt.iter().enumerate() {
                    let long = sum(&costs[..=at], factor) >= TOKENS_MIN;
                    if segment.mark.is_some() && long {
                        known.insert(prefixes[at], ());
                    }
                }
            }
        }
    }

    fn look_openai(&self, model: &str, prompt: &[Segment], costs: &[u64], factor: f64) -> Usage {
        let seen = self.openai.get(model).map_or(&[][..], Vec::as_slice);
        let most = seen.iter().map(|earlier| common(earlier, prompt, costs)).max().unwrap_or(0);
        // A token before the end is always computed anew, so a whole prompt is never cached whole.
        let input = sum(costs, factor);
        let cached = tokens::scaled(most, factor).min(input.saturating_sub(1));
        let cached = if cached < TOKENS_MIN { 0 } else { cached - cached % TOKENS_STEP };
        Usage { input, cached, ..Usage::default() }
    }

    fn look_anthropic(&self, model: &str, prompt: &[Segment], costs: &[u64], factor: f64) -> Usage {
        let marks: Vec<usize> = (0..prompt.len()).filter(|at| prompt[*at].mark.is_some()).collect();
        let prefixes = prefixes(prompt);
        let known = self.anthropic.get(model);
        let is_known = |at: &usize| known.is_some_and(|known| known.contains_key(&prefixes[*at]));
        let near = |mark: &usize| (mark.saturating_sub(LOOK_BACK)..=*mark).rev().find(is_known);
        let hit = marks.iter().rev().find_map(near);
        let mut from = hit.map_or(0, |at| at + 1);
        let cached = sum(&costs[..from], factor);
        let mut created = [0; 2];
        for mark in marks {
            if mark >= from && sum(&costs[..=mark], factor) >= TOKENS_MIN {
                let place = usize::from(prompt[mark].mark == Some(Lifetime::OneHour));
                created[place] += sum(&costs[..=mark], factor) - sum(&costs[..from], factor);
                from = mark + 1;
            }
        }
        Usage { input: sum(costs, factor), cached, created, ..Usage::default() }
    }
}

fn sum(costs: &[u64], factor: f64) -> u64 {
    tokens::scaled(costs.iter().sum(), factor)
}

/// Counts what two prompts have in common, to the byte.
fn common(earlier: &[Segment], prompt: &[Segment], costs: &[u64]) -> u64 {
    let same =
        earlier.iter().zip(prompt).take_while(|(a, b)| a.text == b.text && a.fixed == b.fixed);
    let same = same.count();
    let whole: u64 = costs[..same].iter().sum();
    let part = match (earlier.get(same), prompt.get(same)) {
        (Some(a), Some(b)) if a.fixed.is_none() && b.fixed.is_none() => {
            let bytes = a.text.bytes().zip(b.text.bytes()).take_while(|(a, b)| a == b).count();
            tokens::count(&b.text[..b.text.floor_char_boundary(bytes)])
        }
        _ => 0,
    };
    whole + part
}

/// A digest of everything up to and with each segment. Marks are no part of it.
fn prefixes(prompt: &[Segment]) -> Vec<[u8; 32]> {
    let mut digest = [0; 32];
    let next = |segment: &Segment| {
        let length = (segment.text.len() as u64).to_le_bytes();
        let hash = Sha256::new().chain_update(digest).chain_update(length);
        digest = hash.chain_update(&segment.text).finalize().into();
        digest
    };
    prompt.iter().map(next).collect()
}
