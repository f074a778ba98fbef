//! Reads the sources of a run's system blocks, once when the run begins or continues.
//!
//! Within a run the blocks stay the same, even if the files change: each change would cost the whole cached prefix.
//! Only loading and unloading a skill changes them, because the model asked for it. If the blocks differ from those
//! of the run before, the log names the first that does.

use std::sync::Arc;

use ship_context::{BlockSources, OutputRules, SystemBlock, system_blocks};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_project::{RequestFacts, Skill, SystemTexts, TextsAndSkills};
use ship_store::{About, ChatKey, Explain as _, FileError, Metadata, NewMetadata, Timestamp};

use super::Engine;
use crate::blocking_work::blocking;
use crate::chat::loaded_skills;

/// The sources of the system blocks.
pub(crate) struct SystemSources {
    place: ChatLocation,
    question: QuestionFacts,
    texts: SystemTexts,
    memory: ChatMemory,
    pub(crate) skills: Arc<[Skill]>,
}

impl Engine {
    /// Returns the texts and skills of the project, read if they have changed.
    pub(crate) async fn project_texts(&self, chat: &ChatKey) -> TextsAndSkills {
        if let Some(unchanged) = self.project.unchanged(chat) {
            return unchanged;
        }
        let (project, chat) = (Arc::clone(&self.project), chat.clone());
        blocking(move || project.read(&chat)).await
    }
}

/// The memory of a chat, as far as it can be read.
#[derive(Default)]
pub(crate) struct ChatMemory {
    text: Option<String>,
    /// The reason why an existing memory is missing here.
    pub(super) problem: Option<String>,
}

impl ChatMemory {
    /// Reads the memory of a chat. One that cannot be read stops no conversation.
    pub(crate) async fn read(engine: &Engine, chat: &ChatKey) -> Self {
        match engine.store.memory(chat).await {
            Ok(text) => Self { text, problem: None },
            Err(error) => Self { text: None, problem: Some(error.explain().to_string()) },
        }
    }
}

/// The request id and the time of the message that a request answers.
struct QuestionFacts {
    request_id: Option<String>,
    ts: Option<Timestamp>,
}

/// The location of a chat, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatLocation {
    pub(crate) channel: Option<String>,
    pub(crate) chat_id: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) chat_type: Option<String>,
}

impl ChatLocation {
    /// Writes the location into a ledger entry.
    pub(crate) fn write_to(&self, object: &mut Object) {
        for (name, value) in [
            ("channel", &self.channel),
            ("chatId", &self.chat_id),
            ("messageThreadId", &self.thread_id),
            ("chatType", &self.chat_type),
        ] {
            object.set_or_remove(name, value.as_deref().map(Json::from));
        }
    }

    /// Writes the location into the metadata of a message that this chat makes.
    pub(crate) fn write_to_metadata(&self, chat: &ChatKey, metadata: &mut NewMetadata) {
        metadata.set_chat_key(Some(chat.as_str()));
        metadata.set_channel(self.channel.as_deref());
        metadata.set_chat_id(self.chat_id.as_deref());
        metadata.set_thread_id(self.thread_id.as_deref());
        metadata.set_chat_type(self.chat_type.as_deref());
    }
}

impl SystemSources {
    /// Brings the sources together. The messages give the platform's id of the chat.
    pub(crate) fn new(
        engine: &Engine,
        about: About,
        messages: &[UiMessage],
        project: TextsAndSkills,
        memory: ChatMemory,
    ) -> Self {
        let question = last_question_metadata(messages);
        Self::for_question(engine, about.channel, question, project, memory)
    }

    /// Brings together the sources of a request that answers this question.
    pub(crate) fn for_question(
        engine: &Engine,
        channel: Option<String>,
        question: Option<Metadata<'_>>,
        (mut texts, skills): TextsAndSkills,
        memory: ChatMemory,
    ) -> Self {
        let place = ChatLocation {
            channel,
            chat_id: question.and_then(Metadata::chat_id).map(str::to_owned),
            thread_id: question.and_then(Metadata::thread_id).map(str::to_owned),
            chat_type: question.and_then(Metadata::chat_type).map(str::to_owned),
        };
        let question = QuestionFacts {
            request_id: question.and_then(Metadata::request_id).map(str::to_owned),
            ts: question.and_then(Metadata::ts),
        };
        texts.role = engine.role.clone().or(texts.role);
        Self { place, question, texts, memory, skills }
    }

    pub(crate) fn place(&self) -> &ChatLocation {
        &self.place
    }

    /// Returns the problems with the texts.
    pub(crate) fn problems(&self) -> Vec<String> {
        let of_texts = self.texts.problems.iter().map(FileError::text_for_user);
        of_texts.chain(self.memory.problem.clone()).collect()
    }

    /// Returns the blocks, with these skills loaded.
    pub(crate) fn blocks(
        &self,
        engine: &Engine,
        chat: &ChatKey,
        loaded: &[String],
    ) -> Vec<SystemBlock> {
        let ChatLocation { channel, chat_id, .. } = self.place.clone();
        let is_told = engine.rules.request_facts == RequestFacts::System;
        let question = Some(&self.question).filter(|_| is_told);
        let has_tool = |name: &str| engine.tools.contains_key(name);
        system_blocks(&BlockSources {
            project_root: engine.project.project_root(),
            chat_key: chat.as_str().to_owned(),
            output_rules: OutputRules::of_channel(channel.as_deref()),
            has_chat_send: has_tool("chat_send"),
            has_skills: has_tool("skills_load"),
            has_contexts: has_tool("chat_context_new"),
            channel,
            chat_id,
            request_id: question.and_then(|question| question.request_id.clone()),
            time: question.and_then(|question| question.ts),
            profile_primary: self.texts.profile_primary.clone(),
            profile_other: self.texts.profile_other.clone(),
            memory: self.memory.text.clone(),
            agent: self.texts.role.clone(),
            skills: self.skills.iter().map(loaded_skills::overview_line).collect(),
            loaded_skills: loaded_skills::loaded_skills(loaded, &self.skills),
        })
    }
}

/// Returns the metadata of the person's last message.
pub(crate) fn last_question_metadata(messages: &[UiMessage]) -> Option<Metadata<'_>> {
    let last = messages.iter().rev().find(|message| message.role() == Role::User)?;
    Some(Metadata::of(last))
}
