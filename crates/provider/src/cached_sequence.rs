//! The part of a body that a provider's cache sees: tools, system, messages, in this order.
//!
//! Providers read their caches from the front. They put the tools before the system and the system before the
//! messages, regardless of their order in the body. Marks of the places where a cache may end are not part of it.

use memchr::{memchr2, memmem};

/// The pieces of a body in the order of a cache, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedSequence {
    text: String,
    tools_end: usize,
    system_end: usize,
}

/// The mark by which Anthropic knows where a cache may end. Inside a text its quotes would be escaped.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

impl CachedSequence {
    /// Divides a body that [`Recipe::body`](crate::Recipe::body) has written.
    pub fn of(body: &str) -> Self {
        let (mut tools, mut system, mut messages) = ("", "", "");
        for (key, value) in entries(body) {
            match key {
                "\"tools\"" => tools = value,
                "\"system\"" => system = value,
                "\"messages\"" => messages = value,
                _ => {}
            }
        }
        // If system is not a field of its own, it is the first message.
        let first = items(messages).next().filter(|first| first.starts_with(r#"{"role":"system""#));
        if let Some(first) = first.filter(|_| system.is_empty()) {
            system = first;
            messages = &messages[first.len() + 1..];
        }
        let mut text = String::with_capacity(body.len());
        push_without_marks(&mut text, tools);
        text.push('\n');
        let tools_end = text.len();
        push_without_marks(&mut text, system);
        text.push('\n');
        let system_end = text.len();
        // The opening of the list is left out: the bracket, or the comma after the system message.
        push_without_marks(&mut text, messages.get(1..).unwrap_or_default());
        Self { text, tools_end, system_end }
    }

    /// Returns the text of the whole sequence.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the part with which every extended sequence begins: all but the closing brackets.
    pub fn stem(&self) -> &str {
        self.text.trim_end_matches([']', '}'])
    }

    /// Returns the number of bytes that two sequences share at their beginnings.
    pub fn common_bytes(&self, other: &Self) -> usize {
        let pairs = self.text.bytes().zip(other.text.bytes());
        pairs.take_while(|(one, other)| one == other).count()
    }

    /// Returns the tokens of the first bytes, given the tokens of the pieces: whole pieces, and a share by bytes of
    /// the piece in which they end.
    pub fn tokens_of(&self, bytes: usize, tools: u64, system: u64, messages: u64) -> u64 {
        let share = |tokens: u64, from: usize, to: usize| {
            let (all, inside) = (to - from, bytes.clamp(from, to) - from);
            if all == 0 { 0 } else { (tokens as f64 * inside as f64 / all as f64) as u64 }
        };
        share(tools, 0, self.tools_end)
            + share(system, self.tools_end, self.system_end)
            + share(messages, self.system_end, self.text.len())
    }
}

fn push_without_marks(text: &mut String, mut piece: &str) {
    while let Some(at) = memmem::find(piece.as_bytes(), MARK.as_bytes()) {
        text.push_str(&piece[..at]);
        piece = &piece[at + MARK.len()..];
    }
    text.push_str(piece);
}

/// Returns the keys and values of an object as they are written.
fn entries(object: &str) -> impl Iterator<Item = (&str, &str)> {
    items(object).filter_map(|entry| {
        let key = entry.get(..string_end(entry.as_bytes(), 0))?;
        Some((key, entry[key.len()..].strip_prefix(':')?))
    })
}

/// Returns the items between the commas of an object or an array as they are written.
fn items(json: &str) -> impl Iterator<Item = &str> {
    let bytes = json.as_bytes();
    let mut at = 1;
    std::iter::from_fn(move || {
        let start = at;
        let mut depth = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = string_end(bytes, at);
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 0 => depth -= 1,
                b',' | b'}' | b']' if depth == 0 => {
                    at += 1;
                    return Some(&json[start..at - 1]).filter(|item| !item.is_empty());
                }
                _ => {}
            }
            at += 1;
        }
        None
    })
}

/// Returns the place after the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += next;
        match bytes[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENAI: &str = r#"{"model":"m","max_tokens":7,"messages":[{"role":"system","content":"S"},{"role":"user","content":"a \"tools\":[ ]}"}],"tools":[{"t":[1,{}]}],"tool_choice":"auto","stream":true}"#;

    #[test]
    fn tools_come_before_the_system_and_the_system_before_the_messages() {
        let sequence = CachedSequence::of(OPENAI);
        assert_eq!(
            sequence.text(),
            "[{\"t\":[1,{}]}]\n{\"role\":\"system\",\"content\":\"S\"}\n{\"role\":\"user\",\"content\":\"a \\\"tools\\\":[ ]}\"}]"
        );
        let (tools, others) = sequence.text().split_at(sequence.tools_end);
        assert!(tools.contains("\"t\"") && others.starts_with("{\"role\":\"system\""));
        assert!(sequence.text()[sequence.system_end..].starts_with("{\"role\":\"user\""));
        let plain =
            CachedSequence::of(r#"{"system":["S"],"messages":[{"m":1}],"tools":[],"maxTokens":1}"#);
        assert_eq!(plain.text(), "[]\n[\"S\"]\n{\"m\":1}]");
        assert_eq!(CachedSequence::of(r#"{"messages":[]}"#).text(), "\n\n]");
    }

    #[test]
    fn what_is_only_added_to_begins_with_the_stem_and_marks_are_no_difference() {
        let before = r#"{"system":[{"text":"S","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"text":"a","cache_control":{"type":"ephemeral"}}]}]}"#;
        let after = r#"{"system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"a"},{"text":"b","cache_control":{"type":"ephemeral"}}]},{"role":"assistant"}]}"#;
        let (before, after) = (CachedSequence::of(before), CachedSequence::of(after));
        assert!(after.text().starts_with(before.stem()), "{after:?}");
        assert!(before.common_bytes(&after) >= before.stem().len());
    }

    #[test]
    fn tokens_are_told_piece_by_piece() {
        let sequence = CachedSequence::of(OPENAI);
        let tokens = |bytes| sequence.tokens_of(bytes, 100, 10, 1_000);
        assert_eq!(tokens(0), 0);
        assert_eq!(tokens(sequence.tools_end), 100);
        assert_eq!(tokens(sequence.system_end), 110);
        assert_eq!(tokens(sequence.text().len()), 1_110);
        let half = (sequence.system_end + sequence.text().len()) / 2;
        assert!((580..=640).contains(&tokens(half)), "{}", tokens(half));
    }

    #[test]
    fn what_is_no_body_is_taken_apart_without_a_panic() {
        for body in [
            "",
            "{",
            "[",
            "{\"messages\":[",
            "{\"messages\":5}",
            "\"\\",
            "{\"messages\":[{\"role\":\"system\"",
        ] {
            let _ = CachedSequence::of(body);
        }
    }
}
