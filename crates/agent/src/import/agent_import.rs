//! Imports the conversations of a file into a chat.

use std::sync::Arc;

use parking_lot::Mutex;
use ship_exchange::ConversationFile;
use ship_store::carry::{Beginning, ImportedFrom};
use ship_store::{
    About, Chat, ChatKey, ContextId, Explain, Explanation, Gen, Head, Import, ImportError,
    Imported, LaneError, LiveAfterImport, ReadError, Rotation, StorageError, Timestamp, View,
};

use super::adapted_message::{IdsOfChat, suffix_of};
use super::decision::{ContextToImport, decide};
use super::known_imports::{KnownImports, is_untouched};
use super::pieces::{PieceMaker, SharedFile};
use super::report::{ContextFate, ImportReport, ImportedContext};
use super::survey::{MessageCounts, for_each_message};
use crate::blocking_work::blocking;
use crate::contexts::refresh_archive;
use crate::engine::{Agent, Engine, LockedChat};
use crate::error::RunError;

/// The wishes for an import.
#[derive(Clone, Debug, Default)]
pub struct ImportWishes {
    /// The title of the file's last conversation.
    pub title: Option<String>,
    /// Whether values that cannot be read are left out.
    pub skips_bad: bool,
    /// Whether nothing is changed, and only told.
    pub is_dry_run: bool,
    /// The channel of the chat, if it is a new one.
    pub channel: Option<String>,
}

/// The reason why nothing was imported.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ImportFailure {
    /// Some values cannot be read.
    BadItems(Box<ImportReport>),
    /// The file has no conversation.
    Empty(Box<ImportReport>),
    /// The file cannot be read.
    Read(std::io::Error),
    /// Another process works in the chat.
    Busy(ChatKey),
    /// The store refuses the import.
    Import(#[from] ImportError),
    /// The chat cannot be read or written.
    Run(#[from] RunError),
}

impl Explain for ImportFailure {
    fn explain(&self) -> Explanation {
        match self {
            Self::BadItems(report) => {
                let (count, first) = (report.bad_items.len(), report.bad_items.first());
                let first = first
                    .map_or(String::new(), |item| format!("; line {}: {}", item.line, item.reason));
                let what = if count == 1 { "1 value" } else { &format!("{count} values") };
                Explanation::new(format!("{what} of the file cannot be read{first}"))
                    .with_remedy("nothing was imported; `--skip-bad` leaves them out")
            }
            Self::Empty(report) => {
                Explanation::new(format!("the file has no message in the format {}", report.format))
                    .with_remedy("check `--format`")
            }
            Self::Read(error) => Explanation::new(format!("the file cannot be read: {error}")),
            Self::Busy(chat) => Explanation::new(format!("another process works in `{chat}`"))
                .with_remedy("nothing was imported; try again when it is done"),
            Self::Import(error) => error.explain(),
            Self::Run(error) => error.explain(),
        }
    }
}

/// Makes an error of the chat a failure of the import.
fn run_failure(error: impl Into<RunError>) -> ImportFailure {
    ImportFailure::Run(error.into())
}

/// An import whose file was looked through.
struct PreparedImport {
    engine: Arc<Engine>,
    file: SharedFile,
    counts: Vec<MessageCounts>,
    wishes: ImportWishes,
    now: Timestamp,
    report: ImportReport,
}

/// What an import does in a chat.
struct ImportInChat {
    contexts: Vec<ContextToImport>,
    /// Whether the last of these contexts becomes the active one.
    is_live: bool,
    ids: IdsOfChat,
}

impl Agent {
    /// Imports the conversations of a file into a chat, all or nothing. The same file again changes nothing.
    ///
    /// # Errors
    /// Fails if the file has values that cannot be read, unless they are to be left out, and if the chat cannot be read
    /// or written. Then nothing is imported.
    pub async fn import(
        &self,
        key: &ChatKey,
        file: ConversationFile,
        wishes: ImportWishes,
    ) -> Result<ImportReport, ImportFailure> {
        let prepared = PreparedImport::new(&self.engine, file, wishes).await?;
        if prepared.wishes.is_dry_run {
            return prepared.preview(key).await;
        }
        let about = About { channel: prepared.wishes.channel.clone(), ..About::default() };
        let chat = self.engine.store.create(key, about).await.map_err(run_failure)?;
        let lane = match chat.lane_now("import").await {
            Ok(lane) => lane,
            Err(LaneError::Storage(StorageError::Busy(_))) => {
                return Err(ImportFailure::Busy(key.clone()));
            }
            Err(error) => return Err(run_failure(error)),
        };
        let locked = LockedChat { engine: Arc::clone(&self.engine), chat, lane };
        let work = async { Ok(prepared.import(&locked).await) };
        let done = locked.with_heartbeat(Box::pin(work)).await;
        locked.lane.release().await;
        done?
    }
}

impl PreparedImport {
    /// Makes all messages of the file once, and counts what they tell.
    async fn new(
        engine: &Arc<Engine>,
        mut file: ConversationFile,
        wishes: ImportWishes,
    ) -> Result<Self, ImportFailure> {
        let report = ImportReport {
            format: file.format().name().to_owned(),
            contexts: Vec::new(),
            bad_items: file.bad_items().to_vec(),
            renames_messages: false,
        };
        if !report.bad_items.is_empty() && !wishes.skips_bad && !wishes.is_dry_run {
            return Err(ImportFailure::BadItems(Box::new(report)));
        }
        if file.contexts().is_empty() {
            return Err(match report.bad_items.is_empty() {
                true => ImportFailure::Empty(Box::new(report)),
                false => ImportFailure::BadItems(Box::new(report)),
            });
        }
        let (file, counts) = blocking(move || {
            let counts = count_messages(&mut file);
            (file, counts)
        })
        .await;
        let counts = counts.map_err(ImportFailure::Read)?;
        let (engine, file) = (Arc::clone(engine), Arc::new(Mutex::new(file)));
        let now = engine.clock.now();
        Ok(Self { engine, file, counts, wishes, now, report })
    }

    /// Tells what an import would do.
    async fn preview(mut self, key: &ChatKey) -> Result<ImportReport, ImportFailure> {
        let chat = self.engine.store.open(key).await.map_err(run_failure)?;
        let view = match &chat {
            Some(chat) => chat.log().view().await.map_err(run_failure)?,
            None => None,
        };
        let planned = match (&chat, &view) {
            (Some(chat), Some(view)) => self.compare(&**chat, view).await.map_err(run_failure)?,
            (chat, _) => {
                let is_said = match chat {
                    Some(chat) => has_ledger(&**chat).await.map_err(run_failure)?,
                    None => false,
                };
                self.decide_all(&KnownImports::default(), !is_said, IdsOfChat::default())
            }
        };
        Ok(self.finish(&planned))
    }

    async fn import(mut self, locked: &LockedChat) -> Result<ImportReport, ImportFailure> {
        let repaired = locked.engine.repair_once(&*locked.chat, &*locked.lane).await;
        let view = match repaired? {
            Some(view) => view,
            None => self.first_view(locked).await?,
        };
        let mut planned = self.compare(&*locked.chat, &view).await.map_err(run_failure)?;
        let is_new = |context: &ContextToImport| context.fate != ContextFate::Unchanged;
        if !planned.contexts.iter().any(is_new) {
            return Ok(self.finish(&planned));
        }
        match self.write(locked, &view, &planned).await {
            Err(ImportError::Conflict { .. }) => {
                // The chat has other messages with these ids. All get a suffix, so that an id tells where it is from.
                for context in planned.contexts.iter_mut().filter(|it| it.from.suffix.is_none()) {
                    context.from.suffix = Some(suffix_of(&context.from));
                }
                self.report.renames_messages = true;
                self.write(locked, &view, &planned).await?;
            }
            written => {
                written?;
            }
        }
        let view = locked.read_view().await?;
        refresh_archive(&locked.engine, &*locked.chat, &view).await?;
        Ok(self.finish(&planned))
    }

    /// Returns the view of the chat. A chat without a context begins an empty one, because an import goes behind a log.
    async fn first_view(&self, locked: &LockedChat) -> Result<View, ImportFailure> {
        if let Some(view) = locked.chat.log().view().await.map_err(run_failure)? {
            return Ok(view);
        }
        let context = ContextId::new(self.now, self.engine.ids.next());
        let mut head = Head::new(context);
        head.carry.set_beginning(&Beginning { by: Some("import".to_owned()), at: Some(self.now) });
        let rotation = Rotation { expected: None, head, pieces: Vec::new() };
        locked.lane.rotate(rotation).await.map_err(run_failure)?;
        Ok(locked.read_view().await?)
    }

    /// Compares the file with what a chat has.
    async fn compare(&self, chat: &dyn Chat, view: &View) -> Result<ImportInChat, ReadError> {
        let known = KnownImports::find(chat, view).await?;
        let is_empty = view.messages().next().is_none()
            && view.head.sealed.is_none()
            && view.inbox.is_none()
            && !has_ledger(chat).await?;
        let ids = IdsOfChat { salt: view.head.carry.salt().map(str::to_owned), inbox: view.inbox };
        let mut planned = self.decide_all(&known, is_empty, ids);
        // A context that is active, and in which nothing was said, is replaced by its newer form.
        let grows = |context: &ContextToImport| {
            context.fate == ContextFate::Grown && context.context == view.head.context
        };
        if is_untouched(view)
            && let Some(at) = planned.contexts.iter().position(grows)
        {
            let context = planned.contexts.remove(at);
            planned.contexts.push(context);
            planned.is_live = true;
        }
        Ok(planned)
    }

    fn decide_all(&self, known: &KnownImports, is_empty: bool, mut ids: IdsOfChat) -> ImportInChat {
        let file = self.file.lock();
        let all = file.contexts();
        let decided = all.iter().zip(&self.counts).enumerate().map(|(nth, (context, counts))| {
            decide(&file, nth, context, counts.clone(), known, self.now)
        });
        let mut contexts: Vec<ContextToImport> = decided.collect();
        if let (Some(title), Some(last)) = (&self.wishes.title, contexts.last_mut()) {
            last.title = Some(title.clone());
        }
        if is_empty {
            // Its own messages get ids with a suffix, so that the imported ones can keep theirs.
            ids.salt = contexts.last().map(|context| context.context.to_string());
        }
        ImportInChat { contexts, is_live: is_empty, ids }
    }

    async fn write(
        &self,
        locked: &LockedChat,
        view: &View,
        planned: &ImportInChat,
    ) -> Result<Imported, ImportError> {
        let maker = PieceMaker {
            engine: Arc::clone(&locked.engine),
            file: Arc::clone(&self.file),
            ids: planned.ids.clone(),
            first: Gen::new(view.position.generation.get() + 1),
            now: self.now,
        };
        let mut contexts = planned.contexts.clone();
        contexts.retain(|context| context.fate != ContextFate::Unchanged);
        let live = match contexts.last().filter(|_| planned.is_live) {
            Some(last) => self.live(&maker, last, view, planned).await?,
            None => LiveAfterImport::Kept,
        };
        let source = Box::new(maker.pieces(&contexts));
        locked.lane.import(Import { expected: view.position, live, source }).await
    }

    /// Makes the live log of the context that becomes the active one.
    async fn live(
        &self,
        maker: &PieceMaker,
        context: &ContextToImport,
        view: &View,
        planned: &ImportInChat,
    ) -> Result<LiveAfterImport, ImportError> {
        let (lines, context) = {
            let (maker, context) = (maker.clone(), context.clone());
            blocking(move || (maker.live_lines(&context), context)).await
        };
        let lines = lines.map_err(ImportError::Source)?;
        let mut base = Head::new(context.context.clone());
        base.carry = view.head.carry.of_chat();
        if base.carry.salt().is_none() {
            base.carry.set_salt(planned.ids.salt.as_deref());
        }
        let mut head = maker.head(&context, 0, base);
        let live_end = lines.last().and_then(|line| match line {
            ship_store::NewLine::Message(message) => message.message.str("id").map(str::to_owned),
            ship_store::NewLine::Event(_) => None,
        });
        let from = ImportedFrom { generation: view.position.generation, live_end, ..context.from };
        head.carry.set_imported_from(&from);
        Ok(LiveAfterImport::New { head, lines })
    }

    fn finish(&mut self, planned: &ImportInChat) -> ImportReport {
        let last = planned.contexts.len().saturating_sub(1);
        let contexts = planned.contexts.iter().enumerate();
        let told = contexts
            .map(|(at, context)| ImportedContext::of(context, planned.is_live && at == last));
        let mut report = self.report.clone();
        report.contexts = told.collect();
        report
    }
}

/// Counts the messages of each context.
fn count_messages(file: &mut ConversationFile) -> std::io::Result<Vec<MessageCounts>> {
    (0..file.contexts().len())
        .map(|nth| {
            let mut counts = MessageCounts::default();
            for_each_message(file, nth, |_, message| counts.add(&message))?;
            Ok(counts)
        })
        .collect()
}

/// Whether something was said in a chat, even if no context has it yet.
async fn has_ledger(chat: &dyn Chat) -> Result<bool, ReadError> {
    Ok(!chat.ledger().after(None, 1).await?.is_empty())
}
