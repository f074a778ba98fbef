//! A chat that files are imported into.

use std::io::Cursor;
use std::ops::Deref;

use ship_agent::{
    ContextFate, FileFormat, ImportFailure, ImportReport, ImportWishes, Inbound, Outcome, Rules,
    read_conversations,
};
use ship_message::UiMessage;
use ship_testkit::scripted_model::{ScriptedModel, text};
use ship_testkit::sim::SimDisk;

use crate::harness::{Setup, TestAgent, chat, line};

pub(crate) struct Place(pub(crate) TestAgent);

impl Deref for Place {
    type Target = TestAgent;

    fn deref(&self) -> &TestAgent {
        &self.0
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::keeping(3)
    }

    /// A chat whose compactions keep so many messages.
    pub(crate) fn keeping(keep_last_messages: usize) -> Self {
        Self::on(SimDisk::default(), keep_last_messages)
    }

    pub(crate) fn on(disk: SimDisk, keep_last_messages: usize) -> Self {
        let rules = Rules { keep_last_messages, ..Rules::default() };
        let model = ScriptedModel::new(|_| text("Aye."));
        let setup = Setup { disk, model: Some(model), many_runs: true, ..Setup::ruled(rules) };
        Self(setup.agent())
    }

    /// The same chat, in another process.
    pub(crate) fn again(&self) -> Self {
        Self(self.setup.agent())
    }

    pub(crate) async fn say(&self, text: &str) {
        let answer = self.agent.send(&chat(), Inbound::from(text)).await.unwrap();
        assert_eq!(answer.outcome, Outcome::Done);
    }

    pub(crate) async fn try_import(
        &self,
        format: FileFormat,
        file: &str,
        wishes: ImportWishes,
    ) -> Result<ImportReport, ImportFailure> {
        let source = Box::new(Cursor::new(file.as_bytes().to_vec()));
        let file = read_conversations(source, format, &mut |_| {}).unwrap();
        self.agent.import(&chat(), file, wishes).await
    }

    pub(crate) async fn import(&self, format: FileFormat, file: &str) -> ImportReport {
        let report = self.try_import(format, file, ImportWishes::default()).await.unwrap();
        assert_eq!(self.stored().await.verify().await.unwrap(), []);
        report
    }

    /// The fates of a file's conversations.
    pub(crate) async fn fates(&self, format: FileFormat, file: &str) -> Vec<ContextFate> {
        let report = self.import(format, file).await;
        report.contexts.iter().map(|context| context.fate).collect()
    }

    /// The titles and message counts of the archived contexts, the one left last first.
    pub(crate) async fn archived(&self) -> Vec<(String, u64)> {
        let Some(contexts) = self.agent.contexts(&chat()).await.unwrap() else { return Vec::new() };
        let items = contexts.index.items().iter();
        items.map(|item| (item.title.clone(), item.message_count)).collect()
    }

    /// The active context, a line a message.
    pub(crate) async fn context(&self) -> Vec<String> {
        let view = self.stored().await.log().view().await.unwrap();
        view.map_or_else(Vec::new, |view| view.messages().map(line).collect())
    }

    /// The history, oldest first.
    pub(crate) async fn history(&self) -> Vec<UiMessage> {
        let mut reader = ship_agent::HistoryReader::open(self.stored().await, 1_000).await.unwrap();
        let mut messages = Vec::new();
        for nth in 0..reader.len() {
            messages.extend(reader.message(nth).await.unwrap().map(|read| read.message));
        }
        messages
    }

    /// All files with their content.
    pub(crate) fn files(&self) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
        let mut files: Vec<_> = self.setup.disk.memory().contents().into_iter().collect();
        files.sort();
        files
    }
}

/// JSON lines of UIMessages: a person and the assistant in turn.
pub(crate) fn talk(texts: &[&str]) -> String {
    let line = |(nth, text): (usize, &&str)| {
        let role = if nth % 2 == 0 { "user" } else { "assistant" };
        format!(
            r#"{{"id":"m{nth}","role":"{role}","metadata":{{"ts":{}}},"parts":[{{"type":"text","text":"{text}"}}]}}"#,
            1_770_000_000_000u64 + nth as u64 * 1_000
        )
    };
    texts.iter().enumerate().map(line).map(|line| line + "\n").collect()
}
