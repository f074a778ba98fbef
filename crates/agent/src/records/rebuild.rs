//! Writes a request again from its record.
//!
//! The messages are those of the log up to the recorded line, wherever that log is now, and the first parts of the
//! message that the run was writing. That message is in the log after the run has ended, and before that in its
//! journal. Everything else is in the record and in blobs. The present settings do not matter.

use ship_context::compact::PrunedOutputs;
use ship_context::{Journal, ShowRules, SystemBlock};
use ship_message::json::Json;
use ship_message::{UiMessage, UiPart};
use ship_provider::{Request, ToolSpec};
use ship_store::{Chat, ContextBody, Gen, Position, ReadError, SealedLog, Store, View};

use super::request_record::{RequestMessages, RequestRecord};
use crate::blocking_work::blocking_if_large;
use crate::chat::{COMPACTED, pruned_outputs, show_messages, view_messages};
use crate::digest::digest;

/// A request that is rebuilt from its record.
#[derive(Clone, Debug, Default)]
pub(crate) struct RebuiltRequest {
    pub(crate) blocks: Vec<SystemBlock>,
    pub(crate) shown: Vec<UiMessage>,
    pub(crate) tools: Vec<ToolSpec>,
    /// The outputs that were left out.
    pub(crate) pruned: PrunedOutputs,
    /// The compactions in the log at that time: the time, and the data of the event.
    pub(crate) compactions: Vec<(ship_store::Timestamp, Json)>,
    /// The body, if nothing is missing.
    pub(crate) body: Option<String>,
    /// Whether the body equals the one that was sent.
    pub(crate) is_equal: bool,
    /// The missing pieces, a sentence each.
    pub(crate) missing: Vec<String>,
}

/// Rebuilds a request. Missing pieces are reported, and the rest is returned.
pub(crate) async fn rebuild(
    store: &dyn Store,
    chat: &dyn Chat,
    record: &RequestRecord,
) -> RebuiltRequest {
    let mut rebuilt = RebuiltRequest::default();
    for (name, sha256) in &record.system {
        if let Some(text) =
            rebuilt.read_blob(store, sha256, &format!("the system block `{name}`")).await
        {
            rebuilt.blocks.push(SystemBlock { name: name.clone(), text });
        }
    }
    if let Some(tools) = rebuilt.read_blob(store, &record.tools, "the tools").await {
        rebuilt.tools = parse_list(&tools).iter().filter_map(ToolSpec::from_json).collect();
    }
    match &record.shown {
        RequestMessages::Context { position, message_id, parts }
        | RequestMessages::Continuation { position, message_id, parts, .. } => {
            let limits = record.show_rules;
            let read = rebuilt.read_context(chat, *position, message_id, *parts, limits).await;
            rebuilt.missing.extend(read.err().map(|error| error.to_string()));
        }
        RequestMessages::Summary(_) => {}
    }
    if let RequestMessages::Continuation { instruction: sha256, .. }
    | RequestMessages::Summary(sha256) = &record.shown
    {
        rebuilt.read_stored_messages(store, sha256).await;
    }
    let record = record.clone();
    let bytes = usize::try_from(record.bytes).unwrap_or(usize::MAX);
    let write = move || {
        rebuilt.write_body(&record);
        rebuilt
    };
    blocking_if_large(bytes, write).await
}

fn parse_list(json: &str) -> Vec<Json> {
    match Json::parse(json) {
        Ok(Json::Array(list)) => list.into_vec(),
        _ => Vec::new(),
    }
}

impl RebuiltRequest {
    async fn read_blob(&mut self, store: &dyn Store, sha256: &str, what: &str) -> Option<String> {
        let found = store.blob(sha256).await.map_err(|error| error.to_string());
        let text = found.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| format!("blob {sha256} is not text"))
        });
        text.map_err(|error| self.missing.push(format!("{what} cannot be read: {error}"))).ok()
    }

    /// Adds messages that are in no log.
    async fn read_stored_messages(&mut self, store: &dyn Store, sha256: &str) {
        if sha256.is_empty() {
            let sentence =
                "the messages are not kept: `context.history.archiveOnCompact` was false";
            self.missing.push(sentence.to_owned());
        } else if let Some(list) = self.read_blob(store, sha256, "the messages").await {
            let messages = parse_list(&list).into_iter();
            self.shown.extend(messages.filter_map(|one| UiMessage::from_json(one).ok()));
        }
    }

    async fn read_context(
        &mut self,
        chat: &dyn Chat,
        position: Position,
        message_id: &str,
        parts: usize,
        limits: ShowRules,
    ) -> Result<(), ReadError> {
        let logs = ChatLogs::since(chat, position.generation).await?;
        let so_far = logs.message(chat, position, message_id, parts).await?;
        if so_far.as_ref().map_or(0, counted_parts) < parts {
            self.missing.push(format!("message {message_id} is no longer in any log"));
        }
        let Some(mut view) = logs.view(chat, position).await? else {
            self.missing.push(format!("the log with {position} is gone"));
            return Ok(());
        };
        view.lines.retain(|line| line.seq <= position.seq);
        self.pruned = pruned_outputs(&view);
        self.compactions =
            view.lines.iter().filter_map(|line| compaction_data(&line.body)).collect();
        self.shown = show_messages(limits, &view_messages(&view), so_far.as_ref(), &self.pruned);
        Ok(())
    }

    fn write_body(&mut self, record: &RequestRecord) {
        if !self.missing.is_empty() {
            return;
        }
        let system: Vec<String> = self.blocks.iter().map(|block| block.text.clone()).collect();
        let request = Request {
            system: &system,
            view: &self.shown,
            tools: &self.tools,
            max_tokens: record.max_tokens,
        };
        match record.recipe.body(&request) {
            Ok(body) => {
                self.is_equal = digest(body.as_bytes()) == record.sha256;
                self.body = Some(body);
            }
            Err(error) => self.missing.push(error.to_string()),
        }
    }
}

fn compaction_data(body: &ContextBody) -> Option<(ship_store::Timestamp, Json)> {
    match body {
        ContextBody::Event(event) if event.event == COMPACTED => {
            Some((event.ts, event.data.clone()))
        }
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    }
}

/// Returns the number of parts that count: empty texts are removed from a message when its run ends.
pub(crate) fn counted_parts(message: &UiMessage) -> usize {
    message.parts().iter().filter(|part| is_counted(part)).count()
}

fn is_counted(part: &UiPart) -> bool {
    !matches!(part, UiPart::Text(text) if text.text().is_empty())
}

/// Returns a message with only its first parts that count.
fn truncate_parts(mut message: UiMessage, count: usize) -> UiMessage {
    let mut left = count;
    message.parts_mut().retain(|part| {
        let is_in = is_counted(part) && left > 0;
        left -= usize::from(is_in);
        is_in
    });
    message
}

/// Returns the id of the message in which a run continues after settling; see `Journal::after_settling`.
fn next_message_id(id: &str) -> String {
    let numbered =
        id.rsplit_once('-').and_then(|(first, nth)| Some((first, nth.parse::<u64>().ok()?)));
    // The first message has no number, so a `-1` at the end belongs to its own id.
    match numbered {
        Some((first, nth)) if nth > 1 => format!("{first}-{}", nth + 1),
        Some(_) | None => format!("{id}-2"),
    }
}

/// The number of sealed logs that are listed at once: a request is rarely older than the last few.
const PAGE: usize = 4;

/// The logs of a chat, the newest first. The sealed ones are read when they are needed.
struct ChatLogs {
    live: Option<View>,
    sealed: Vec<SealedLog>,
}

impl ChatLogs {
    /// Lists the logs back to a generation. Reads the live log first: if it is sealed meanwhile, it is in both, and none is missed.
    async fn since(chat: &dyn Chat, generation: Gen) -> Result<Self, ReadError> {
        let live = chat.log().view().await?;
        let is_live = live.as_ref().is_some_and(|live| live.position.generation == generation);
        let mut sealed: Vec<SealedLog> = Vec::new();
        loop {
            let before = sealed.last().map(|log| log.name.clone());
            let page = chat.log().sealed_logs(before, PAGE).await?;
            let is_found = page.iter().any(|log| log.head.generation == generation);
            let is_last = page.len() < PAGE;
            sealed.extend(page);
            if is_live || is_found || is_last {
                return Ok(Self { live, sealed });
            }
        }
    }

    /// Returns the log of a position, in its present or final state.
    async fn view(&self, chat: &dyn Chat, at: Position) -> Result<Option<View>, ReadError> {
        if let Some(live) = &self.live
            && live.position.generation == at.generation
        {
            return Ok(Some(live.clone()));
        }
        let sealed = self.sealed.iter().find(|log| log.head.generation == at.generation);
        match sealed {
            Some(log) => chat.log().sealed_view(&log.name).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the first parts of a message that was written after a position. If it was settled since, some of
    /// them may be in the message in which the run continued.
    async fn message(
        &self,
        chat: &dyn Chat,
        at: Position,
        id: &str,
        parts: usize,
    ) -> Result<Option<UiMessage>, ReadError> {
        if parts == 0 {
            return Ok(None);
        }
        let Some(mut message) = self.whole_message(chat, at, id).await? else { return Ok(None) };
        let mut last = id.to_owned();
        while counted_parts(&message) < parts {
            last = next_message_id(&last);
            let Some(next) = self.whole_message(chat, at, &last).await? else { break };
            message.parts_mut().extend(next.parts().iter().cloned());
        }
        Ok(Some(truncate_parts(message, parts)))
    }

    /// Finds a message in the log of a position, in a later one, or in the journal of a run.
    async fn whole_message(
        &self,
        chat: &dyn Chat,
        at: Position,
        id: &str,
    ) -> Result<Option<UiMessage>, ReadError> {
        let in_view =
            |view: &View| view_messages(view).into_iter().find(|one| one.id() == Some(id));
        if let Some(found) = self.live.as_ref().and_then(in_view) {
            return Ok(Some(found));
        }
        for log in self.sealed.iter().filter(|log| log.head.generation >= at.generation) {
            let view = chat.log().sealed_view_if_readable(&log.name).await?;
            if let Some(found) = view.as_ref().and_then(in_view) {
                return Ok(Some(found));
            }
        }
        let journal = Journal::read(&chat.runs().journal().await?);
        Ok(journal.map(|journal| journal.message).filter(|message| message.id() == Some(id)))
    }
}
