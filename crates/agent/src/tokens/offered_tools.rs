//! The tools of a request, with the texts that are made of them. They are the same in all requests of an agent, so their
//! schemas are written once and not at each step.

use std::sync::Arc;

use ship_message::json::{Array, Json};
use ship_provider::ToolSpec;

use crate::digest::digest;

/// The tools that a model is offered. A clone is cheap.
#[derive(Clone, Debug)]
pub(crate) struct OfferedTools(Arc<Written>);

#[derive(Debug)]
struct Written {
    specs: Vec<ToolSpec>,
    /// The JSON of each tool.
    texts: Vec<String>,
    /// The JSON of all, in the form of their record, and its digest.
    record: String,
    sha256: String,
}

impl OfferedTools {
    pub(crate) fn new(specs: Vec<ToolSpec>) -> Self {
        let texts = specs.iter().map(|tool| tool.to_json().to_string()).collect();
        let tools: Array = specs.iter().map(ToolSpec::to_json).collect();
        let record = Json::from(tools).to_string();
        let sha256 = digest(record.as_bytes());
        Self(Arc::new(Written { specs, texts, record, sha256 }))
    }

    /// Returns the tools themselves.
    pub(crate) fn specs(&self) -> &[ToolSpec] {
        &self.0.specs
    }

    /// Returns the JSON of each tool.
    pub(crate) fn texts(&self) -> &[String] {
        &self.0.texts
    }

    /// Returns the tools in the form of their record.
    pub(crate) fn record(&self) -> &str {
        &self.0.record
    }

    /// Returns the digest of the record.
    pub(crate) fn sha256(&self) -> &str {
        &self.0.sha256
    }
}

impl Default for OfferedTools {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}
