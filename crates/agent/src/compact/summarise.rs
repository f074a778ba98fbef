//! Summing up: a model is asked, and when it cannot, an extract is made.
//!
//! The number of calls is bounded, whatever the history: what is older than they can read is extracted. A
//! model that fails is left alone for a while, longer each time, and that outlives a restart.

use std::time::Duration;

use ship_context::SystemBlock;
use ship_context::compact::{
    Chunks, Goal, Rejected, Rung, accept, chunks, extract, instructions, previous_summary,
    transcript,
};
use ship_message::json::{Json, Object};
use ship_message::{Chunk, Role, UiMessage, UiPart};
use ship_provider::Usage;
use ship_store::{Timestamp, View};

use super::Carried;
use super::draft::{self, Draft, Range};
use crate::asking::Asking;
use crate::request::Prepared;
use crate::step::notice;
use crate::work::Work;
use crate::{RunEvent, RunNote};

/// At most so many calls for one compaction.
const CALLS_MAX: usize = 8;
/// How long a model that failed is left alone: the first time, the second, and every further time.
const COOL_DOWN_S: [i64; 3] = [60, 300, 900];
/// Tokens of a request for a summary that are not the transcript: the instructions, and a margin.
const OVERHEAD: u64 = 1_000;
/// How long one summary may take.
const DEADLINE: Duration = Duration::from_secs(180);

/// What takes the place of the older part.
pub(super) struct Summed {
    pub(super) prose: String,
    pub(super) rung: Rung,
    /// What it was made from.
    pub(super) source: Vec<String>,
    pub(super) previous: Option<String>,
    pub(super) failures: u64,
    pub(super) cool_until: Option<Timestamp>,
    pub(super) cost: Cost,
}

/// What it cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    calls: u64,
    input: u64,
    output: u64,
}

impl Cost {
    pub(super) fn to_object(self) -> Object {
        Object::from([
            ("calls", Json::from(self.calls)),
            ("inputTokens", self.input.into()),
            ("outputTokens", self.output.into()),
        ])
    }

    pub(super) fn from_object(object: &Object) -> Self {
        let number = |key: &str| object.get(key).and_then(Json::as_u64).unwrap_or_default();
        Self {
            calls: number("calls"),
            input: number("inputTokens"),
            output: number("outputTokens"),
        }
    }

    fn add(&mut self, usage: Option<Usage>) {
        self.calls += 1;
        self.input += usage.map_or(0, |usage| usage.input);
        self.output += usage.map_or(0, |usage| usage.output);
    }
}

/// What is to be summed up.
#[derive(Clone, Copy)]
pub(super) struct Older<'a> {
    pub(super) messages: &'a [&'a UiMessage],
    /// What the person asks for in particular.
    pub(super) wishes: Option<&'a str>,
    pub(super) view: &'a View,
}

/// Sums the older messages up. This cannot fail.
pub(super) async fn summarise(
    work: &Work,
    goal: &Goal,
    carried: &Carried,
    older: Older<'_>,
) -> Summed {
    let scales = &work.agent.scales;
    let count = |text: &str| scales.count(text);
    let previous = previous_summary(older.messages);
    let rest: Vec<&UiMessage> = older
        .messages
        .iter()
        .enumerate()
        .filter(|(at, _)| previous.as_ref().is_none_or(|(summary, _)| at != summary))
        .map(|(_, message)| *message)
        .collect();
    let previous = previous.map(|(_, text)| text);
    let source = transcript(rest.iter().copied());
    let room = goal.summary_room();
    let range = Range::of(older.view, older.messages, older.wishes);
    if let Some(draft) = draft::find(work, &range).await.filter(|it| count(&it.prose) <= room) {
        let Draft { prose, rung, cost, .. } = draft;
        let (failures, cool_until) = (0, None);
        return Summed { prose, rung, source, previous, failures, cool_until, cost };
    }
    let mut cost = Cost::default();
    let now = work.agent.clock.now();
    let is_cool = carried.cool_until.is_none_or(|until| now >= until);
    let mut failures = carried.failures;
    let mut cool_until = carried.cool_until;
    let has_source = source.iter().any(|piece| !piece.is_empty());
    if is_cool && work.agent.provider.can_summarise() && has_source {
        let asked = Asked { work, goal, wishes: older.wishes, count: &count };
        match asked.all(&rest, &source, previous.as_deref(), &mut cost).await {
            Ok((prose, rung)) => {
                let draft = Draft { range, prose: prose.clone(), rung, cost };
                draft::keep(work, older.view, draft).await;
                let (failures, cool_until) = (0, None);
                return Summed { prose, rung, source, previous, failures, cool_until, cost };
            }
            Err(reason) => {
                let wait = COOL_DOWN_S[usize::try_from(failures).unwrap_or(2).min(2)];
                failures += 1;
                cool_until = Some(Timestamp::from_millis(now.millis() + wait * 1000));
                let texts = vec![("reason", Json::from(work.agent.surroundings.mask(&reason)))];
                let fields = vec![("failures", Json::from(failures))];
                work.note(RunNote { kind: "warning", fields, texts, ..RunNote::default() });
            }
        }
    }
    let prose = extract(previous.as_deref(), &rest, room, &count);
    Summed { prose, rung: Rung::Extract, source, previous, failures, cool_until, cost }
}

struct Asked<'a> {
    work: &'a Work,
    goal: &'a Goal,
    wishes: Option<&'a str>,
    count: &'a (dyn Fn(&str) -> u64 + Sync),
}

impl Asked<'_> {
    /// Asks for one summary of everything, or piece by piece, each bringing the one before up to date. What is
    /// older than the calls can read is extracted, and that extract is the summary that the first one is given.
    async fn all(
        &self,
        messages: &[&UiMessage],
        source: &[String],
        previous: Option<&str>,
        cost: &mut Cost,
    ) -> Result<(String, Rung), String> {
        let summary_room = self.goal.summary_room();
        let room = self.goal.reading.saturating_sub(2 * summary_room + OVERHEAD).max(500);
        let Chunks { texts, unread } = chunks(source, room, CALLS_MAX, self.count);
        let rung = if texts.len() == 1 && unread == 0 { Rung::Summary } else { Rung::Chunks };
        let is_long = |text: &str| (self.count)(text) > summary_room;
        let mut so_far = match previous {
            Some(text) if unread == 0 && !is_long(text) => Some(text.to_owned()),
            None if unread == 0 => None,
            previous => Some(extract(previous, &messages[..unread], summary_room, self.count)),
        };
        for (nth, piece) in texts.iter().enumerate() {
            if texts.len() > 1 {
                self.tell(nth + 1, texts.len());
            }
            let given = so_far.as_deref().map_or(0, |text| (self.count)(text));
            let tokens = (self.count)(piece) + given;
            let text = self.once(piece, so_far.as_deref(), cost).await?;
            let prose = accept(&text, tokens, summary_room, self.count)
                .map_err(|rejected| rejected.to_string())?;
            so_far = Some(prose);
        }
        so_far.map(|prose| (prose, rung)).ok_or_else(|| Rejected::Empty.to_string())
    }

    fn tell(&self, nth: usize, of: usize) {
        let text = format!("Making room: part {nth} of {of} is summed up");
        self.work.tell(&RunEvent::Chunk(notice("compacting", &text)));
    }

    async fn once(
        &self,
        piece: &str,
        previous: Option<&str>,
        cost: &mut Cost,
    ) -> Result<String, String> {
        let block = SystemBlock { name: "summary".to_owned(), text: instructions(self.wishes) };
        let mut text = String::new();
        if let Some(previous) = previous {
            text.push_str(&format!("The summary so far:\n\n{previous}\n\n"));
        }
        text.push_str(&format!("The part of the chat to sum up:\n\n<chat>\n{piece}\n</chat>"));
        let said = UiMessage::new("summary-request", Role::User, vec![UiPart::text(text)]);
        let request = Prepared::apart(block, said);
        let max_tokens = self.goal.summary_room().max(64);
        let written = request.written(&self.work.agent, max_tokens);
        let written = written.map_err(|error| error.to_string())?;
        let asking = Asking::for_summary(self.work, &request, &written).await;
        let asking = asking.map_err(|error| error.to_string())?;
        let mut said = String::new();
        let mut called = false;
        let answered = {
            let sink = Box::new(|chunk: Chunk| match chunk {
                Chunk::TextDelta(_, delta) => said.push_str(&delta),
                Chunk::ToolInputAvailable { .. } | Chunk::ToolInputError { .. } => called = true,
                _ => {}
            });
            let answering = asking.answer(self.work, sink);
            tokio::time::timeout(DEADLINE, answering).await
        };
        match answered {
            Err(_) => Err("the summary took too long".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(answered)) => {
                cost.add(answered.usage);
                if called { Err(Rejected::ToolCall.to_string()) } else { Ok(said) }
            }
        }
    }
}
