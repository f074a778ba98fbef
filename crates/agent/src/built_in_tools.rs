//! The tools that every agent has.

mod chat_send;
mod contexts;
mod skills;

use std::sync::Arc;

use ship_message::json::{Json, Object};

use crate::tool::Tool;

/// The tools that every agent has.
pub fn built_in_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(chat_send::ChatSend),
        Arc::new(skills::SkillsList),
        Arc::new(skills::SkillsSet { load: true }),
        Arc::new(skills::SkillsSet { load: false }),
    ]
}

/// The tools to leave a context and come back.
pub fn context_tools() -> Vec<Arc<dyn Tool>> {
    contexts::all()
}

/// The JSON Schema of an object with required string fields, each with its description.
fn strings_schema(fields: &[(&'static str, &str)]) -> Json {
    let property = |(name, about): &(&'static str, &str)| {
        (*name, Json::Object(Object::from([("type", "string"), ("description", *about)])))
    };
    let properties: Object = fields.iter().map(property).collect();
    let required: Vec<Json> = fields.iter().map(|(name, _)| Json::from(*name)).collect();
    Json::Object(Object::from([
        ("type", Json::from("object")),
        ("properties", properties.into()),
        ("required", required.into()),
        ("additionalProperties", false.into()),
    ]))
}
