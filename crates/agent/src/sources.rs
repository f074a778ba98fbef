//! What the system blocks of a run are made of, read once when the run begins or goes on.
//!
//! Within a run the blocks stay as they are, whatever happens to the files: each change would cost the whole
//! cached prefix. Only loading and unloading a skill changes them, because the model asked for it. A change
//! from one run to the next is told to the log by the first block that differs.

use std::sync::Arc;

use ship_context::{BlockSources, OutputRules, SystemBlock, system_blocks};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_store::{About, ChatKey};

use crate::chat::loaded_skills;
use crate::digest::digest;
use crate::project_source::{SkillText, Texts};
use crate::run::Engine;
use crate::run_log::RunLogEntry;

/// What the blocks are made of.
pub(crate) struct SystemSources {
    place: ChatLocation,
    texts: Texts,
    pub(crate) skills: Vec<SkillText>,
}

/// Where a chat is, as far as that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatLocation {
    pub(crate) channel: Option<String>,
    pub(crate) chat_id: Option<String>,
}

impl ChatLocation {
    /// Writes it into a ledger entry or into metadata.
    pub(crate) fn write_to(&self, object: &mut Object) {
        for (name, value) in [("channel", &self.channel), ("chatId", &self.chat_id)] {
            object.set_or_remove(name, value.as_deref().map(Json::from));
        }
    }
}

impl SystemSources {
    /// Reads them. What was said tells what the platform calls the chat.
    pub(crate) fn read(
        agent: &Engine,
        chat: &ChatKey,
        about: About,
        said: &[Arc<UiMessage>],
    ) -> Self {
        let chat_id = last_of(said, "chatId").map(str::to_owned);
        Self::at(agent, chat, ChatLocation { channel: about.channel, chat_id })
    }

    /// Reads them for a place.
    pub(crate) fn at(agent: &Engine, chat: &ChatKey, place: ChatLocation) -> Self {
        let (texts, skills) = (agent.surroundings.texts(chat), agent.surroundings.skills());
        Self { place, texts, skills }
    }

    pub(crate) fn place(&self) -> &ChatLocation {
        &self.place
    }

    /// What is wrong with the texts.
    pub(crate) fn problems(&self) -> &[String] {
        &self.texts.problems
    }

    /// The blocks, with these skills loaded.
    pub(crate) fn blocks(
        &self,
        agent: &Engine,
        chat: &ChatKey,
        request_id: Option<&str>,
        loaded: &[String],
    ) -> Vec<SystemBlock> {
        let ChatLocation { channel, chat_id } = self.place.clone();
        let request_id = request_id.filter(|_| agent.rules.request_id_in_system);
        system_blocks(&BlockSources {
            project_root: agent.surroundings.project_root(),
            chat_key: chat.as_str().to_owned(),
            output_rules: OutputRules::of_channel(channel.as_deref()),
            has_contexts: agent.tools.contains_key("chat_context_new"),
            channel,
            chat_id,
            request_id: request_id.map(str::to_owned),
            profile_primary: self.texts.profile_primary.clone(),
            profile_other: self.texts.profile_other.clone(),
            memory: self.texts.memory.clone(),
            agent: self.texts.agent.clone(),
            skills: self.skills.iter().map(loaded_skills::line).collect(),
            loaded: loaded_skills::loaded(loaded, &self.skills),
        })
    }
}

/// A field of the metadata of the person's last message.
pub(crate) fn last_of<'a>(said: &'a [Arc<UiMessage>], key: &str) -> Option<&'a str> {
    let last = said.iter().rev().find(|message| message.role() == Role::User)?;
    last.metadata()?.get(key)?.as_str()
}

/// What tells blocks apart, in a journal: the name of each, and some of its digest.
pub(crate) fn digests(blocks: &[SystemBlock]) -> Object {
    let digest = |text: &str| digest(text.as_bytes())[..8].to_owned();
    blocks.iter().map(|block| (block.name.clone(), Json::from(digest(&block.text)))).collect()
}

/// What the log is told when the blocks are not those of the run before: the first that differs.
pub(crate) fn first_difference(before: &Object, now: &Object) -> Option<RunLogEntry> {
    let (block, change) = first_block(before, now)?;
    let fields = vec![("block", Json::from(block)), ("change", change.into())];
    Some(RunLogEntry { kind: "system_changed", fields, ..RunLogEntry::default() })
}

/// The first block that differs, and how.
pub(crate) fn first_block<'a>(
    before: &'a Object,
    now: &'a Object,
) -> Option<(&'a str, &'static str)> {
    let mut old = before.iter();
    let mut new = now.iter();
    loop {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a == b => {}
            (Some((name, _)), Some((other, _))) if name == other => return Some((name, "changed")),
            (Some((name, _)), _) if !now.has(name) => return Some((name, "gone")),
            (_, Some((name, _))) | (Some((name, _)), None) => return Some((name, "new")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_that_differs_is_told_and_how() {
        let of = |names: &[(&str, &str)]| {
            names.iter().map(|(name, text)| ((*name).to_owned(), Json::from(*text))).collect()
        };
        let before: Object = of(&[("a", "1"), ("b", "1"), ("c", "1")]);
        for (now, told) in [
            (of(&[("a", "1"), ("b", "1"), ("c", "1")]), None),
            (of(&[("a", "1"), ("b", "2"), ("c", "2")]), Some(("b", "changed"))),
            (of(&[("a", "1"), ("c", "1")]), Some(("b", "gone"))),
            (of(&[("a", "1"), ("x", "1"), ("b", "1"), ("c", "1")]), Some(("x", "new"))),
            (of(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]), Some(("d", "new"))),
            (of(&[]), Some(("a", "gone"))),
        ] {
            let note = first_difference(&before, &now);
            let told = told.map(|(block, change)| {
                vec![("block", Json::from(block)), ("change", Json::from(change))]
            });
            assert_eq!(note.map(|note| note.fields), told, "{now:?}");
        }
    }
}
