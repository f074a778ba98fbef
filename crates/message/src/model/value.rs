//! A JSON value that is borrowed where possible.

use crate::json::{Json, ObjectWriter};

/// A JSON value inside a model message.
#[derive(Clone, Debug)]
pub enum ModelValue<'a> {
    /// A value of the converted message, or of the JSON that was read.
    Ref(&'a Json),
    /// A string of that message, or a constant.
    Str(&'a str),
    /// An owned value.
    Owned(Json),
}

impl ModelValue<'_> {
    /// Returns the string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Ref(json) => json.as_str(),
            Self::Str(text) => Some(text),
            Self::Owned(json) => json.as_str(),
        }
    }

    /// Returns a copy of the value.
    pub fn into_json(self) -> Json {
        match self {
            Self::Ref(json) => json.clone(),
            Self::Str(text) => Json::from(text),
            Self::Owned(json) => json,
        }
    }

    /// Appends the value as JSON text.
    pub fn write_to(&self, out: &mut String) {
        match self {
            Self::Ref(json) => json.write_to(out),
            Self::Str(text) => crate::json::write_string(text, out),
            Self::Owned(json) => json.write_to(out),
        }
    }
}

/// Treats null as absent, like JavaScript's `??` and `!= null`.
pub(crate) fn present(value: Option<&Json>) -> Option<&Json> {
    value.filter(|value| !value.is_null())
}

impl ObjectWriter<'_> {
    pub(super) fn value(&mut self, key: &str, value: ModelValue<'_>) {
        value.write_to(self.key(key));
    }

    pub(super) fn option(&mut self, key: &str, value: Option<ModelValue<'_>>) {
        if let Some(value) = value {
            self.value(key, value);
        }
    }
}
