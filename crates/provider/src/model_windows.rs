//! Knows the windows of models by the beginning of their names.
//!
//! The table is for projects without `llm.window`. It is conservative: where a family has several sizes, or a host
//! may serve it with less, the table has the smaller number. A window that is assumed too large costs a failed
//! request, one that is assumed too small only an early compaction. A name that is not in the table has no known
//! window; nothing is guessed.

/// Returns the number of tokens that `model` takes, if its name is known.
///
/// A name may have a vendor before it (`openai/gpt-4o`, `models/gemini-2.5-pro`) and a version or tag after it; the
/// longest beginning in the table counts.
pub fn window_tokens(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let known = WINDOWS.iter().filter(|(prefix, _)| has_prefix(&name, prefix));
    known.max_by_key(|(prefix, _)| prefix.len()).map(|(_, tokens)| *tokens)
}

/// Whether a name begins with a prefix that no digit follows, so that `o1` is not `o100`.
fn has_prefix(name: &str, prefix: &str) -> bool {
    let Some(rest) = name.strip_prefix(prefix) else { return false };
    let goes_on = |c: char| c.is_ascii_digit();
    !(prefix.ends_with(goes_on) && rest.starts_with(goes_on))
}

const K: u64 = 1000;

/// The names and windows, by family.
const WINDOWS: &[(&str, u64)] = &[
    // OpenAI
    ("gpt-3.5-turbo", 16_385),
    ("gpt-3.5-turbo-0613", 4_096),
    ("gpt-3.5-turbo-instruct", 4_096),
    ("gpt-4", 8_192),
    ("gpt-4-32k", 32_768),
    ("gpt-4-turbo", 128 * K),
    ("gpt-4-1106", 128 * K),
    ("gpt-4-0125", 128 * K),
    ("gpt-4-vision", 128 * K),
    ("gpt-4o", 128 * K),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.5", 128 * K),
    ("chatgpt-4o", 128 * K),
    // Of 400,000 tokens, 272,000 may be input.
    ("gpt-5", 272 * K),
    ("gpt-5-chat", 128 * K),
    ("gpt-oss", 131_072),
    ("o1", 200 * K),
    ("o1-mini", 128 * K),
    ("o1-preview", 128 * K),
    ("o3", 200 * K),
    ("o4", 200 * K),
    // Anthropic
    ("claude", 200 * K),
    ("claude-2.0", 100 * K),
    ("claude-instant", 100 * K),
    // Google
    ("gemini", 1_048_576),
    ("gemini-1.0", 30_720),
    ("gemini-pro", 30_720),
    ("gemma", 8_192),
    ("gemma-3", 131_072),
    ("gemma-3-1b", 32_768),
    ("gemma3", 131_072),
    ("gemma3:1b", 32_768),
    // Others
    ("deepseek", 65_536),
    ("deepseek-v3.1", 131_072),
    ("deepseek-v3.2", 131_072),
    ("qwen", 8_192),
    ("qwen2", 32_768),
    ("qwen2.5", 32_768),
    ("qwen3", 32_768),
    ("qwen-turbo", 131_072),
    ("qwen-plus", 131_072),
    ("qwen-max", 32_768),
    ("qwen3-max", 262_144),
    ("qwen3-coder", 262_144),
    ("qwq", 32_768),
    ("llama2", 4_096),
    ("llama-2", 4_096),
    ("llama3", 8_192),
    ("llama-3", 8_192),
    ("meta-llama-3", 8_192),
    ("llama3.1", 131_072),
    ("llama-3.1", 131_072),
    ("meta-llama-3.1", 131_072),
    ("llama3.2", 131_072),
    ("llama-3.2", 131_072),
    ("llama3.3", 131_072),
    ("llama-3.3", 131_072),
    ("llama4", 131_072),
    ("llama-4", 131_072),
    ("mistral", 32_768),
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("mistral-nemo", 131_072),
    ("mixtral", 32_768),
    ("mixtral-8x22b", 65_536),
    ("open-mixtral-8x22b", 65_536),
    ("ministral", 131_072),
    ("magistral", 40_960),
    ("codestral", 32_768),
    ("devstral", 131_072),
    ("grok", 131_072),
    ("kimi-k2", 131_072),
    ("moonshot-v1-8k", 8_192),
    ("moonshot-v1-32k", 32_768),
    ("moonshot-v1-128k", 131_072),
    ("glm-4", 131_072),
    ("minimax-m2", 196_608),
    ("command-r", 128 * K),
    ("command-a", 256 * K),
    ("phi-3", 4_096),
    ("phi-4", 16_384),
    ("phi4", 16_384),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_counts() {
        assert_eq!(window_tokens("gpt-4"), Some(8_192));
        assert_eq!(window_tokens("gpt-4-0613"), Some(8_192));
        assert_eq!(window_tokens("gpt-4-turbo-2024-04-09"), Some(128_000));
        assert_eq!(window_tokens("gpt-4o-mini"), Some(128_000));
        assert_eq!(window_tokens("gpt-4.1-nano"), Some(1_047_576));
        assert_eq!(window_tokens("gpt-5.2"), Some(272_000));
        assert_eq!(window_tokens("o1-mini"), Some(128_000));
        assert_eq!(window_tokens("claude-sonnet-4-5-20250929"), Some(200_000));
    }

    #[test]
    fn a_vendor_before_the_name_and_its_case_do_not_matter() {
        assert_eq!(window_tokens("openai/gpt-4o"), Some(128_000));
        assert_eq!(window_tokens("models/gemini-2.5-pro"), Some(1_048_576));
        assert_eq!(window_tokens("meta-llama/Llama-3.3-70B-Instruct"), Some(131_072));
    }

    #[test]
    fn a_number_is_not_the_beginning_of_another() {
        assert_eq!(window_tokens("o10-next"), None);
        assert_eq!(window_tokens("gpt-50"), None);
    }

    #[test]
    fn an_unknown_name_has_no_window() {
        for name in ["", "/", "my-own-model", "gpt", "not-gpt-4"] {
            assert_eq!(window_tokens(name), None, "{name}");
        }
    }
}
