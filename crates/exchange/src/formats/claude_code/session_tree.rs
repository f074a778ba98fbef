//! Finds the contexts of a session: its main line, the lines of retries, and those of sub-agents.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{SessionLine, SessionLineKind};
use crate::plan::{Piece, PlannedContext, PlannedMessage};

/// The number of lines that a retry repeats from before its own first one.
const REPEATED_MAX: usize = 200;

/// The bytes of a message after which the next answer begins another one.
const MESSAGE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The lines of a session with the line before each.
pub(super) struct SessionTree {
    lines: Vec<SessionLine>,
    by_uuid: HashMap<String, usize>,
    before: Vec<Option<usize>>,
    /// Whether something was said in answer to a line.
    is_continued: Vec<bool>,
}

/// The contexts of a session, as lines.
#[derive(Default)]
struct Branches {
    main: Vec<usize>,
    /// Each with the place of the first line that the main one lacks.
    retries: Vec<(Vec<usize>, usize)>,
}

impl SessionTree {
    pub(super) fn new(lines: Vec<SessionLine>, by_uuid: HashMap<String, usize>) -> Self {
        let before: Vec<Option<usize>> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| {
                let parent = by_uuid.get(line.parent.as_deref()?).copied();
                // A line is written behind the one before it, so nothing goes round.
                parent.filter(|parent| *parent < at)
            })
            .collect();
        let mut is_continued = vec![false; lines.len()];
        for (line, parent) in lines.iter().zip(&before) {
            if let Some(parent) = parent.filter(|_| line.kind != SessionLineKind::Other) {
                is_continued[parent] = true;
            }
        }
        Self { lines, by_uuid, before, is_continued }
    }

    pub(super) fn into_contexts(self, titles: &[(Option<String>, String)]) -> Vec<PlannedContext> {
        let mut contexts = Vec::new();
        let agents = self.agents();
        for (name, lines) in &agents {
            let key = format!("{}/{name}", self.lines[lines[0]].session);
            contexts.extend(self.context(key, lines, Some(format!("Sub-agent {name}"))));
        }
        let of_agents: HashSet<usize> = agents.into_values().flatten().collect();
        let Branches { main, retries } = self.branches(&of_agents);
        let title = self.title(titles, &main);
        let mut sessions = main.iter().map(|at| self.lines[*at].session.as_str());
        let session = sessions.find(|session| !session.is_empty()).unwrap_or_default();
        for (nth, (retry, first)) in retries.iter().enumerate() {
            let name = self.lines[*first].uuid.as_deref().unwrap_or_default();
            let retry_title = title.as_ref().map(|title| format!("{title} (retried {})", nth + 1));
            contexts.extend(self.context(format!("{session}#{name}"), retry, retry_title));
        }
        contexts.extend(self.context(session.to_owned(), &main, title));
        contexts
    }

    /// Returns the lines of each sub-agent. One without a name has that of its first line.
    fn agents(&self) -> BTreeMap<String, Vec<usize>> {
        let mut agents: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut names: HashMap<usize, String> = HashMap::new();
        for (at, line) in self.lines.iter().enumerate() {
            let Some(agent) = &line.agent else { continue };
            let from_parent = || self.before[at].and_then(|parent| names.get(&parent).cloned());
            let from_line = || line.uuid.clone().unwrap_or_default().chars().take(8).collect();
            let name = match agent.as_str() {
                "" => from_parent().unwrap_or_else(from_line),
                name => name.to_owned(),
            };
            names.insert(at, name.clone());
            agents.entry(name).or_default().push(at);
        }
        agents
    }

    /// Finds the main line, which ends with the newest line, and the others.
    fn branches(&self, of_agents: &HashSet<usize>) -> Branches {
        let own: Vec<usize> = (0..self.lines.len()).filter(|at| !of_agents.contains(at)).collect();
        let is_said = |at: &usize| self.lines[*at].kind != SessionLineKind::Other;
        let said: Vec<usize> = own.iter().copied().filter(is_said).collect();
        let Some(end) = said.last().copied() else {
            return Branches { main: own, ..Branches::default() };
        };
        if said.iter().all(|at| self.before[*at].is_none()) {
            // No line names another, so the order of the file is all there is.
            return Branches { main: own, ..Branches::default() };
        }
        let mut main: HashSet<usize> = self.path(end, &said, &HashSet::new()).into_iter().collect();
        let of_main = main.iter().filter_map(|at| self.lines[*at].answer.clone());
        let answers: HashSet<String> = of_main.collect();
        let mut retries = Vec::new();
        for leaf in said.iter().copied().filter(|at| !self.is_continued[*at]) {
            if main.contains(&leaf) {
                continue;
            }
            let path = self.path(leaf, &said, &main);
            let aside: Vec<usize> = path.iter().copied().filter(|at| !main.contains(at)).collect();
            match aside.iter().find(|at| !self.is_piece_of(**at, &answers)) {
                None => main.extend(aside),
                Some(_) => retries.push((aside[0], path)),
            }
        }
        let of_retries: HashSet<usize> =
            retries.iter().flat_map(|(_, path)| path.clone()).collect();
        // What was not said stands where it was written.
        main.extend(own.iter().filter(|at| !is_said(at) && !of_retries.contains(at)));
        let mut main: Vec<usize> = main.into_iter().collect();
        main.sort_unstable();
        let whole = |(first, path): (usize, Vec<usize>)| (self.with_beginning(&path, &main), first);
        let retries = retries.into_iter().map(whole).collect();
        Branches { main, retries }
    }

    /// Returns the path of a retry with the lines of the main one before it, of which the path has only those that were
    /// named. A result may stand behind the place where the retry begins.
    fn with_beginning(&self, path: &[usize], main: &[usize]) -> Vec<usize> {
        let is_main = |at: &usize| main.binary_search(at).is_ok();
        let own: Vec<usize> = path.iter().copied().filter(|at| !is_main(at)).collect();
        let Some(fork) = path.iter().copied().rfind(|at| is_main(at)) else { return own };
        let end = main.partition_point(|at| *at <= fork);
        let mut all = main[end.saturating_sub(REPEATED_MAX)..end].to_vec();
        let mut open: HashSet<&str> = HashSet::new();
        for at in all.iter().chain(&own) {
            open.extend(self.lines[*at].calls.iter().map(String::as_str));
            for result in &self.lines[*at].results {
                open.remove(result.as_str());
            }
        }
        let answers_one = |at: &&usize| {
            self.lines[**at].results.iter().any(|result| open.contains(result.as_str()))
        };
        let behind = if open.is_empty() { &[][..] } else { &main[end..] };
        all.extend(behind.iter().filter(answers_one));
        all.extend(own);
        all.sort_unstable();
        all
    }

    /// Returns the lines that lead to one, in order, and of those in `main` only the last ones. A line that names none
    /// before it stands behind the last one of the file, as after a compaction.
    fn path(&self, end: usize, said: &[usize], main: &HashSet<usize>) -> Vec<usize> {
        let mut path = vec![end];
        let (mut at, mut repeated) = (end, 0);
        while repeated < REPEATED_MAX {
            let in_file = || {
                let place = said.partition_point(|said| *said < at);
                place.checked_sub(1).map(|place| said[place])
            };
            let Some(before) = self.before[at].or_else(in_file) else { break };
            repeated += usize::from(main.contains(&before));
            path.push(before);
            at = before;
        }
        path.reverse();
        path
    }

    /// Whether a line beside the main line is a piece of it: one of several calls at once, or the result of one.
    fn is_piece_of(&self, at: usize, answers: &HashSet<String>) -> bool {
        let line = &self.lines[at];
        match line.kind {
            SessionLineKind::Other | SessionLineKind::Result => true,
            SessionLineKind::Assistant => {
                line.answer.as_ref().is_some_and(|answer| answers.contains(answer))
            }
            SessionLineKind::User | SessionLineKind::Summary => false,
        }
    }

    /// Returns the title of the main line: the last one that names no other end.
    fn title(&self, titles: &[(Option<String>, String)], main: &[usize]) -> Option<String> {
        let fits = |leaf: &Option<String>| match leaf.as_deref().map(|leaf| self.by_uuid.get(leaf))
        {
            Some(Some(at)) => main.binary_search(at).is_ok(),
            Some(None) | None => true,
        };
        titles.iter().rev().find(|(leaf, _)| fits(leaf)).map(|(_, title)| title.clone())
    }

    /// Makes a context of lines; `None` if nothing is said in them.
    fn context(
        &self,
        key: String,
        lines: &[usize],
        title: Option<String>,
    ) -> Option<PlannedContext> {
        let mut context = PlannedContext::new(key);
        context.title = title;
        let mut early = Vec::new();
        let mut turn = None;
        for at in lines {
            let line = &self.lines[*at];
            let piece = Piece { item: line.item, part: 0 };
            context.began = context.began.or(line.at);
            match line.kind {
                SessionLineKind::Other => {
                    if !context.add(piece) {
                        early.push(piece);
                    }
                }
                SessionLineKind::Summary => {
                    context.begin_log(piece);
                    turn = None;
                }
                SessionLineKind::User => {
                    begin(&mut context, &mut early, piece);
                    turn = None;
                }
                SessionLineKind::Assistant | SessionLineKind::Result => {
                    let open: &mut Option<Turn> = &mut turn;
                    if open.as_ref().is_none_or(|turn| turn.is_full_before(line)) {
                        begin(&mut context, &mut early, piece);
                        *open = Some(Turn::default());
                    } else {
                        context.add(piece);
                    }
                    open.iter_mut().for_each(|turn| turn.add(line));
                }
            }
        }
        (!context.is_empty()).then_some(context)
    }
}

fn begin(context: &mut PlannedContext, early: &mut Vec<Piece>, piece: Piece) {
    let mut pieces = std::mem::take(early);
    pieces.push(piece);
    context.push(PlannedMessage::new(pieces, false));
}

/// The message of the assistant that is being put together.
#[derive(Default)]
struct Turn {
    bytes: u64,
    open: HashSet<String>,
    answer: Option<String>,
}

impl Turn {
    /// Whether a line begins another message, because this one is long and no call of it is open.
    fn is_full_before(&self, line: &SessionLine) -> bool {
        let is_new_answer = line.kind == SessionLineKind::Assistant && line.answer != self.answer;
        self.bytes > MESSAGE_BYTES_MAX && self.open.is_empty() && is_new_answer
    }

    fn add(&mut self, line: &SessionLine) {
        self.bytes += u64::from(line.bytes);
        self.open.extend(line.calls.iter().cloned());
        for result in &line.results {
            self.open.remove(result);
        }
        if line.kind == SessionLineKind::Assistant {
            self.answer = line.answer.clone();
        }
    }
}
