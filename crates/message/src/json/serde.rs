//! Serde for JSON: converts types that derive `Serialize` into [`Json`], and [`Json`] into
//! types that derive `Deserialize`.
//!
//! Serde recurses, and a hostile message nests deeper than the stack. So values that pass through serde may nest
//! [`DEPTH_MAX`] levels deep, the limit of `serde_json` for text; deeper ones are an error. Reading and writing
//! JSON text needs no serde and has no such limit.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Array, JsString, Json, Object};

/// The number of levels that a value may nest to pass through serde.
pub const DEPTH_MAX: usize = 128;

/// The largest number up to which every whole double is exact.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Converts any serialisable value into JSON.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Point { x: u32, y: u32 }
///
/// let json = ship_message::json::to_json(&Point { x: 1, y: 2 })?;
/// assert_eq!(json.to_string(), r#"{"x":1,"y":2}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// Fails if the value refuses, has a map with keys that are not strings, or nests too deep.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    serde_json::to_value(value)?.try_into()
}

/// Converts JSON into a value.
///
/// # Errors
/// Fails if the JSON does not fit the type, or nests too deep.
pub fn from_json<T: DeserializeOwned>(json: &Json) -> Result<T, serde_json::Error> {
    serde_json::from_value(json.try_into()?)
}

impl TryFrom<&Json> for serde_json::Value {
    type Error = serde_json::Error;

    /// Fails if the JSON nests too deep.
    fn try_from(json: &Json) -> Result<Self, Self::Error> {
        serde_json::to_value(json)
    }
}

impl TryFrom<serde_json::Value> for Json {
    type Error = serde_json::Error;

    /// Fails if the value nests too deep.
    fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
        Self::deserialize(value)
    }
}

/// A value, and the number of levels it may still nest.
struct Limited<T>(T, usize);

impl<T> Limited<T> {
    /// Returns the levels that are left for the children of a container.
    fn below<E>(&self, too_deep: impl FnOnce(String) -> E) -> Result<usize, E> {
        let message = || format!("JSON nests more than {DEPTH_MAX} levels deep");
        self.1.checked_sub(1).ok_or_else(|| too_deep(message()))
    }
}

impl Serialize for Limited<&Json> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(bool) => serializer.serialize_bool(*bool),
            Json::Number(number) => serialize_number(*number, serializer),
            Json::String(string) => serializer.serialize_str(string.as_str()),
            Json::Array(array) => Limited(array, self.1).serialize(serializer),
            Json::Object(object) => Limited(object, self.1).serialize(serializer),
        }
    }
}

/// Writes a number as `JSON.stringify` does: a whole one without a fraction, an infinite one as null.
fn serialize_number<S: Serializer>(number: f64, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        whole if whole.fract() == 0.0 && whole.abs() <= EXACT_MAX => {
            serializer.serialize_i64(whole as i64)
        }
        finite if finite.is_finite() => serializer.serialize_f64(finite),
        _ => serializer.serialize_unit(),
    }
}

impl Serialize for Limited<&Array> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let below = self.below(S::Error::custom)?;
        let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
        for value in self.0.iter() {
            seq.serialize_element(&Limited(value, below))?;
        }
        seq.end()
    }
}

impl Serialize for Limited<&Object> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let below = self.below(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0.iter() {
            map.serialize_entry(key, &Limited(value, below))?;
        }
        map.end()
    }
}

impl<'de> DeserializeSeed<'de> for Limited<()> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Limited<()> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Json, E> {
        Ok(Json::Bool(bool))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        // Every number is a double, as in JavaScript.
        Ok(Json::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let below = self.below(A::Error::custom)?;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(Self((), below))? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let below = self.below(A::Error::custom)?;
        let mut entries: Vec<(String, Json)> = Vec::new();
        while let Some(key) = map.next_key()? {
            entries.push((key, map.next_value_seed(Self((), below))?));
        }
        Ok(Json::Object(entries.into_iter().collect()))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Limited(self, DEPTH_MAX).serialize(serializer)
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Limited(self, DEPTH_MAX).serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Limited(self, DEPTH_MAX).serialize(serializer)
    }
}

impl Serialize for JsString {
    /// Writes U+FFFD for half a surrogate pair, which serde cannot express.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Limited((), DEPTH_MAX).deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Json::Array(array) = Json::deserialize(deserializer)? else {
            return Err(D::Error::custom("expected a JSON array"));
        };
        Ok(array)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Json::Object(object) = Json::deserialize(deserializer)? else {
            return Err(D::Error::custom("expected a JSON object"));
        };
        Ok(object)
    }
}

impl<'de> Deserialize<'de> for JsString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.into())
    }
}
