//! The inputs of the tools for contexts, which are read leniently.

use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::StringDeserializer;
use serde::{Deserialize, Deserializer};
use ship_context::contexts::{
    LISTED_MAX, LOADED_A_RUN_MAX, LOADED_AT_ONCE_MAX, LoadMode, RecallMode,
};

/// The input of one of the tools.
pub(crate) enum ContextToolInput {
    New(NewContext),
    Load(LoadContext),
    List(ListContexts),
    Recall(RecallContext),
    Clear(ClearContext),
    Fork(ForkContext),
    Checkpoint(NewCheckpoint),
    History(LoadHistory),
    Search(SearchHistory),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NewContext {
    /// What the new context is about, in a few words.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) title: Option<String>,
    /// Why the current one is left, in a few words.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) reason: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadContext {
    /// Words that stand in the context, or `last`.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) query: Option<String>,
    /// Its id, when it is known.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) context_id: Option<String>,
    /// `switch` (the default) goes there; the others only look.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) mode: Option<LoadMode>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ListContexts {
    /// How many; 20 if not given.
    #[schemars(range(min = 1, max = LISTED_MAX))]
    pub(crate) limit: Option<u64>,
}

// A model is asked for both; if it leaves the mode out, it is shown the summary.
#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("required" = ["contextId", "mode"]))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecallContext {
    /// Its id, as `chat_context_list` gives it.
    pub(crate) context_id: String,
    /// How much to show.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) mode: Option<RecallMode>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ClearContext {}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ForkContext {
    /// What the copy is about, in a few words.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) name: Option<String>,
    /// The name of a checkpoint, or a message id; the end if not given.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) at: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NewCheckpoint {
    /// A short name.
    pub(crate) name: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LoadHistory {
    #[schemars(range(min = 1, max = LOADED_AT_ONCE_MAX), extend("description" = how_many()))]
    pub(crate) limit: Option<u64>,
    /// Only what is older: the number of an entry, such as `#12`, or a time.
    #[serde(default, deserialize_with = "text_or_number")]
    pub(crate) before: Option<String>,
    /// Only messages that contain this.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) keyword: Option<String>,
}

/// The number of hits that a model may ask for.
pub(crate) const HITS_MAX: u64 = 50;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("required" = ["query"]))]
pub(crate) struct SearchHistory {
    /// What you look for: words, names, identifiers, or a question. Dates and names of people in it count.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) query: Option<String>,
    /// How many; 10 if not given.
    #[schemars(range(min = 1, max = HITS_MAX))]
    pub(crate) limit: Option<u64>,
    /// Only what this side said.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) role: Option<SearchedRole>,
    /// Only what is not older: a date, such as `2026-02-05`, or a time.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) since: Option<String>,
    /// Only what is not newer.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) until: Option<String>,
    /// The id of a message that was found: gives the original messages there instead of hits.
    #[serde(default, deserialize_with = "not_blank")]
    pub(crate) around: Option<String>,
}

/// The side whose messages a model searches.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchedRole {
    User,
    Assistant,
}

fn how_many() -> String {
    format!("How many; 20 if not given. One answer may load {LOADED_A_RUN_MAX} in all.")
}

/// Reads an optional field. Models send an empty text for a field that they mean to leave out.
fn not_blank<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let text: Option<String> = Option::deserialize(deserializer)?;
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let read = |text: String| -> Result<T, D::Error> {
        let text: StringDeserializer<D::Error> = text.into_deserializer();
        T::deserialize(text)
    };
    text.map(read).transpose()
}

/// Reads a text, or a number that a model sends in its place.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrNumber {
        Text(String),
        Number(u64),
    }
    Ok(Option::deserialize(deserializer)?.map(|given| match given {
        TextOrNumber::Text(text) => text,
        TextOrNumber::Number(number) => number.to_string(),
    }))
}
