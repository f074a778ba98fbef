//! Gives tools and calls names and ids that every provider accepts.
//!
//! OpenAI takes names of 64 and ids of 40 characters, Anthropic longer ones; both allow only letters, digits, `_`
//! and `-`. Tools of other servers are called `server:tool`, and calls of other providers have ids of any kind.
//! Each gets a substitute that depends only on itself and on what came before it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};
use ship_message::json::{Json, Object};

use crate::{HostForm, HostForms, ToolSpec};

// OpenAI's limits for the name of a tool and the id of a call.
const NAME_CHARS_MAX: usize = 64;
const ID_CHARS_MAX: usize = 40;
/// The length of every id at a host that wants short ones.
const SHORT_ID_CHARS: usize = 9;

/// The names of the tools in a request.
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    /// The tools with a substitute; all others keep their name.
    sent_by_own: HashMap<String, String>,
    own_by_sent: HashMap<String, String>,
}

impl ToolNames {
    /// Finds names for tools.
    pub fn of(tools: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        let plain = |tool: &&ToolSpec| is_plain(&tool.name, NAME_CHARS_MAX);
        let taken: HashSet<&str> =
            tools.iter().filter(plain).map(|tool| tool.name.as_str()).collect();
        for tool in tools.iter().filter(|tool| !plain(tool)) {
            let mut sent = substitute_name(&tool.name);
            if taken.contains(sent.as_str()) || names.own_by_sent.contains_key(&sent) {
                let digest = digest(&tool.name);
                sent.truncate(NAME_CHARS_MAX - 9);
                sent = format!("{sent}_{}", &digest[..8]);
            }
            names.own_by_sent.insert(sent.clone(), tool.name.clone());
            names.sent_by_own.insert(tool.name.clone(), sent);
        }
        names
    }

    /// Returns the name of a tool in the request, also of one that no longer exists.
    pub(super) fn sent_name<'n>(&'n self, name: &'n str) -> Cow<'n, str> {
        match self.sent_by_own.get(name) {
            Some(sent) => Cow::Borrowed(sent),
            None if is_plain(name, NAME_CHARS_MAX) => Cow::Borrowed(name),
            None => Cow::Owned(substitute_name(name)),
        }
    }

    /// Returns our own name of a tool that the model calls.
    pub fn own_name<'n>(&'n self, sent: &'n str) -> &'n str {
        self.own_by_sent.get(sent).map_or(sent, String::as_str)
    }

    /// Returns the tool in the form that is sent. Its schema must be that of an object.
    pub(super) fn sendable_tool(&self, tool: &ToolSpec) -> ToolSpec {
        let input_schema = match &tool.input_schema {
            Json::Object(schema) => {
                let mut schema = schema.clone();
                if schema.str("type") != Some("object") {
                    schema.set("type", "object");
                }
                // Anthropic refuses a choice between schemas at the top level; the tool itself checks its input.
                for union in ["oneOf", "anyOf", "allOf"] {
                    schema.remove(union);
                }
                schema.into()
            }
            _ => {
                let mut schema = Object::from([("type", "object")]);
                schema.set("properties", Object::new());
                schema.into()
            }
        };
        ToolSpec {
            name: self.sent_name(&tool.name).into_owned(),
            description: tool.description.clone(),
            input_schema,
        }
    }
}

/// The ids of calls in one request, each of which is used once.
#[derive(Default)]
pub(super) struct CallIds {
    taken: HashSet<String>,
    /// Whether the host wants ids of nine letters and digits.
    are_short: bool,
}

impl CallIds {
    pub(super) fn new(forms: HostForms) -> Self {
        Self { taken: HashSet::new(), are_short: forms.has(HostForm::ShortCallIds) }
    }

    /// Returns the id under which a call is sent.
    pub(super) fn assign(&mut self, id: &str) -> String {
        let mut sent = id.to_owned();
        let mut nth = 0;
        while !self.is_usable(&sent) {
            let digest = digest(&format!("{nth}:{id}"));
            sent = match self.are_short {
                true => digest[..SHORT_ID_CHARS].to_owned(),
                false => format!("call_{}", &digest[..24]),
            };
            nth += 1;
        }
        self.taken.insert(sent.clone());
        sent
    }

    fn is_usable(&self, id: &str) -> bool {
        let fits = match self.are_short {
            true => id.len() == SHORT_ID_CHARS && id.bytes().all(|b| b.is_ascii_alphanumeric()),
            false => is_plain(id, ID_CHARS_MAX),
        };
        fits && !self.taken.contains(id)
    }
}

fn is_plain(name: &str, chars_max: usize) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    !name.is_empty() && name.len() <= chars_max && name.bytes().all(plain)
}

fn substitute_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_CHARS_MAX).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

fn digest(text: &str) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: &str) -> ToolSpec {
        let input_schema = Json::parse(schema).unwrap();
        ToolSpec { name: name.to_owned(), description: String::new(), input_schema }
    }

    #[test]
    fn a_name_outside_the_alphabet_has_a_stand_in_and_comes_back() {
        let tools = [tool("files:read", "{}"), tool("files_read", "{}"), tool("files/read", "{}")];
        let names = ToolNames::of(&tools);
        let sent: Vec<String> = tools.iter().map(|tool| names.sendable_tool(tool).name).collect();
        assert_eq!(sent[1], "files_read", "a plain name is its own");
        assert_ne!(sent[0], sent[1]);
        assert_ne!(sent[0], sent[2]);
        for (tool, sent) in tools.iter().zip(&sent) {
            assert!(is_plain(sent, NAME_CHARS_MAX), "{sent}");
            assert_eq!(names.own_name(sent), tool.name);
        }
        let long = "x".repeat(200);
        let names = ToolNames::of(&[tool(&long, "{}")]);
        assert_eq!(names.sent_name(&long).len(), NAME_CHARS_MAX);
        assert_eq!(names.sent_name("<b>gone</b>"), "_b_gone__b_");
        assert_eq!(names.sent_name(""), "unnamed");
    }

    #[test]
    fn a_schema_is_that_of_an_object() {
        let names = ToolNames::default();
        for (schema, sent) in [
            (r#"{"type":"object"}"#, r#"{"type":"object"}"#),
            (r#"{"properties":{}}"#, r#"{"properties":{},"type":"object"}"#),
            ("true", r#"{"type":"object","properties":{}}"#),
        ] {
            assert_eq!(names.sendable_tool(&tool("t", schema)).input_schema.to_string(), sent);
        }
    }

    #[test]
    fn an_id_is_taken_once_and_depends_on_what_came_before_it_alone() {
        let mut ids = CallIds::default();
        assert_eq!(ids.assign("call_1"), "call_1");
        let again = ids.assign("call_1");
        let odd = ids.assign("toolu|x");
        assert!(again != "call_1" && again != odd);
        assert!([&again, &odd].into_iter().all(|id| is_plain(id, ID_CHARS_MAX)));
        let mut same = CallIds::default();
        same.assign("call_1");
        assert_eq!(same.assign("call_1"), again);
        assert_eq!(same.assign("toolu|x"), odd);
        let mut short = CallIds::new(HostForms::default().with(HostForm::ShortCallIds));
        assert_eq!(short.assign("abcDEF123"), "abcDEF123");
        for id in ["abcDEF123", "call_1", "toolu|x", "call_1", "abc-EF123"] {
            let sent = short.assign(id);
            assert!(sent.len() == 9 && sent.bytes().all(|b| b.is_ascii_alphanumeric()), "{sent}");
        }
        assert_eq!(short.taken.len(), 6, "each is used once");
    }
}
