//! Finds the family of a model by its name, which decides how its text becomes tokens.
//!
//! The vocabularies are packed into the program; the manifest says what each adds to its size. Finding a family
//! does not load one.

use tiktoken::CoreBpe;

/// A family of models that count alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Family {
    /// gpt-4o, 4.1, 4.5, 5, the o series, gpt-oss.
    OpenAi,
    /// gpt-4 and gpt-3.5.
    OpenAiOld,
    Claude,
    DeepSeek,
    Qwen,
    Llama,
    Mistral,
    Kimi,
    Glm4,
    Glm5,
    MiniMax,
    /// All other models, such as Gemini and Grok: their tokenizers are not public, or not included here.
    #[default]
    Unknown,
}

/// The names that identify a family; the first one that is part of the model's name wins.
///
/// A distilled model has the tokenizer of the model it was distilled into, so those names come first.
const NAMES: [(&str, Family); 24] = [
    ("claude", Family::Claude),
    ("distill-llama", Family::Llama),
    ("distill-qwen", Family::Qwen),
    ("deepseek", Family::DeepSeek),
    ("qwen", Family::Qwen),
    ("qwq", Family::Qwen),
    ("kimi", Family::Kimi),
    ("moonshot", Family::Kimi),
    ("glm-5", Family::Glm5),
    ("glm5", Family::Glm5),
    ("glm", Family::Glm4),
    ("minimax", Family::MiniMax),
    ("llama", Family::Llama),
    // Mistral, Codestral and Magistral have the one in their names, Mixtral and Voxtral the other.
    ("stral", Family::Mistral),
    ("xtral", Family::Mistral),
    ("gpt-4o", Family::OpenAi),
    ("gpt-4.", Family::OpenAi),
    ("gpt-4", Family::OpenAiOld),
    ("gpt-3", Family::OpenAiOld),
    ("gpt", Family::OpenAi),
    ("codex", Family::OpenAi),
    ("computer-use", Family::OpenAi),
    ("text-embedding", Family::OpenAiOld),
    ("davinci", Family::OpenAiOld),
];

impl Family {
    /// Finds the family from a model's name, with or without the name of the host before a slash.
    pub(super) fn of_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        if is_o_series(&name) {
            return Self::OpenAi;
        }
        let found = NAMES.into_iter().find(|(part, _)| name.contains(part));
        found.map_or(Self::Unknown, |(_, family)| family)
    }

    /// Returns the tokenizer; the first call for a vocabulary loads it, which takes about a tenth of a second.
    pub(super) fn encoding(self) -> Option<&'static CoreBpe> {
        tiktoken::get_encoding(self.encoding_name())
    }

    pub(super) fn encoding_name(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Claude | Self::Unknown => "o200k_base",
            Self::OpenAiOld => "cl100k_base",
            Self::DeepSeek => "deepseek_v3",
            Self::Qwen => "qwen2",
            Self::Llama => "llama3",
            Self::Mistral => "mistral_v3",
            Self::Kimi => "kimi_k2",
            Self::Glm4 => "glm4",
            Self::Glm5 => "glm5",
            Self::MiniMax => "minimax_m2",
        }
    }

    /// Returns the expected ratio of the provider's tokens to ours before its first report.
    ///
    /// Claude's tokenizer is not public. Published comparisons with o200k give 1.16 for English, 1.21 for
    /// mathematics and 1.30 for code up to Claude 4.6. Anthropic gives up to 1.35 more from 4.7 on, where Chinese
    /// stayed the same. This is the middle of all that; a value that is too high only makes a first request shorter
    /// than it could be.
    pub(super) fn starting_factor(self) -> f64 {
        if self == Self::Claude { 1.35 } else { 1.0 }
    }
}

/// Whether a name is of the o series: `o1`, `o3-mini`, `o4-mini-2025-04-16` and later ones.
fn is_o_series(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next() == Some(b'o')
        && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
        && bytes.next().is_none_or(|byte| byte == b'-' || byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_name_tells_its_family_on_every_host() {
        for (model, family) in [
            ("gpt-4o-mini", Family::OpenAi),
            ("openai/gpt-4.1", Family::OpenAi),
            ("gpt-5.2-codex", Family::OpenAi),
            ("ft:gpt-4o:me::1", Family::OpenAi),
            ("gpt-oss:20b", Family::OpenAi),
            ("o3", Family::OpenAi),
            ("o4-mini-2025-04-16", Family::OpenAi),
            ("gpt-4-turbo", Family::OpenAiOld),
            ("gpt-3.5-turbo", Family::OpenAiOld),
            ("us.anthropic.claude-sonnet-4-5-v1:0", Family::Claude),
            ("deepseek-ai/DeepSeek-V3.1", Family::DeepSeek),
            ("deepseek-r1-distill-llama-70b", Family::Llama),
            ("deepseek-r1-distill-qwen-32b", Family::Qwen),
            ("Qwen/Qwen3-235B-A22B", Family::Qwen),
            ("meta-llama/llama-3.3-70b-instruct:free", Family::Llama),
            ("codestral-latest", Family::Mistral),
            ("mixtral-8x7b", Family::Mistral),
            ("moonshotai/Kimi-K2", Family::Kimi),
            ("glm-4.6", Family::Glm4),
            ("GLM-5", Family::Glm5),
            ("MiniMax-M2", Family::MiniMax),
            ("gemini-3-pro", Family::Unknown),
            ("o", Family::Unknown),
            ("olmo-2", Family::Unknown),
            ("", Family::Unknown),
        ] {
            assert_eq!(Family::of_model(model), family, "{model}");
        }
    }

    #[test]
    fn every_family_has_its_vocabulary_in_the_program() {
        let families = NAMES.map(|(_, family)| family);
        for family in families.into_iter().chain([Family::Unknown]) {
            assert!(family.encoding().is_some(), "{family:?}");
        }
    }
}
