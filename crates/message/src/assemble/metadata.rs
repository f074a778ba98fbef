//! Merging message metadata as the AI SDK does.

use crate::convert::spread;
use crate::json::{Json, Object, is_prototype_key};

/// Merges `overrides` into `base`: objects deeply, everything else replaced. Nothing when `base` is
/// neither object nor list but `overrides` has keys, which is an error in JavaScript.
pub(super) fn merge(base: &Json, overrides: Json) -> Option<Json> {
    let mut overrides = match overrides {
        Json::Object(object) => object,
        other => spread_out(&other),
    };
    overrides.retain(|key, _| !is_prototype_key(key));
    if !matches!(base, Json::Object(_) | Json::Array(_)) && !overrides.is_empty() {
        return None;
    }
    let mut result = spread_out(base);
    result.merge_deep(overrides);
    Some(Json::Object(result))
}

fn spread_out(value: &Json) -> Object {
    let mut entries = Object::new();
    spread(value, &mut entries);
    entries
}
