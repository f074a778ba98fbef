//! Addresses, which may contain a password.

use std::fmt;

use crate::secrets::is_secret_name;

/// An address with its scheme. A password in it, or a key in its query, is only shown by [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Accepts a text with a scheme, `://` and at least one more character; `None` for any other text.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://")?;
        let scheme_is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let plain =
            !rest.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        (scheme_is_one && plain).then(|| Self(text.to_owned()))
    }

    /// Returns the whole address, for the code that connects to it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the address with `****` in the place of its secrets.
    pub fn masked(&self) -> String {
        let mut masked = String::new();
        let mut end = 0;
        for secret in self.secret_parts() {
            // Each part is a slice of the address, so its offset is known and need not be searched for.
            let start = secret.as_ptr().addr() - self.0.as_ptr().addr();
            masked.push_str(&self.0[end..start]);
            masked.push_str("****");
            end = start + secret.len();
        }
        masked + &self.0[end..]
    }

    /// Returns the secrets in the address, as they are written and with percent codes decoded.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.secret_parts().flat_map(|part| [part.to_owned(), percent_decode(part)]).collect()
    }

    /// Returns the secrets of a text that is an address; none of any other text.
    pub(crate) fn secrets_in(text: &str) -> Vec<String> {
        Self::new(text).map(|address| address.secrets()).unwrap_or_default()
    }

    /// Returns the password and the values of secret keys in the query, in their order.
    fn secret_parts(&self) -> impl Iterator<Item = &str> {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
        let keys = pairs.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value);
        password.into_iter().chain(keys).filter(|secret| !secret.is_empty())
    }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_something_behind_it() {
        for (text, accepted) in [
            ("https://api.openai.com/v1", true),
            ("http://127.0.0.1:11434/v1", true),
            ("postgres:///ship?host=/tmp", true),
            ("api.openai.com", false),
            ("https://", false),
            ("://host", false),
            ("https://a b", false),
            ("", false),
        ] {
            assert_eq!(Address::new(text).is_some(), accepted, "{text:?}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password_and_keys() {
        for (text, shown) in [
            ("https://host/v1", "https://host/v1"),
            ("postgres://me:pw@host/db", "postgres://me:****@host/db"),
            ("postgres://me:p@w@host/db", "postgres://me:****@host/db"),
            (
                "postgres://pw:pw@pw/pw?password=pw&x=pw",
                "postgres://pw:****@pw/pw?password=****&x=pw",
            ),
            (
                "https://host/?api_key=one&v=2&token=two#end",
                "https://host/?api_key=****&v=2&token=****#end",
            ),
        ] {
            let address = Address::new(text).unwrap();
            assert_eq!(address.masked(), shown, "{text}");
            assert_eq!(format!("{address:?}"), shown);
            assert_eq!(address.expose(), text);
        }
        let escaped = Address::new("postgres://me:p%40ss%word@host/db").unwrap();
        assert_eq!(escaped.secrets(), ["p%40ss%word", "p@ss%word"]);
    }
}
