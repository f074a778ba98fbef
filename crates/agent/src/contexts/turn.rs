//! Turning from one context to another: what the next log holds, and publishing it.

use std::sync::Arc;

use ship_context::contexts::{anything_said, clean_title, current_messages, switch_line};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    Body, ChatKey, ContextId, Head, Line, MessageId, NewEvent, OnDamage, Piece, ReadError,
    Rotation, SealedName, Seq, View,
};

use super::named::Named;
use super::operation::{Changed, Ground, Moving, NotDone, Operated, Operation};
use super::place::Spot;
use super::shelf::{Shelf, left_messages, operation};
use super::title::{CHECKPOINT, RENAMED, folded};
use super::{ANSWERED, CONTINUES, OPERATION};
use crate::began::Began;
use crate::names::{keep_mark, mark_copy};
use crate::run::RunError;
use crate::skills;

/// The event that tells of an operation that has changed nothing here.
const OPERATED: &str = "operated";
/// The event that tells of a switch.
const SWITCHED: &str = "switched";
/// A head remembers what a run has left behind, until its next journal is begun.
pub(crate) const SETTLED: &str = "settled";

/// The log that an operation publishes.
struct Target {
    head: Head,
    pieces: Vec<Piece>,
    /// How many messages they hold.
    messages: u64,
    /// Whether what is left is nothing that anybody would look for.
    drops_left: bool,
}

impl Target {
    /// Lines of a log, those that stay.
    fn of(
        head: Head,
        lines: &[Arc<Line>],
        stays: impl Fn(&Line) -> bool,
        log: Option<&SealedName>,
    ) -> Self {
        let is_message = |line: &&Arc<Line>| matches!(line.body, Body::Message(_)) && stays(line);
        let messages = lines.iter().filter(is_message).count() as u64;
        let piece = |(first, last)| match log {
            Some(log) => Piece::Sealed { log: log.clone(), first, last },
            None => Piece::Keep(first, last),
        };
        let pieces = spans(lines, &stays).into_iter().map(piece).collect();
        Self { head, pieces, messages, drops_left: false }
    }
}

/// Does an operation, with the lane held and no run at work on the log.
pub(crate) async fn operate(
    ground: Ground<'_>,
    wanted: &Operation,
    moving: &Moving,
) -> Result<Operated, RunError> {
    let Some(view) = ground.chat.view().await? else {
        let line = "Nothing was said in this chat yet.";
        return Ok(Operated::NotDone(NotDone::because(line)));
    };
    let turning = Turning { ground, view: &view, moving };
    let target = match wanted {
        Operation::Rename { title } => return turning.rename(title).await,
        Operation::Checkpoint { name } => return turning.checkpoint(name).await,
        Operation::Recall { which, mode } => {
            return super::look::recall(ground, &view, which, *mode, moving).await;
        }
        Operation::Fork { at, to: Some(to) } if to != ground.chat.key() => {
            // What is wrong with the other chat holds up nothing here.
            return Ok(turning.fork_to(at.as_deref(), to).await.unwrap_or_else(|error| {
                let line = format!("No copy went to `{to}`: {error}");
                Operated::NotDone(NotDone::because(line))
            }));
        }
        Operation::New { title, .. } => turning.clean("new", title.as_deref()),
        Operation::Clear => turning.clean("clear", None),
        Operation::Load { which } => turning.load(which).await?,
        Operation::Fork { at, .. } => turning.fork(at.as_deref()).await?,
        Operation::Rewind { to } => turning.branch("rewind", to).await?,
        Operation::Undo => turning.undo().await?,
    };
    match target {
        Ok(target) => turning.publish(wanted, target).await,
        Err(not_done) => Ok(Operated::NotDone(not_done)),
    }
}

/// The same for one that the ledger asks for: whatever comes of it, the ledger is read past it. What cannot be
/// brought back because it was purged is no failure of the chat.
pub(crate) async fn operate_asked(
    ground: Ground<'_>,
    wanted: &Operation,
    moving: &Moving,
) -> Result<Operated, RunError> {
    let operated = match operate(ground, wanted, moving).await {
        Err(RunError::Read(error @ ReadError::Purged { .. })) => {
            Operated::NotDone(NotDone::because(error.to_string()))
        }
        operated => operated?,
    };
    let view = ground.chat.view().await?;
    if let Some(view) = view.filter(|view| view.inbox < moving.inbox) {
        let mut data = wanted.to_object();
        data.set("line", operated.line());
        let turning = Turning { ground, view: &view, moving };
        let event = turning.event(OPERATED, data, None);
        ground.lane.append(vec![event.into()], view.position).await?;
    }
    Ok(operated)
}

/// Whether anything was said in a context beside what is being answered.
pub(crate) fn has_anything(view: &View, current: &[String]) -> bool {
    let current: Vec<&str> = current.iter().map(String::as_str).collect();
    anything_said(&left_messages(view, &[]), &current)
}

/// The ids of the messages that a run answers.
pub(crate) fn current_ids(messages: &[Arc<UiMessage>], run_id: &str) -> Vec<String> {
    let messages: Vec<&UiMessage> = messages.iter().map(Arc::as_ref).collect();
    let current = current_messages(&messages, run_id);
    current.into_iter().filter_map(|message| message.id().map(str::to_owned)).collect()
}

struct Turning<'a> {
    ground: Ground<'a>,
    view: &'a View,
    moving: &'a Moving,
}

impl Turning<'_> {
    fn new_id(&self) -> ContextId {
        let agent = self.ground.agent;
        let made = || ContextId::new(agent.clock.now(), agent.ids.next());
        self.moving.promised.clone().unwrap_or_else(made)
    }

    /// A context with nothing in it. What the system says stays: the skills that are loaded.
    fn clean(&self, by: &str, title: Option<&str>) -> Result<Target, NotDone> {
        let is_called = title.is_some();
        if !has_anything(self.view, &self.moving.current) {
            let line = match is_called {
                true => "This context is clean already; `/context rename` gives it a title.",
                false => "This context is clean already: nothing was said in it yet.",
            };
            return Err(NotDone::because(line));
        }
        let mut head = Head::new(self.new_id());
        head.title = title.and_then(clean_title);
        let loaded = skills::loaded_names(self.view);
        head.carry = skills::carried(loaded.iter().map(String::as_str));
        self.carry_tokens(&mut head);
        keep_mark(&self.view.head, &mut head);
        Began::carry(&mut head, by, self.ground.agent.clock.now());
        Ok(Target { head, pieces: Vec::new(), messages: 0, drops_left: false })
    }

    /// What was learnt of the provider's counting is true in every context.
    fn carry_tokens(&self, head: &mut Head) {
        head.carry.set("tokens", self.ground.agent.scales.to_object());
    }

    /// An archived context as it was left.
    async fn load(&self, which: &str) -> Result<Result<Target, NotDone>, RunError> {
        let Ground { agent, chat, .. } = self.ground;
        let shelf = Shelf::open(agent, chat, self.view).await?;
        let snapshot = match shelf.find(which).await? {
            Ok(snapshot) => snapshot,
            Err(offered) => return Ok(Err(no_context(which, offered))),
        };
        let Some(log) = snapshot.sealed() else { return Ok(Err(no_context(which, Vec::new()))) };
        let view = chat.sealed_view(&log).await?;
        let own = left_messages(&view, &self.moving.current);
        let stays = |line: &Line| match &line.body {
            Body::Event(_) => true,
            Body::Message(message) => own.iter().any(|own| own.id() == message.str("id")),
        };
        let mut head = folded(&view);
        head.carry.set(CONTINUES, log.as_str());
        self.carry_tokens(&mut head);
        Ok(Ok(Target::of(head, &view.lines, stays, Some(&log))))
    }

    /// This context, or an earlier place of it, under an id of its own.
    async fn fork(&self, at: Option<&str>) -> Result<Result<Target, NotDone>, RunError> {
        match at {
            Some(at) => self.branch("fork", at).await,
            None => {
                let spot = Spot { log: None, last: self.view.position.seq };
                Ok(Ok(self.from_spot("fork", &spot).await?))
            }
        }
    }

    async fn branch(&self, by: &str, at: &str) -> Result<Result<Target, NotDone>, RunError> {
        match Spot::find(self.ground, self.view, at).await? {
            Ok(spot) => Ok(Ok(self.from_spot(by, &spot).await?)),
            Err(not_done) => Ok(Err(not_done)),
        }
    }

    async fn from_spot(&self, by: &str, spot: &Spot) -> Result<Target, RunError> {
        let view = spot.view(self.ground, self.view).await?;
        let mut head = self.branched(&view, spot, by);
        // A copy of the live log goes on with the one that is sealed now.
        let log = spot.log.as_ref().map(|log| Json::from(log.as_str()));
        head.carry.set_or_remove(CONTINUES, log);
        let moves = |line: &Line| match &line.body {
            Body::Event(_) => true,
            Body::Message(message) => {
                !message.str("id").is_some_and(|id| self.moving.current.iter().any(|it| it == id))
            }
        };
        Ok(Target::of(head, &view.lines, moves, spot.log.as_ref()))
    }

    /// The head of a context that goes on from a place in another one.
    fn branched(&self, view: &View, spot: &Spot, by: &str) -> Head {
        let mut head = folded(view);
        let from = Object::from([
            ("contextId", Json::from(head.context.as_str())),
            ("sealed", spot.log.as_ref().map_or(Json::Null, |log| log.as_str().into())),
            ("seq", spot.last.get().into()),
        ]);
        head.forked_from = Some(from.into());
        head.context = self.new_id();
        let last = view.messages().next_back();
        let asks = last.filter(|message| message.str("role") == Some("user"));
        head.carry.set_or_remove(ANSWERED, asks.and_then(|message| message.get("id").cloned()));
        self.carry_tokens(&mut head);
        Began::carry(&mut head, by, self.ground.agent.clock.now());
        head
    }

    /// What the last operation has left, as it was.
    async fn undo(&self) -> Result<Result<Target, NotDone>, RunError> {
        let nothing = || NotDone::because("There is nothing to undo.");
        let carry = &self.view.head.carry;
        let Some(operation) = carry.get(OPERATION) else { return Ok(Err(nothing())) };
        let known = operation.get("sealed").and_then(Json::as_str).and_then(SealedName::parse);
        let Some(log) = known.or_else(|| self.view.head.sealed.clone()) else {
            return Ok(Err(nothing()));
        };
        let before = self.ground.chat.sealed_view(&log).await?;
        let mut head = folded(&before);
        head.carry.set(CONTINUES, log.as_str());
        self.carry_tokens(&mut head);
        let target = Target::of(head, &before.lines, |_| true, Some(&log));
        Ok(Ok(Target { drops_left: self.is_untouched(operation), ..target }))
    }

    /// Whether nothing was said since an operation made this context.
    fn is_untouched(&self, operation: &Json) -> bool {
        let made = matches!(
            operation.get("op").and_then(Json::as_str),
            Some("new" | "clear" | "fork" | "rewind")
        );
        let published = operation.get("messages").and_then(Json::as_u64);
        made && published == Some(self.view.messages().count() as u64)
    }

    /// Publishes a log, and puts what was left on the shelf.
    async fn publish(&self, wanted: &Operation, target: Target) -> Result<Operated, RunError> {
        let Ground { agent, chat, lane } = self.ground;
        let (view, now) = (self.view, agent.clock.now());
        let mut shelf = Shelf::open(agent, chat, view).await?;
        let reason = match wanted {
            Operation::New { reason, .. } => reason.as_deref().filter(|it| !it.trim().is_empty()),
            _ => None,
        };
        let left_behind = left_messages(view, &self.moving.current);
        let is_kept = !left_behind.is_empty() && !target.drops_left;
        let mut snapshot = shelf.leave(view, &left_behind, now, reason.unwrap_or(wanted.name()));
        let Target { mut head, mut pieces, messages, .. } = target;
        let generation = view.head.generation.next();
        let mut about = operation(wanted.name(), reason, now, generation);
        about.set_or_remove("drops", (!is_kept).then(|| Json::from(true)));
        let taken = lines_of(view, &self.moving.current);
        about.set("messages", messages + taken.len() as u64);
        head.carry.set(OPERATION, about);
        let settled = self.moving.settled.as_ref().map(|(message, call)| {
            let mut object = Object::from([("messageId", message.as_str())]);
            object.set_or_remove("callId", call.as_deref().map(Json::from));
            Json::from(object)
        });
        head.carry.set_or_remove(SETTLED, settled);
        let left = Named { context: view.head.context.clone(), title: snapshot.title().to_owned() };
        pieces.push(Piece::New(self.event(SWITCHED, self.told(wanted, &left), None).into()));
        pieces.extend(taken.into_iter().map(|seq| Piece::Keep(seq, seq)));
        let rotated = lane
            .rotate(Rotation {
                expected: Some(view.head.generation),
                head,
                pieces,
                damage: OnDamage::Refuse,
            })
            .await?;
        let now_active = chat.view().await?;
        let now_active =
            now_active.ok_or_else(|| RunError::Vanished { chat: chat.key().clone() })?;
        if let Some(sealed) = &rotated.sealed {
            snapshot = snapshot.sealed_as(sealed);
        }
        shelf.take(&now_active.head.context).await?;
        if is_kept {
            shelf.keep(&snapshot, view).await?;
        }
        shelf.write(now_active.position, now_active.crc).await?;
        let active = shelf.active(&now_active);
        let active = Named { context: active.context().clone(), title: active.title().to_owned() };
        let line = match is_kept {
            true => switch_line(left.pair(), &active.title),
            false => format!("Now in “{}”.", active.title),
        };
        Ok(Operated::Done(Changed {
            operation: wanted.name().to_owned(),
            left: is_kept.then_some(left),
            active,
            chat: None,
            line,
        }))
    }

    fn told(&self, wanted: &Operation, left: &Named) -> Object {
        let mut data = wanted.to_object();
        data.set("left", left.to_json());
        data
    }

    fn event(&self, name: &str, data: Object, about: Option<MessageId>) -> NewEvent {
        NewEvent {
            id: format!("e_{:016x}", self.ground.agent.ids.next()),
            ts: self.ground.agent.clock.now(),
            event: name.to_owned(),
            data: data.into(),
            ref_msg_id: about,
            inbox: self.moving.inbox,
        }
    }

    async fn rename(&self, title: &str) -> Result<Operated, RunError> {
        let Some(title) = clean_title(title) else {
            return Ok(Operated::NotDone(NotDone::because("A title needs at least a letter.")));
        };
        let event = self.event(RENAMED, Object::from([("title", title.as_str())]), None);
        self.ground.lane.append(vec![event.into()], self.view.position).await?;
        self.stays("rename", title.clone(), format!("This context is now “{title}”."))
    }

    /// Names the place where the context is now: behind its last message.
    async fn checkpoint(&self, name: &str) -> Result<Operated, RunError> {
        let name = name.trim();
        let last = self.view.messages().next_back();
        let last = last.and_then(|message| message.str("id")).and_then(MessageId::new);
        if name.is_empty() || name.chars().any(char::is_control) {
            let line = "A checkpoint needs a name, on one line.";
            return Ok(Operated::NotDone(NotDone::because(line)));
        }
        let known = folded(self.view).checkpoints.iter().any(|known| known.name == name);
        let event = self.event(CHECKPOINT, Object::from([("name", name)]), last);
        self.ground.lane.append(vec![event.into()], self.view.position).await?;
        let was = if known { " It was somewhere else before." } else { "" };
        let line = format!("Checkpoint “{name}” is here.{was} To come back: /rewind {name}");
        let shelf = Shelf::open(self.ground.agent, self.ground.chat, self.view).await?;
        self.stays("checkpoint", shelf.active(self.view).title().to_owned(), line)
    }

    fn stays(&self, operation: &str, title: String, line: String) -> Result<Operated, RunError> {
        Ok(Operated::Done(Changed {
            operation: operation.to_owned(),
            left: None,
            active: Named { context: self.view.head.context.clone(), title },
            chat: None,
            line,
        }))
    }

    /// A copy for another chat, which begins with it.
    async fn fork_to(&self, at: Option<&str>, to: &ChatKey) -> Result<Operated, RunError> {
        let Ground { agent, chat, .. } = self.ground;
        let spot = match at {
            None => Spot { log: None, last: self.view.position.seq },
            Some(at) => match Spot::find(self.ground, self.view, at).await? {
                Ok(spot) => spot,
                Err(not_done) => return Ok(Operated::NotDone(not_done)),
            },
        };
        let view = spot.view(self.ground, self.view).await?;
        let other = agent.store.create(to, ship_store::About::default()).await?;
        let lane = other.lane_now("fork").await?;
        if other.view().await?.is_some() {
            let line = format!("The chat `{to}` has a context already; fork to a new one.");
            return Ok(Operated::NotDone(NotDone::because(line)));
        }
        let mut head = self.branched(&view, &spot, "fork");
        if let Some(from) = head.forked_from.as_mut().and_then(Json::as_object_mut) {
            from.set("chatKey", chat.key().as_str());
        }
        // Its checkpoints are in logs of this chat; those among the copied lines are events there.
        head.checkpoints.clear();
        // Nothing was read from its ledger yet.
        head.inbox = None;
        mark_copy(&mut head, to);
        head.carry.remove(OPERATION);
        head.carry.remove(CONTINUES);
        let whole = |first: Seq, last: Seq| Piece::Of {
            chat: chat.key().clone(),
            log: spot.log.clone(),
            first,
            last,
        };
        let pieces = spans(&view.lines, |_| true).into_iter().map(|(a, b)| whole(a, b)).collect();
        lane.rotate(Rotation { expected: None, head, pieces, damage: OnDamage::Refuse }).await?;
        let copied = other.view().await?;
        let copied = copied.ok_or_else(|| RunError::Vanished { chat: to.clone() })?;
        let active = Shelf::open(agent, &*other, &copied).await?.active(&copied);
        let active = Named { context: active.context().clone(), title: active.title().to_owned() };
        let line =
            format!("“{}” goes on in the chat `{to}`; this chat stays as it is.", active.title);
        Ok(Operated::Done(Changed {
            operation: "fork".to_owned(),
            left: None,
            active,
            chat: Some(to.clone()),
            line,
        }))
    }
}

/// The ranges of lines that stay, as few as there can be.
fn spans(lines: &[Arc<Line>], stays: impl Fn(&Line) -> bool) -> Vec<(Seq, Seq)> {
    let mut spans: Vec<(Seq, Seq)> = Vec::new();
    let mut was_kept = false;
    for line in lines {
        let is_kept = stays(line);
        match spans.last_mut().filter(|_| was_kept && is_kept) {
            Some((_, last)) => *last = line.seq,
            None if is_kept => spans.push((line.seq, line.seq)),
            None => {}
        }
        was_kept = is_kept;
    }
    spans
}

/// The lines of these messages, in order.
fn lines_of(view: &View, ids: &[String]) -> Vec<Seq> {
    let is_one = |line: &&Arc<Line>| match &line.body {
        Body::Message(message) => {
            message.str("id").is_some_and(|id| ids.iter().any(|known| known == id))
        }
        Body::Event(_) => false,
    };
    view.lines.iter().filter(is_one).map(|line| line.seq).collect()
}

pub(super) fn no_context(which: &str, offered: Vec<Named>) -> NotDone {
    let line = match offered.is_empty() {
        true => {
            format!("No archived context fits `{which}`: none was left yet. Nothing has changed.")
        }
        false => format!(
            "No single archived context fits `{which}`. Nothing has changed. The newest are:"
        ),
    };
    NotDone { line, offered }
}
