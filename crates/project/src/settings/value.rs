//! Reads and shows a value of each type.

use std::ops::RangeInclusive;

use ship_message::json::Json;

use super::{Address, TokenBudget};
use crate::Secret;

/// A type that a key of `ship.json` may have.
pub(super) trait SettingValue: Sized {
    /// Whether a wrong value may be a secret.
    const HIDDEN: bool = false;

    /// The words among the valid values.
    const WORDS: &'static [&'static str] = &[];

    /// Reads the value; `None` if it is invalid.
    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self>;

    /// Returns the value in a form that may be shown to every reader.
    fn show(&self) -> Json;

    /// Describes valid values, as a phrase after "must be".
    fn expected(bounds: &RangeInclusive<u64>) -> String;

    /// Returns the secrets in the value.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }
}

impl SettingValue for bool {
    const WORDS: &'static [&'static str] = &["true", "false"];

    fn read(json: &Json, _: &RangeInclusive<u64>) -> Option<Self> {
        json.as_bool()
    }

    fn show(&self) -> Json {
        (*self).into()
    }

    fn expected(_: &RangeInclusive<u64>) -> String {
        "true or false".to_owned()
    }
}

impl SettingValue for u64 {
    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self> {
        json.as_u64().filter(|number| bounds.contains(number))
    }

    fn show(&self) -> Json {
        (*self).into()
    }

    fn expected(bounds: &RangeInclusive<u64>) -> String {
        format!("a whole number from {} to {}", bounds.start(), bounds.end())
    }
}

impl SettingValue for f64 {
    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self> {
        let inside = *bounds.start() as Self..=*bounds.end() as Self;
        json.as_number().filter(|number| inside.contains(number))
    }

    fn show(&self) -> Json {
        (*self).into()
    }

    fn expected(bounds: &RangeInclusive<u64>) -> String {
        format!("a number from {} to {}", bounds.start(), bounds.end())
    }
}

impl SettingValue for String {
    fn read(json: &Json, _: &RangeInclusive<u64>) -> Option<Self> {
        json.as_str().filter(|text| !text.trim().is_empty()).map(Self::from)
    }

    fn show(&self) -> Json {
        self.as_str().into()
    }

    fn expected(_: &RangeInclusive<u64>) -> String {
        "non-empty text".to_owned()
    }
}

impl SettingValue for Secret {
    const HIDDEN: bool = true;

    /// Removes surrounding white space, which comes from copying; no key contains any.
    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self> {
        String::read(json, bounds).map(|text| Self::new(text.trim()))
    }

    fn show(&self) -> Json {
        self.masked().into()
    }

    fn expected(bounds: &RangeInclusive<u64>) -> String {
        String::expected(bounds)
    }

    fn secrets(&self) -> Vec<String> {
        vec![self.expose().to_owned()]
    }
}

impl SettingValue for Address {
    const HIDDEN: bool = true;

    fn read(json: &Json, _: &RangeInclusive<u64>) -> Option<Self> {
        Self::new(json.as_str()?)
    }

    fn show(&self) -> Json {
        self.masked().into()
    }

    fn expected(_: &RangeInclusive<u64>) -> String {
        "a URL such as \"https://host/path\"".to_owned()
    }

    fn secrets(&self) -> Vec<String> {
        Self::secrets(self)
    }
}

impl SettingValue for TokenBudget {
    const WORDS: &'static [&'static str] = &["auto"];

    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self> {
        match json.as_str() {
            Some(text) => (text == "auto").then_some(Self::Auto),
            None => u64::read(json, bounds).map(Self::Tokens),
        }
    }

    fn show(&self) -> Json {
        match self {
            Self::Auto => "auto".into(),
            Self::Tokens(tokens) => tokens.show(),
        }
    }

    fn expected(bounds: &RangeInclusive<u64>) -> String {
        format!("\"auto\" or {}", u64::expected(bounds))
    }
}

impl SettingValue for Vec<String> {
    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self> {
        json.as_array()?.iter().map(|text| String::read(text, bounds)).collect()
    }

    fn show(&self) -> Json {
        self.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>().into()
    }

    fn expected(_: &RangeInclusive<u64>) -> String {
        "a list of strings, such as [\"one\", \"two\"]".to_owned()
    }
}

impl<V: SettingValue> SettingValue for Option<V> {
    const HIDDEN: bool = V::HIDDEN;
    const WORDS: &'static [&'static str] = V::WORDS;

    fn read(json: &Json, bounds: &RangeInclusive<u64>) -> Option<Self> {
        V::read(json, bounds).map(Some)
    }

    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, V::show)
    }

    fn expected(bounds: &RangeInclusive<u64>) -> String {
        V::expected(bounds)
    }

    fn secrets(&self) -> Vec<String> {
        self.as_ref().map_or_else(Vec::new, V::secrets)
    }
}
