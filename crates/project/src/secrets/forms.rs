//! Lists the spellings of a secret.
//!
//! A secret travels in JSON bodies, in JSON quoted inside JSON, in URLs and in forms. Most keys are plain letters
//! and look the same everywhere, but those with a quote, a slash or a letter outside ASCII do not.

use std::fmt::Write as _;

use ship_message::json::Json;

/// Returns all spellings of a secret, the plain one first.
pub(super) fn spellings(secret: &str) -> Vec<String> {
    let json = json_form(secret);
    let mut forms = vec![
        secret.to_owned(),
        json_form(&json),
        json.replace('/', "\\/"),
        ascii_json_form(&json, false),
        ascii_json_form(&json, true),
        json,
        secret.escape_debug().to_string(),
    ];
    for upper in [true, false] {
        // The characters that `encodeURIComponent`, a strict encoder and a form leave unchanged.
        for (plain, space) in [("-_.!~*'()", "%20"), ("-_.~", "%20"), ("-_.*", "+")] {
            forms.push(url_form(secret, plain, space, upper));
        }
    }
    forms
}

/// Returns the text inside the quotes of a JSON string.
fn json_form(text: &str) -> String {
    let quoted = Json::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns JSON in the spelling of programs that write only ASCII.
fn ascii_json_form(json: &str, upper: bool) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a `String` cannot fail.
            let _ = if upper { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
        }
    }
    out
}

fn url_form(text: &str, plain: &str, space: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push_str(space),
            _ if byte.is_ascii_alphanumeric() || plain.contains(char::from(byte)) => {
                out.push(char::from(byte));
            }
            _ => {
                // Writing to a `String` cannot fail.
                let _ = if upper { write!(out, "%{byte:02X}") } else { write!(out, "%{byte:02x}") };
            }
        }
    }
    out
}
