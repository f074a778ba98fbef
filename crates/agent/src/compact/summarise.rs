//! Summing up: a model is asked, and when it cannot, an extract is made.
//!
//! The number of calls is bounded, whatever the history: what is older than they can read is extracted. A
//! model that fails is left alone for a while, longer each time, and that outlives a restart.

use std::time::Duration;

use ship_context::SystemBlock;
use ship_context::compact::{
    Goal, Rejected, Rung, accept, chunks, extract, instructions, previous_summary, transcript,
};
use ship_message::json::{Json, Object};
use ship_message::{Chunk, Role, UiMessage, UiPart};
use ship_provider::Usage;
use ship_store::Timestamp;

use super::Carried;
use crate::RunNote;
use crate::asking::Asking;
use crate::request::Prepared;
use crate::work::Work;

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

    fn add(&mut self, usage: Option<Usage>) {
        self.calls += 1;
        self.input += usage.map_or(0, |usage| usage.input);
        self.output += usage.map_or(0, |usage| usage.output);
    }
}

/// Sums the older messages up. This cannot fail.
pub(super) async fn summarise(
    work: &Work,
    goal: &Goal,
    carried: &Carried,
    older: &[&UiMessage],
    wishes: Option<&str>,
) -> Summed {
    let scales = &work.agent.scales;
    let count = |text: &str| scales.count(text);
    let previous = previous_summary(older);
    let rest: Vec<&UiMessage> = older
        .iter()
        .enumerate()
        .filter(|(at, _)| previous.as_ref().is_none_or(|(summary, _)| at != summary))
        .map(|(_, message)| *message)
        .collect();
    let previous = previous.map(|(_, text)| text);
    let source = transcript(rest.iter().copied());
    let mut cost = Cost::default();
    let now = work.agent.clock.now();
    let is_cool = carried.cool_until.is_none_or(|until| now >= until);
    let mut failures = carried.failures;
    let mut cool_until = carried.cool_until;
    if is_cool && work.agent.provider.can_summarise() && !source.is_empty() {
        let asked = Asked { work, goal, wishes, count: &count };
        match asked.all(&source, previous.clone(), &mut cost).await {
            Ok((prose, rung)) => {
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
    let prose = extract(previous.as_deref(), &rest, goal.summary_room(), &count);
    Summed { prose, rung: Rung::Extract, source, previous, failures, cool_until, cost }
}

struct Asked<'a> {
    work: &'a Work,
    goal: &'a Goal,
    wishes: Option<&'a str>,
    count: &'a (dyn Fn(&str) -> u64 + Sync),
}

impl Asked<'_> {
    /// Asks for one summary of everything, or piece by piece, each bringing the one before up to date.
    async fn all(
        &self,
        source: &[String],
        mut previous: Option<String>,
        cost: &mut Cost,
    ) -> Result<(String, Rung), String> {
        let wall = self.work.agent.window_tokens().unwrap_or(self.goal.trigger.max(12_000));
        let room = wall.saturating_sub(2 * self.goal.summary_room() + OVERHEAD).max(500);
        let mut pieces = chunks(source, room, self.count);
        let rung = if pieces.len() == 1 { Rung::Summary } else { Rung::Chunks };
        // What more calls would be needed for is left to the identifiers and to the search.
        let skipped = pieces.len().saturating_sub(CALLS_MAX);
        pieces.drain(..skipped);
        for piece in &pieces {
            let given = previous.as_deref().map_or(0, |text| (self.count)(text));
            let tokens = (self.count)(piece) + given;
            let text = self.once(piece, previous.as_deref(), cost).await?;
            let prose = accept(&text, tokens, self.goal.summary_room(), self.count)
                .map_err(|rejected| rejected.to_string())?;
            previous = Some(prose);
        }
        previous.map(|prose| (prose, rung)).ok_or_else(|| Rejected::Empty.to_string())
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
