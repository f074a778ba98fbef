//! Serde for the lines of a view. Serde's own form of `Arc` is a feature that a whole workspace would be built with.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serializer};

use crate::ContextLine;

pub(super) fn serialize<S: Serializer>(
    lines: &[Arc<ContextLine>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines.iter().map(Arc::as_ref))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Arc<ContextLine>>, D::Error> {
    let lines = Vec::<ContextLine>::deserialize(deserializer)?;
    Ok(lines.into_iter().map(Arc::new).collect())
}
