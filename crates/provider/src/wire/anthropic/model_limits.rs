//! Knows the limits of Anthropic's models by parts of their names.

/// The limits of a model.
pub(super) struct ModelLimits {
    /// The number of tokens that an answer may have.
    tokens_max: u64,
    /// Whether a higher number is known to be refused.
    is_known: bool,
    /// Whether `temperature` may be sent.
    pub(super) takes_temperature: bool,
}

impl ModelLimits {
    /// Returns the number of tokens to ask for.
    pub(super) fn max_tokens(&self, wanted: Option<u64>) -> u64 {
        match wanted {
            Some(wanted) if !self.is_known => wanted,
            Some(wanted) => wanted.min(self.tokens_max),
            None => self.tokens_max,
        }
    }
}

/// The known models: the first name that is part of the model's name decides. Each row has the tokens of an answer,
/// and whether temperature is taken.
const KNOWN: &[(&str, u64, bool)] = &[
    ("claude-sonnet-5", 128_000, false),
    ("claude-opus-5", 128_000, false),
    ("claude-haiku-5-5", 128_000, false),
    ("claude-fable-5", 128_000, false),
    ("claude-opus-4-8", 128_000, false),
    ("claude-opus-4-7", 128_000, false),
    ("claude-sonnet-4-6", 128_000, true),
    ("claude-opus-4-6", 128_000, true),
    ("claude-opus-4-5", 64_000, true),
    ("claude-haiku-4-5", 64_000, true),
    ("claude-sonnet-4-", 64_000, true),
    ("claude-opus-4-", 32_000, true),
    ("claude-3-haiku", 4096, true),
];

/// The older families, whose members are not listed any more.
const OLD: &[&str] = &["claude-instant", "claude-2", "claude-v2", "claude-3"];

pub(super) fn limits_of(model: &str) -> ModelLimits {
    if let Some((_, tokens_max, takes_temperature)) =
        KNOWN.iter().find(|(name, ..)| model.contains(name))
    {
        let (tokens_max, takes_temperature) = (*tokens_max, *takes_temperature);
        return ModelLimits { tokens_max, is_known: true, takes_temperature };
    }
    // An unknown Claude is assumed to be a new one. New models refuse `temperature`, and no model refuses its absence.
    let is_new = model.contains("claude-") && !OLD.iter().any(|name| is_family(model, name));
    let tokens_max = if is_new { 128_000 } else { 4096 };
    ModelLimits { tokens_max, is_known: false, takes_temperature: !is_new }
}

/// Whether a model's name contains that of a family, and not only the beginning of a longer number.
fn is_family(model: &str, family: &str) -> bool {
    model.match_indices(family).any(|(at, _)| {
        let next = model[at + family.len()..].chars().next();
        next.is_none_or(|c| matches!(c, '-' | '.' | ':'))
    })
}
