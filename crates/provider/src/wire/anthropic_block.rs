//! One block of a message, and how it is written.

use std::borrow::Cow;

use ship_message::json::{Json, Object, ObjectWriter};

/// A block of a message.
#[derive(Debug)]
pub(super) struct Block<'p> {
    pub(super) body: BlockBody<'p>,
    pub(super) caller: Option<Caller<'p>>,
    pub(super) cache: Option<Cache<'p>>,
}

#[derive(Debug)]
pub(super) enum BlockBody<'p> {
    Text {
        text: &'p str,
        citations: Option<&'p Json>,
    },
    /// A summary that the provider itself made of an older part of the conversation.
    Compaction(&'p str),
    Image(MediaSource<'p>),
    Document(Document<'p>),
    Thinking {
        text: &'p str,
        signature: &'p str,
    },
    RedactedThinking(&'p str),
    ToolUse(ToolUseBlock<'p>),
    ToolResult(ToolResultBlock<'p>),
    /// A tool that is added or removed by a system message.
    ToolChange {
        kind: &'p str,
        tool: &'p str,
    },
    /// A call of a tool that the provider runs, or its result. It is rare, so it is built as a tree.
    ByProvider(Object),
}

#[derive(Debug)]
pub(super) struct Document<'p> {
    pub(super) source: MediaSource<'p>,
    pub(super) title: Option<&'p str>,
    pub(super) context: Option<&'p str>,
    pub(super) citations: bool,
}

#[derive(Debug)]
pub(super) struct ToolUseBlock<'p> {
    pub(super) id: &'p str,
    pub(super) name: &'p str,
    pub(super) toolset: Option<&'p str>,
    pub(super) input: Option<Cow<'p, Json>>,
}

#[derive(Debug)]
pub(super) struct ToolResultBlock<'p> {
    pub(super) id: &'p str,
    pub(super) toolset: Option<&'p str>,
    pub(super) content: BlockContent<'p>,
    pub(super) is_error: bool,
}

#[derive(Debug)]
pub(super) enum BlockContent<'p> {
    Text(&'p str),
    /// A JSON value that is written as text.
    Json(&'p Json),
    Blocks(Vec<ContentBlock<'p>>),
}

#[derive(Debug)]
pub(super) enum ContentBlock<'p> {
    Text(&'p str),
    Image(MediaSource<'p>),
    Document(MediaSource<'p>),
    ToolReference(Option<&'p Json>),
}

/// The source of an image or a document.
#[derive(Debug)]
pub(super) enum MediaSource<'p> {
    Url(&'p str),
    Base64 { media_type: &'p str, data: Cow<'p, str> },
    Text(Cow<'p, str>),
}

/// The caller of a tool: the model itself, or code that the provider ran for it.
#[derive(Debug)]
pub(super) enum Caller<'p> {
    Direct,
    Code { kind: &'p str, id: &'p Json },
}

/// The mark of a place where a cache may end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cache<'p> {
    /// The mark that the message gives.
    Given(&'p Json),
    /// The mark that we set ourselves.
    Mark,
}

impl Cache<'_> {
    pub(super) fn write_to(self, block: &mut ObjectWriter<'_>) {
        match self {
            Self::Given(value) => block.json("cache_control", value),
            Self::Mark => block.object("cache_control").str("type", "ephemeral"),
        }
    }
}

impl<'p> Block<'p> {
    pub(super) fn new(body: BlockBody<'p>, cache: Option<Cache<'p>>) -> Self {
        Self { body, caller: None, cache }
    }

    /// Whether a cache may end after the block. Thinking takes no mark, and neither does an empty block.
    pub(super) fn may_be_marked(&self) -> bool {
        match &self.body {
            BlockBody::Text { text, .. } => !text.is_empty(),
            BlockBody::Thinking { .. }
            | BlockBody::RedactedThinking(_)
            | BlockBody::ToolChange { .. } => false,
            BlockBody::Compaction(_)
            | BlockBody::Image(_)
            | BlockBody::Document(_)
            | BlockBody::ToolUse(_)
            | BlockBody::ToolResult(_)
            | BlockBody::ByProvider(_) => true,
        }
    }

    pub(super) fn write_to(&self, out: &mut String) {
        let mut block = ObjectWriter::open(out);
        self.body.write_to(&mut block);
        match &self.caller {
            Some(Caller::Direct) => block.object("caller").str("type", "direct"),
            Some(Caller::Code { kind, id }) => {
                let mut caller = block.object("caller");
                caller.str("type", kind);
                caller.json("tool_id", id);
            }
            None => {}
        }
        if let Some(cache) = self.cache {
            cache.write_to(&mut block);
        }
    }
}

impl BlockBody<'_> {
    fn write_to(&self, block: &mut ObjectWriter<'_>) {
        match self {
            Self::Text { text, citations } => {
                block.str("type", "text");
                block.str("text", text);
                if let Some(citations) = citations {
                    block.json("citations", citations);
                }
            }
            Self::Compaction(text) => {
                block.str("type", "compaction");
                block.str("content", text);
            }
            Self::Image(source) => {
                block.str("type", "image");
                source.write_to(block);
            }
            Self::Document(document) => document.write_to(block),
            Self::Thinking { text, signature } => {
                block.str("type", "thinking");
                block.str("thinking", text);
                block.str("signature", signature);
            }
            Self::RedactedThinking(data) => {
                block.str("type", "redacted_thinking");
                block.str("data", data);
            }
            Self::ToolUse(call) => call.write_to(block),
            Self::ToolResult(result) => result.write_to(block),
            Self::ToolChange { kind, tool } => {
                block.str("type", kind);
                let mut reference = block.object("tool");
                reference.str("type", "tool_reference");
                reference.str("name", tool);
            }
            Self::ByProvider(fields) => block.fields(fields),
        }
    }
}

impl Document<'_> {
    fn write_to(&self, block: &mut ObjectWriter<'_>) {
        block.str("type", "document");
        self.source.write_to(block);
        if let Some(title) = self.title {
            block.str("title", title);
        }
        if let Some(context) = self.context {
            block.str("context", context);
        }
        if self.citations {
            block.object("citations").json("enabled", &Json::Bool(true));
        }
    }
}

impl ToolUseBlock<'_> {
    fn write_to(&self, block: &mut ObjectWriter<'_>) {
        block.str("type", "tool_use");
        block.str("id", self.id);
        block.str("name", self.name);
        if let Some(toolset) = self.toolset {
            block.str("toolset_name", toolset);
        }
        if let Some(input) = &self.input {
            block.json("input", input);
        }
    }
}

impl ToolResultBlock<'_> {
    fn write_to(&self, block: &mut ObjectWriter<'_>) {
        block.str("type", "tool_result");
        block.str("tool_use_id", self.id);
        if let Some(toolset) = self.toolset {
            block.str("toolset_name", toolset);
        }
        match &self.content {
            BlockContent::Text(text) => block.str("content", text),
            BlockContent::Json(value) => block.stringified("content", value),
            BlockContent::Blocks(blocks) => block.list("content", blocks, ContentBlock::write_to),
        }
        if self.is_error {
            block.json("is_error", &Json::Bool(true));
        }
    }
}

impl ContentBlock<'_> {
    fn write_to(&self, out: &mut String) {
        let mut block = ObjectWriter::open(out);
        match self {
            Self::Text(text) => {
                block.str("type", "text");
                block.str("text", text);
            }
            Self::Image(source) => {
                block.str("type", "image");
                source.write_to(&mut block);
            }
            Self::Document(source) => {
                block.str("type", "document");
                source.write_to(&mut block);
            }
            Self::ToolReference(tool) => {
                block.str("type", "tool_reference");
                if let Some(tool) = tool {
                    block.json("tool_name", tool);
                }
            }
        }
    }
}

impl MediaSource<'_> {
    fn write_to(&self, block: &mut ObjectWriter<'_>) {
        let mut source = block.object("source");
        match self {
            Self::Url(url) => {
                source.str("type", "url");
                source.str("url", url);
            }
            Self::Base64 { media_type, data } => {
                source.str("type", "base64");
                source.str("media_type", media_type);
                source.str("data", data);
            }
            Self::Text(text) => {
                source.str("type", "text");
                source.str("media_type", "text/plain");
                source.str("data", text);
            }
        }
    }
}
