//! Merges message metadata as the AI SDK does.

use crate::convert::spread;
use crate::json::{Json, KeyPlaces, Object, is_prototype_key};

/// The indexes of the metadata's keys, kept between merges: a stream may bring metadata with every chunk, and a
/// search through all of it each time would cost its square.
#[derive(Debug, Default)]
pub(super) struct Merger {
    places: Option<KeyPlaces>,
}

impl Merger {
    /// Merges `overrides` into `base`: objects deeply, everything else by replacement. Returns false, and
    /// changes nothing, if `base` is neither an object nor a list but `overrides` has keys; JavaScript
    /// throws an error there.
    pub(super) fn merge(&mut self, base: &mut Json, overrides: Json) -> bool {
        let mut overrides = if let Json::Object(object) = overrides {
            object
        } else {
            spread(&overrides).into_iter().collect()
        };
        overrides.retain(|key, _| !is_prototype_key(key));
        if !matches!(base, Json::Object(_) | Json::Array(_)) && !overrides.is_empty() {
            return false;
        }
        if !matches!(base, Json::Object(_)) {
            *base = Json::Object(spread(base).into_iter().collect::<Object>());
            self.places = None;
        }
        if let Json::Object(object) = base {
            let places = self.places.get_or_insert_with(|| KeyPlaces::of(object));
            object.merge_deep(overrides, places);
        }
        true
    }
}
