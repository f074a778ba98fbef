//! Makes the log that an operation publishes: its head, and the lines that it takes over.

use std::sync::Arc;

use ship_context::contexts::{branch_title, clean_title, is_reference};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::carry::PublishedBy;
use ship_store::{
    ContextId, ContextLine, Head, LogPiece, Metadata, Position, SealedName, Seq, View,
    without_notices,
};

use super::list::active_snapshot;
use super::log_place::LogPlace;
use super::lost_messages::{LostMessage, LostMessages};
use super::operate::OperationInProgress;
use super::target_origin::{TargetOrigin, is_question};
use crate::chat::{
    Activation, CompactionState, gives_title, head_after_events, loaded_skills,
    messages_left_behind, sealed_head_after_events,
};

/// The log that an operation publishes.
pub(super) struct TargetLog {
    pub(super) head: Head,
    pub(super) pieces: Vec<LogPiece>,
    /// The number of messages in the pieces.
    pub(super) messages: u64,
    /// The end of the log with these lines; `None` if a part of it is missing or cannot be read, and so does
    /// not come back.
    pub(super) source: Option<(Position, u32)>,
    /// Whether the context that is left has nothing worth archiving.
    pub(super) drops_left_context: bool,
}

impl TargetLog {
    /// Makes a target from the lines of a log that stay, and messages that it has lost.
    fn from_lines(
        head: Head,
        lines: &[Arc<ContextLine>],
        stays: impl Fn(&ContextLine) -> bool,
        log: Option<&SealedName>,
        lost: &[LostMessage],
    ) -> Self {
        let is_message = |line: &&Arc<ContextLine>| line.message().is_some() && stays(line);
        let messages = (lines.iter().filter(is_message).count() + lost.len()) as u64;
        let piece = |(first, last)| match log {
            Some(log) => LogPiece::Sealed { log: log.clone(), first, last },
            None => LogPiece::Keep(first, last),
        };
        let (mut pieces, mut rest) = (Vec::new(), lines);
        for LostMessage { before, message } in lost {
            let is_before = |line: &Arc<ContextLine>| before.is_none_or(|seq| line.seq < seq);
            let (here, after) = rest.split_at(rest.partition_point(is_before));
            pieces.extend(spans(here, &stays).into_iter().map(piece));
            pieces.push(LogPiece::New(message.clone().into()));
            rest = after;
        }
        pieces.extend(spans(rest, &stays).into_iter().map(piece));
        Self { head, pieces, messages, source: None, drops_left_context: false }
    }
}

impl OperationInProgress<'_> {
    /// Makes the log that an operation publishes.
    pub(super) fn target(&self, origin: &TargetOrigin) -> TargetLog {
        match origin {
            TargetOrigin::Clean { by, title } => self.empty_log(by, title.as_deref()),
            TargetOrigin::Archived { log, view, snapshot, lost } => {
                self.load(log, view, snapshot.title(), lost)
            }
            TargetOrigin::Branch { by, place, view } => {
                let end = LogPlace::in_live_log(self.view.position.seq);
                self.branch(by, place.as_ref().unwrap_or(&end), view.as_ref())
            }
            TargetOrigin::Left { log, view, lost } => self.undo(log, view, lost),
        }
    }

    fn new_id(&self) -> ContextId {
        let agent = &self.locked.engine;
        let made = || ContextId::new(agent.clock.now(), agent.ids.next());
        self.moving.promised.clone().unwrap_or_else(made)
    }

    /// Makes an empty context. The loaded skills stay loaded, because they belong to the system blocks.
    fn empty_log(&self, by: &str, title: Option<&str>) -> TargetLog {
        let mut head = Head::new(self.new_id());
        head.title = title.and_then(clean_title);
        let loaded = loaded_skills::loaded_names(self.view);
        head.carry.set_skills(loaded.iter().map(String::as_str));
        self.set_carry(&mut head);
        Activation::write_to_head(&mut head, by, self.locked.engine.clock.now());
        TargetLog { head, pieces: Vec::new(), messages: 0, source: None, drops_left_context: false }
    }

    /// Carries over the data that all contexts of the chat share: the calibration of token counts, and the salt
    /// of message ids.
    fn set_carry(&self, head: &mut Head) {
        let meter = &self.locked.engine.token_meter;
        meter.merge_calibration(&CompactionState::read(self.view).tokens);
        head.carry.set_tokens(meter.to_object());
        head.carry.set_salt(self.view.head.carry.salt());
    }

    /// Makes a target from an archived context as it was left.
    fn load(&self, log: &SealedName, view: &View, title: &str, lost: &LostMessages) -> TargetLog {
        let own = messages_left_behind(view, &self.moving.current);
        let is_own = |message: &UiMessage| own.iter().any(|own| own.id() == message.id());
        let stays = |line: &ContextLine| line.message().is_none_or(is_own);
        let mut head = sealed_head_after_events(view, log);
        head.carry.set_continues(Some(log));
        self.set_carry(&mut head);
        if !view.problems.is_empty() {
            // The answer to a question at the end is lost, and the person has it.
            head.carry.set_answered(self.answered_question(&lost.among(view)));
        }
        if head.title.is_none() {
            // The context keeps the title under which it was listed.
            head.carry.set_made_title(Some(title));
        }
        let target = TargetLog::from_lines(head, &view.lines, stays, Some(log), &lost.messages);
        TargetLog { source: end_of(view).or(lost.snapshot_end), ..target }
    }

    /// Makes a copy of a log up to a place, under a new id; `view` has a sealed log up to there.
    fn branch(&self, by: &str, place: &LogPlace, view: Option<&View>) -> TargetLog {
        let mut view = view.unwrap_or(self.view).clone();
        view.lines.retain(|line| line.seq <= place.last);
        let mut head = self.branch_head(&view, place, by);
        // A copy of the live log continues the log that this rotation seals, so it needs no name here.
        head.carry.set_continues(place.log.as_ref());
        // The run's message stays in the old context, and the open request is added at the end.
        let left = self.moving.settled.as_ref().map(|settled| settled.message.as_str());
        let is_current = |id: &str| self.moving.current.iter().any(|current| current == id);
        let is_left = |id: &str| left == Some(id) || is_current(id);
        let moves =
            |line: &ContextLine| !line.message_id().is_some_and(is_left) && !gives_title(line);
        TargetLog::from_lines(head, &view.lines, moves, place.log.as_ref(), &[])
    }

    /// Makes the head of a context that branches off at a place in another one.
    pub(super) fn branch_head(&self, view: &View, place: &LogPlace, by: &str) -> Head {
        let mut head = match &place.log {
            Some(log) => sealed_head_after_events(view, log),
            None => head_after_events(view),
        };
        if view.head.context == self.view.head.context {
            // After a rewind, the person can still return to later checkpoints.
            head.checkpoints = head_after_events(self.view).checkpoints;
        }
        let from = Object::from([
            ("contextId", Json::from(head.context.as_str())),
            ("sealed", place.log.as_ref().map_or(Json::Null, |log| log.as_str().into())),
            ("seq", place.last.get().into()),
        ]);
        head.forked_from = Some(from.into());
        head.context = self.new_id();
        // Where nothing was answered, the branch takes the place of its origin.
        if by != "retry" || !lacks_answer(self.view) {
            let checkpoint = place.checkpoint.as_deref();
            head.title = Some(self.title_of_branch(view, by, checkpoint, |_| false));
        }
        let messages: Vec<&UiMessage> = view.messages().collect();
        let question = self.answered_question(&messages);
        match by {
            "retry" => head.carry.set_asked_again(question),
            _ => head.carry.set_answered(question),
        }
        self.set_carry(&mut head);
        Activation::write_to_head(&mut head, by, self.locked.engine.clock.now());
        head
    }

    /// Returns the title of a branch of this log: the given one, or one that says what the branch is and is not taken.
    pub(super) fn title_of_branch(
        &self,
        view: &View,
        by: &str,
        checkpoint: Option<&str>,
        is_taken: impl Fn(&str) -> bool,
    ) -> String {
        if let Some(given) = self.moving.title.as_deref().and_then(clean_title) {
            return given;
        }
        // The branch may leave out the events and messages that gave the active context its title.
        let is_active = view.head.context == self.view.head.context;
        let origin = if is_active { self.view } else { view };
        let origin = active_snapshot(&self.locked.engine, origin);
        branch_title(origin.title(), by, checkpoint, is_taken)
    }

    /// Returns the question at the end of a context, or the settled message of a run that has answered it elsewhere,
    /// if it is not part of the open request.
    fn answered_question<'m>(&self, messages: &[&'m UiMessage]) -> Option<&'m str> {
        let last = messages.iter().rfind(|message| !is_reference(message))?;
        let is_settled = Metadata::of(last).settled_parts().is_some();
        let id = last.id().filter(|_| is_settled || last.role() == Role::User)?;
        let waits = self.moving.current.iter().any(|current| current == id);
        (!waits).then_some(id)
    }

    /// Makes a target from the context that the last operation has left.
    fn undo(&self, log: &SealedName, before: &View, lost: &LostMessages) -> TargetLog {
        let mut head = sealed_head_after_events(before, log);
        head.carry.set_continues(Some(log));
        if let Some(question) = self.answered_question(&lost.among(before)) {
            // The question was taken along, and answered in the other context.
            head.carry.set_answered(Some(question));
        }
        self.set_carry(&mut head);
        let target =
            TargetLog::from_lines(head, &before.lines, |_| true, Some(log), &lost.messages);
        let drops_left =
            self.view.head.carry.published_by().is_some_and(|by| self.is_unused_since(&by));
        let source = end_of(before).or(lost.snapshot_end);
        TargetLog { source, drops_left_context: drops_left, ..target }
    }

    /// Whether an operation has made this context and nothing was said in it since.
    fn is_unused_since(&self, by: &PublishedBy) -> bool {
        let made =
            matches!(by.operation.as_deref(), Some("new" | "clear" | "fork" | "rewind" | "retry"));
        let is_first = by.generation == Some(self.view.head.generation);
        made && is_first && by.messages == Some(self.view.messages().count() as u64)
    }
}

/// Whether the last question got no answer, but at most a notice of a failure.
pub(super) fn lacks_answer(view: &View) -> bool {
    let says_something = |part: &UiPart| match part {
        UiPart::Text(text) => !text.text().trim().is_empty(),
        part => matches!(part, UiPart::Tool(_) | UiPart::File(_)),
    };
    let mut answers = view.messages().rev().take_while(|message| !is_question(message));
    answers.all(|answer| !without_notices(answer).parts().iter().any(says_something))
}

/// Returns the end of a log of which every line can be read.
fn end_of(view: &View) -> Option<(Position, u32)> {
    view.problems.is_empty().then_some((view.position, view.crc))
}

/// Joins the lines that stay into as few ranges as possible.
pub(super) fn spans(
    lines: &[Arc<ContextLine>],
    stays: impl Fn(&ContextLine) -> bool,
) -> Vec<(Seq, Seq)> {
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

#[cfg(test)]
mod tests {
    use ship_store::{ContextBody, Timestamp};

    use super::*;

    fn lines(numbers: std::ops::RangeInclusive<u64>) -> Vec<Arc<ContextLine>> {
        let line = |number| {
            let message = UiMessage::new(format!("m{number}"), Role::User, vec![UiPart::text("x")]);
            let body = ContextBody::Message(message);
            ContextLine { seq: Seq::new(number), rev: 0, inbox: None, body }
        };
        numbers.map(|number| Arc::new(line(number))).collect()
    }

    #[test]
    fn lines_that_stay_side_by_side_are_one_range() {
        let without = |left: &[u64]| spans(&lines(2..=7), |line| !left.contains(&line.seq.get()));
        let ranges = |ranges: &[(u64, u64)]| -> Vec<(Seq, Seq)> {
            ranges.iter().map(|(first, last)| (Seq::new(*first), Seq::new(*last))).collect()
        };
        assert_eq!(without(&[]), ranges(&[(2, 7)]));
        assert_eq!(without(&[2, 7]), ranges(&[(3, 6)]));
        assert_eq!(without(&[4, 6]), ranges(&[(2, 3), (5, 5), (7, 7)]));
        assert_eq!(without(&[2, 3, 4, 5, 6, 7]), ranges(&[]));
    }

    #[test]
    fn a_target_counts_the_messages_that_stay_and_names_the_log_they_are_in() {
        let head = Head::new(ContextId::new(Timestamp::from_millis(0), 1));
        let target =
            TargetLog::from_lines(head, &lines(2..=5), |line| line.seq.get() != 3, None, &[]);
        assert_eq!(target.messages, 3);
        let kept =
            [LogPiece::Keep(Seq::new(2), Seq::new(2)), LogPiece::Keep(Seq::new(4), Seq::new(5))];
        assert_eq!(target.pieces, kept);
    }
}
