//! An agent for conversations in files of their own.
//!
//! It is a layer over the agent of the other tests: it has a folder for the files, and a model that tells what it was
//! asked.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ship_agent::{Reply, Rules, Skill, SkillSource, SkillState};
use ship_message::UiMessage;
use ship_provider::{AnswerFuture, ChunkSink, Offline, Provider, Request};
use ship_store::FileStore;
use ship_testkit::chat::options;
use tempfile::TempDir;
use tokio::sync::Notify;

use super::{FixedProject, Setup, TestAgent, counting};

pub(crate) struct ConversationAgent {
    test: TestAgent,
    pub(crate) model: RecordingModel,
    folder: Arc<TempDir>,
}

impl Deref for ConversationAgent {
    type Target = TestAgent;

    fn deref(&self) -> &TestAgent {
        &self.test
    }
}

impl ConversationAgent {
    pub(crate) fn new() -> Self {
        Self::ruled(Rules::default())
    }

    pub(crate) fn ruled(rules: Rules) -> Self {
        Self::in_folder(Arc::new(TempDir::new().unwrap()), rules)
    }

    /// Another agent with the same folder.
    pub(crate) fn other(&self) -> Self {
        Self::in_folder(Arc::clone(&self.folder), Rules::default())
    }

    /// The agent after a restart, with the conversation that was in a file.
    pub(crate) async fn loaded(self, path: &Path) -> Self {
        let folder = Arc::clone(&self.folder);
        drop(self);
        let again = Self::in_folder(folder, Rules::default());
        assert_eq!(again.agent.load_conversation(path).await.unwrap(), None);
        again
    }

    /// The agent after a restart with another role.
    pub(crate) async fn loaded_with_role(self, path: &Path, role: &str) -> Self {
        let folder = Arc::clone(&self.folder);
        drop(self);
        let project = FixedProject { role: Some(role.to_owned()), skills: vec![slides()] };
        let again = Self::in_project(folder, Rules::default(), project);
        assert_eq!(again.agent.load_conversation(path).await.unwrap(), None);
        again
    }

    fn in_folder(folder: Arc<TempDir>, rules: Rules) -> Self {
        let project = FixedProject { skills: vec![slides()], ..FixedProject::default() };
        Self::in_project(folder, rules, project)
    }

    fn in_project(folder: Arc<TempDir>, rules: Rules, project: FixedProject) -> Self {
        let (model, store) = (RecordingModel::default(), FileStore::in_memory(options()));
        let test = TestAgent::with_tools(store, &Setup::ruled(rules), |agent| {
            let look = counting("look", Arc::default(), None);
            agent.provider(model.clone()).tool(look).project_source(Arc::new(project))
        });
        Self { test, model, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Begins a conversation in a file, and gives its path.
    pub(crate) async fn begin(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        self.agent.new_conversation(&path).await.unwrap();
        path
    }

    pub(crate) async fn say(&self, text: &str) -> Reply {
        self.agent.conversation().send(text).await.unwrap()
    }

    pub(crate) async fn messages(&self) -> Vec<UiMessage> {
        self.agent.conversation().messages().await.unwrap()
    }

    pub(crate) async fn ids(&self) -> Vec<String> {
        self.messages().await.iter().filter_map(UiMessage::id).map(str::to_owned).collect()
    }

    pub(crate) async fn texts(&self) -> Vec<String> {
        self.messages().await.iter().map(UiMessage::text).collect()
    }

    pub(crate) async fn active_skills(&self) -> Vec<String> {
        self.agent.conversation().active_skills().await.unwrap()
    }

    /// What the model was sent last.
    pub(crate) fn last_request(&self) -> String {
        self.model.requests().pop().unwrap()
    }
}

/// A skill with the name `pptx`.
fn slides() -> Skill {
    Skill {
        name: "pptx".to_owned(),
        description: "Slides.".to_owned(),
        allowed_tools: None,
        folder: "/project/.ship/skills/pptx".into(),
        source: SkillSource::Ship,
        state: SkillState::Usable { body: "Make slides with care.".to_owned() },
    }
}

/// The offline model, which records what it is sent. It is not the scripted one, because these tests show agents on
/// conversations as an embedder first meets them: with the model that needs no settings, its ids and its words.
#[derive(Clone, Default)]
pub(crate) struct RecordingModel(Arc<Mutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    requests: Vec<String>,
    wait: Option<Wait>,
}

/// Tells that the model was asked, and has it wait before it answers.
#[derive(Clone, Default)]
pub(crate) struct Wait {
    pub(crate) asked: Arc<Notify>,
    pub(crate) go: Arc<Notify>,
}

impl RecordingModel {
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }

    /// Has the next request wait.
    pub(crate) fn wait(&self) -> Wait {
        self.0.lock().unwrap().wait.insert(Wait::default()).clone()
    }
}

impl Provider for RecordingModel {
    fn name(&self) -> &str {
        Offline.name()
    }

    fn model(&self) -> &str {
        Offline.model()
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        let mut recorded = self.0.lock().unwrap();
        recorded.requests.push(body.to_owned());
        let wait = recorded.wait.take();
        Box::pin(async move {
            if let Some(wait) = wait {
                wait.asked.notify_one();
                wait.go.notified().await;
            }
            Offline.answer(request, body, sink).await
        })
    }
}
