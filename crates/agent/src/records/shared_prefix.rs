//! Compares a request with the one before it: the shared part can be in the provider's cache.
//!
//! Requests are compared by the bytes that are sent, over tools, system and messages in this order. Almost every
//! request only extends the one before it, which a digest of its beginning shows. If it does not, the one before is
//! rebuilt from its record, and the first byte that differs shows what has changed.

use std::sync::Arc;

use ship_context::compact::PrunedOutputs;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_provider::{CachedSequence, HostForm, Recipe};
use ship_store::{Chat, ContextBody, Position, ReadError, Store, View};

use super::block_digests::first_block;
use super::rebuild::{RebuiltRequest, rebuild};
use super::request_record::{RecordedRequest, RequestMessages, RequestRecord, RequestTokens};
use super::written_body::WrittenBody;
use crate::blocking_work::{in_place_if, is_large};
use crate::chat::COMPACTED;
use crate::digest::digest;

/// The part that a request shares with the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedPrefix {
    /// The id of the request before.
    pub before: Option<String>,
    /// The number of its first tokens that the request before had too.
    pub tokens: u64,
    /// The first difference; `None` if the request only adds to the one before.
    pub difference: Option<String>,
}

impl SharedPrefix {
    /// Makes the value for the first request of a chat, which shares nothing.
    pub(crate) fn for_first_request() -> Self {
        Self { difference: Some("first request".to_owned()), ..Self::default() }
    }

    /// Makes the value for a request whose predecessor is unknown.
    pub(crate) fn unknown() -> Self {
        Self { difference: Some(UNKNOWN.to_owned()), ..Self::default() }
    }

    /// Returns the value in the form of a record.
    pub fn to_object(&self) -> Object {
        let text = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::from);
        Object::from([
            ("before", text(&self.before)),
            ("tokens", self.tokens.into()),
            ("difference", text(&self.difference)),
        ])
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
        Some(Self {
            before: text("before"),
            tokens: json.get("tokens")?.as_u64()?,
            difference: text("difference"),
        })
    }
}

/// A request that is about to be sent, as far as it is compared.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) system: &'a [(String, String)],
    /// The tokens of each system block.
    pub(crate) system_tokens: &'a [u64],
    pub(crate) tools: &'a str,
    pub(crate) tokens: &'a RequestTokens,
    pub(crate) body: &'a WrittenBody,
    pub(crate) position: Option<Position>,
    pub(crate) shown: &'a [UiMessage],
    pub(crate) pruned: &'a PrunedOutputs,
}

impl OutgoingRequest<'_> {
    fn shared_prefix(
        &self,
        before: &RequestRecord,
        tokens: u64,
        difference: Option<String>,
    ) -> SharedPrefix {
        SharedPrefix { before: Some(before.id.clone()), tokens, difference }
    }

    fn tokens_of(&self, bytes: usize) -> u64 {
        let RequestTokens { system, tools, messages, .. } = *self.tokens;
        self.body.sequence.tokens_of(bytes, tools, system, messages)
    }

    /// Compares the request with the one before.
    pub(crate) async fn compare(
        &self,
        store: &dyn Store,
        chat: &dyn Chat,
        before: Option<&RequestRecord>,
    ) -> SharedPrefix {
        let Some(before) = before else { return SharedPrefix::for_first_request() };
        if let Some(known) = self.difference_before_messages(before) {
            return known;
        }
        // Nearly every request only adds to the one before, and this digest proves it without rebuilding that one.
        if self.body.begins_with(&before.stem) {
            let bytes = usize::try_from(before.stem.0).unwrap_or(usize::MAX);
            return self.shared_prefix(before, self.tokens_of(bytes), None);
        }
        if let Some(difference) = self.replaced_long_log(chat, before).await {
            let RequestTokens { system, tools, .. } = *self.tokens;
            return self.shared_prefix(before, system + tools, Some(difference.to_owned()));
        }
        let rebuilt = rebuild(store, chat, before).await;
        let Some(body) = rebuilt.body.as_ref().filter(|_| rebuilt.is_equal) else {
            let RequestTokens { system, tools, .. } = *self.tokens;
            return self.shared_prefix(before, system + tools, Some(UNKNOWN.to_owned()));
        };
        let compare = || self.body.sequence.common_bytes(&CachedSequence::of(body));
        let common = in_place_if(is_large(body.len()), compare);
        let difference = match self.difference_in_messages(chat, before, &rebuilt).await {
            Ok(difference) => difference,
            // `ship inspect` reports the error; here it would stop a run for the sake of a note.
            Err(_) => UNKNOWN.to_owned(),
        };
        self.shared_prefix(before, self.tokens_of(common), Some(difference))
    }

    /// Describes how the log of the request before was replaced, if it is too long to be read again for a comparison.
    async fn replaced_long_log(
        &self,
        chat: &dyn Chat,
        before: &RequestRecord,
    ) -> Option<&'static str> {
        let RequestMessages::Context { position, .. } = &before.shown else { return None };
        // An error here comes again when the request is rebuilt, and is dealt with there.
        let newest = chat.log().sealed_logs(None, 1).await.ok()?.pop()?;
        let is_it = newest.head.generation == position.generation;
        (is_it && newest.last.get() - newest.first.get() > COMPARED_LINES_MAX).then_some(())?;
        Some(replaced_by(&chat.log().view().await.ok()??))
    }

    /// Finds a difference before the messages, by digests.
    fn difference_before_messages(&self, before: &RequestRecord) -> Option<SharedPrefix> {
        let (old, new) = (&before.recipe, self.recipe);
        if (&old.format, &old.provider, &old.model) != (&new.format, &new.provider, &new.model) {
            // A model does not read another's cache.
            let difference = format!("{} instead of {}", model_name(new), model_name(old));
            return Some(self.shared_prefix(before, 0, Some(difference)));
        }
        // Tools come first in a request, so nothing behind different tools is in the cache. A host that takes none was
        // sent none, also in the request that taught it.
        let takes_none = [old, new].iter().all(|recipe| recipe.forms.has(HostForm::NoTools));
        if before.tools != self.tools && !takes_none {
            return Some(self.shared_prefix(before, 0, Some("tools".to_owned())));
        }
        let object = |blocks: &[(String, String)]| -> Object {
            blocks
                .iter()
                .map(|(name, sha256)| (name.clone(), Json::from(sha256.as_str())))
                .collect()
        };
        let (old, new) = (object(&before.system), object(self.system));
        let (block, change) = first_block(&old, &new)?;
        let same = before.system.iter().zip(self.system).take_while(|(old, new)| old == new);
        let tokens = self.system_tokens.iter().take(same.count()).sum::<u64>();
        let difference = format!("system block {block} {change}");
        Some(self.shared_prefix(before, self.tokens.tools + tokens, Some(difference)))
    }

    /// Describes the difference in the messages.
    async fn difference_in_messages(
        &self,
        chat: &dyn Chat,
        before: &RequestRecord,
        rebuilt: &RebuiltRequest,
    ) -> Result<String, ReadError> {
        if let Some(difference) = recipe_difference(&before.recipe, self.recipe) {
            return Ok(difference);
        }
        let RequestMessages::Context { position, .. } = &before.shown else {
            return Ok("another kind of request".to_owned());
        };
        if self.position.is_some_and(|now| now.generation != position.generation) {
            let view = chat.log().view().await?;
            return Ok(view.as_ref().map_or("another context", replaced_by).to_owned());
        }
        let pairs = rebuilt.shown.iter().zip(self.shown);
        let Some((old, _)) = pairs.into_iter().find(|(old, new)| !begins_with(new, old)) else {
            return Ok("the end of the messages".to_owned());
        };
        let of = |pruned: &PrunedOutputs| pruned.clone().retain_messages(std::iter::once(old));
        let change = if of(self.pruned) == of(&rebuilt.pruned) { "changed" } else { "pruned" };
        Ok(format!("message {} {change}", old.id().unwrap_or("without an id")))
    }
}

/// Names what two recipes for one model make different in the messages; `None` if that is nothing.
pub(crate) fn recipe_difference(old: &Recipe, new: &Recipe) -> Option<String> {
    if old.files != new.files {
        return Some("files".to_owned());
    }
    let is_changed = |form: &HostForm| {
        *form != HostForm::NoStreamOptions && old.forms.has(*form) != new.forms.has(*form)
    };
    let changed: Vec<&str> =
        HostForm::ALL.into_iter().filter(is_changed).map(HostForm::name).collect();
    (!changed.is_empty()).then(|| format!("form {}", changed.join(", ")))
}

/// A log of more lines was not written by this program, which compacts earlier.
const COMPARED_LINES_MAX: u64 = 20_000;

/// The difference if the request before cannot be rebuilt. `ship inspect` gives the reason for that request.
const UNKNOWN: &str = "unknown";

fn model_name(recipe: &Recipe) -> String {
    format!("{}/{}", recipe.provider, recipe.model)
}

/// Describes how a new log took the place of the old one.
fn replaced_by(view: &View) -> &'static str {
    let is_compaction =
        |body: &ContextBody| matches!(body, ContextBody::Event(event) if event.event == COMPACTED);
    match view.lines.iter().any(|line| is_compaction(&line.body)) {
        true => "compacted",
        false => "another context",
    }
}

/// Whether a message is another one, possibly with more parts.
fn begins_with(message: &UiMessage, other: &UiMessage) -> bool {
    let (parts, others) = (message.parts(), other.parts());
    message.role() == other.role()
        && parts.len() >= others.len()
        && parts[..others.len()] == *others
}

/// Returns the digest of each block's text by its name.
pub(crate) fn block_digests(blocks: &[ship_context::SystemBlock]) -> Vec<(String, String)> {
    let digest =
        |block: &ship_context::SystemBlock| (block.name.clone(), digest(block.text.as_bytes()));
    blocks.iter().map(digest).collect()
}

/// Returns the last call for an answer among these.
pub(crate) fn last_context_request(calls: Vec<RecordedRequest>) -> Option<Arc<RequestRecord>> {
    let last = calls.into_iter().rev().find(|call| call.record.is_of_context())?;
    Some(Arc::new(last.record))
}
