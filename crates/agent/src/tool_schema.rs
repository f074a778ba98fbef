//! Makes the JSON Schema of a tool's input for models.
//!
//! Providers support different parts of JSON Schema, and each word of a schema costs tokens in every request. So
//! the schema of a Rust type is reduced to what all of them support: no `$schema`, `title`, `$ref` or `format`, and
//! no union with `null`, because a model leaves an optional field out.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use ship_message::json::Json;

/// The keywords that are sent, in this order. Another order would be another prompt, which no provider
/// has in its cache.
const WORDS: [&str; 16] = [
    "type",
    "items",
    "description",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "anyOf",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
];

/// Returns the schema of a type for the input of a tool. A recursive type is described one level deep; below that,
/// any value is allowed.
pub(crate) fn input_schema<T: JsonSchema>() -> Json {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The tool has a description of its own.
    schema.remove("description");
    let plain = reduce_schema(schema.as_value());
    // A derived schema never nests deeper than our JSON may.
    Json::try_from(plain).unwrap_or_default()
}

/// Reduces a schema to the keywords that are sent, in their order.
fn reduce_schema(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut schema = schema.clone();
    remove_null(&mut schema);
    constants_to_enum(&mut schema);
    if schema.get("type") == Some(&json!("object")) {
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.entry("required").or_insert_with(|| json!([]));
    }
    let word = |word: &str| Some((word.to_owned(), reduce_keyword(word, schema.get(word)?)));
    Value::Object(WORDS.into_iter().filter_map(word).collect())
}

/// Reduces the schemas inside a keyword.
fn reduce_keyword(word: &str, value: &Value) -> Value {
    match (word, value) {
        ("items" | "additionalProperties", schema) => reduce_schema(schema),
        ("anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter().map(reduce_schema).collect(),
        ("properties", Value::Object(fields)) => {
            fields.iter().map(|(name, schema)| (name.clone(), reduce_schema(schema))).collect()
        }
        (_, value) => value.clone(),
    }
}

/// Removes `null` from the types, values and choices of an optional field. If one choice is left, it takes the
/// field's place and keeps its description.
fn remove_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = choices.as_slice() {
            let mut only = only.clone();
            if let Some(description) = schema.get("description") {
                only.insert("description".to_owned(), description.clone());
            }
            *schema = only;
        }
    }
}

/// Turns a choice of named constants, each with its own description, into an `enum`: hosts that turn schemas into
/// grammars do not know `const`.
fn constants_to_enum(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let Some(names) =
        choices.iter().map(|choice| choice.get("const").cloned()).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(names));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is asked for")]
    struct Trip {
        /// Where the trip goes.
        city: String,
        /// How many days.
        #[schemars(range(min = 1, max = 30))]
        days: Option<u32>,
        by: Option<Vehicle>,
        hotel: Option<Hotel>,
        stops: Vec<String>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is asked for")]
    enum Vehicle {
        /// A train runs on rails.
        Train,
        /// A plane flies on wings.
        Plane,
    }

    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is asked for")]
    struct Hotel {
        stars: f64,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is asked for")]
    struct Tree {
        children: Vec<Self>,
    }

    #[test]
    fn a_schema_has_plain_words_in_a_fixed_order() {
        assert_eq!(
            input_schema::<Trip>().to_string(),
            concat!(
                r#"{"type":"object","properties":{"#,
                r#""city":{"type":"string","description":"Where the trip goes."},"#,
                r#""days":{"type":"integer","description":"How many days.","minimum":1,"maximum":30},"#,
                r#""by":{"type":"string","enum":["train","plane"]},"#,
                r#""hotel":{"type":"object","properties":{"stars":{"type":"number"}},"required":["stars"],"additionalProperties":false},"#,
                r#""stops":{"type":"array","items":{"type":"string"}}},"#,
                r#""required":["city","stops"]}"#
            )
        );
    }

    #[test]
    fn a_type_that_holds_itself_is_described_without_references() {
        let schema = input_schema::<Tree>().to_string();
        assert!(!schema.contains('$'), "{schema}");
        assert!(
            schema.starts_with(r#"{"type":"object","properties":{"children":{"type":"array""#),
            "{schema}"
        );
    }
}
