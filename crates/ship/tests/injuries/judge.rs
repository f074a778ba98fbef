//! One case: an injury, a few commands, a repair, and what must hold after each.

use std::collections::BTreeSet;

use ship_message::json::Json;
use ship_testkit::random::Random;

use crate::chat::Base;
use crate::injury::Injury;
use crate::listed::Listed;
use crate::project::{Project, Ran};
use crate::readable::{self, CHAT, Messages};
use crate::told::{Told, told};

/// A file of a chat, and what happens to it.
pub(crate) struct Case<'a> {
    pub(crate) base: &'a Base,
    pub(crate) file: String,
    pub(crate) injury: Injury,
    /// Its number among all cases, which with the seed decides about its commands.
    pub(crate) number: u64,
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = self.file.strip_prefix(CHAT).unwrap_or(&self.file);
        write!(f, "chat {}, {file}: {}", self.base.name, self.injury)
    }
}

/// The commands from which each case takes a few. Each of them gets `--json`.
pub(crate) const COMMANDS: [&[&str]; 21] = [
    &["chats"],
    &["history"],
    &["history", "--ledger"],
    &["inspect"],
    &["inspect", "--requests"],
    &["context", "list"],
    &["context", "show"],
    &["context", "show", "-"],
    &["context", "new"],
    &["context", "load", "-"],
    &["context", "load", "Long stories"],
    &["context", "recall", "-"],
    &["context", "rename", "Something else"],
    &["checkpoint", "now"],
    &["fork"],
    &["compact", "--dry-run"],
    &["compact"],
    &["compact", "--undo"],
    &["undo"],
    &["verify"],
    &["repair", "--dry-run"],
];
/// How many of them a case runs before its repair.
const COMMANDS_RUN: usize = 3;

/// Judges one case. Says everything that is wrong.
pub(crate) fn judge(case: &Case<'_>, seed: u64) -> Vec<String> {
    let project = case.base.project.copy();
    let before = std::fs::read(project.path(&case.file)).unwrap();
    let older = case.base.older.get(&case.file).map_or(&[][..], Vec::as_slice);
    match case.injury.inflict(&before, older) {
        None => std::fs::remove_file(project.path(&case.file)).unwrap(),
        Some(after) if after == before => return Vec::new(),
        Some(after) => std::fs::write(project.path(&case.file), after).unwrap(),
    }
    let told = told(&project, &case.file, &case.injury, &before);
    let readable = readable::messages(&project);
    let history = history(&project);
    let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(case.number));
    let listed = Listed::look(&project, &case.file, &mut random);
    let mut judging = Judging {
        project,
        told,
        readable,
        history,
        listed,
        wrong: Vec::new(),
        refused: Vec::new(),
        questions: 0,
        commands: Vec::new(),
    };
    judging.before_repair(&case.file, &mut random);
    judging.repair();
    judging.after_repair();
    if !judging.wrong.is_empty() {
        judging.wrong.push(format!("the commands: {}", judging.commands.join("; ")));
    }
    judging.wrong
}

struct Judging {
    project: Project,
    told: Told,
    /// What could be read right after the injury, and what was shown of it.
    readable: Messages,
    history: Option<BTreeSet<String>>,
    listed: Option<Listed>,
    wrong: Vec<String>,
    /// Commands that were refused for the injury.
    refused: Vec<&'static [&'static str]>,
    questions: usize,
    /// All commands that were run, for the report.
    commands: Vec<String>,
}

impl Judging {
    fn before_repair(&mut self, file: &str, random: &mut Random) {
        let verified = self.run(&["verify", "--json"]);
        if self.told != Told::Nothing && !names(&verified, file) {
            self.wrong.push(format!("verify does not name {file}: {verified}"));
        }
        let question_at = random.below(COMMANDS_RUN + 1);
        for turn in 0..=COMMANDS_RUN {
            if turn == question_at {
                self.ask(random.percent(50), true);
            } else {
                let command = *random.one(&COMMANDS);
                self.command(command, true);
            }
        }
        let verified = self.run(&["verify", "--json"]);
        if self.told == Told::UntilRepaired && verified.code == Some(0) {
            self.wrong.push(format!("nothing was repaired, and verify is content: {verified}"));
        }
    }

    fn repair(&mut self) {
        let before = self.project.files();
        let ran = self.run(&["repair", "--dry-run"]);
        if ran.code != Some(0) {
            self.wrong.push(format!("a dry repair failed: {ran}"));
        }
        if self.project.files() != before {
            self.wrong.push("a dry repair changed something".to_owned());
        }
        let ran = self.run(&["repair"]);
        if ran.code != Some(0) {
            self.wrong.push(format!("the repair failed: {ran}"));
        }
        self.check_readable("repair");
        let verified = self.run(&["verify"]);
        if verified.code != Some(0) {
            self.wrong.push(format!("verify complains after a repair: {verified}"));
        }
    }

    fn after_repair(&mut self) {
        for command in std::mem::take(&mut self.refused) {
            self.command(command, false);
        }
        self.ask(false, false);
        if let Some(shown) = &self.history {
            let now = history(&self.project).unwrap_or_default();
            let lost: Vec<_> = shown.difference(&now).take(2).collect();
            if !lost.is_empty() {
                self.wrong.push(format!("`ship history` does not show any more: {lost:?}"));
            }
        }
        let listed = self.listed.as_ref().map(|listed| listed.check(&self.project));
        self.wrong.extend(listed.unwrap_or_default());
    }

    /// Runs a command and says if it did not end as it should.
    fn run(&mut self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    fn run_with(&mut self, arguments: &[&str], input: &str) -> Ran {
        let ran = self.project.run(arguments, input);
        self.commands.push(arguments.join(" "));
        self.wrong.extend(ran.bad_end());
        ran
    }

    /// Runs one of the commands. Before the repair it may be refused, with a remedy.
    fn command(&mut self, command: &'static [&'static str], may_refuse: bool) {
        let ran = self.run(&[command, &["--json"]].concat());
        self.check_readable(&command.join(" "));
        if ran.code == Some(0) || command == ["verify"] {
            return;
        }
        let refusal = ran.error();
        if refusal.is_ordinary() {
            return;
        }
        if !may_refuse {
            self.wrong.push(format!("still refused after the repair: {ran}"));
        } else if refusal.hint.contains("ship repair") {
            self.refused.push(command);
        } else {
            self.wrong.push(format!("no remedy that can be followed: {ran}"));
        }
    }

    /// Sends a message, which must be answered with its own answer.
    fn ask(&mut self, in_chat: bool, may_refuse: bool) {
        self.questions += 1;
        let question = format!("question {} of the sweep", self.questions);
        let ran = if in_chat {
            self.run_with(&["chat"], &format!("{question}\n"))
        } else {
            self.run(&["send", &question])
        };
        self.check_readable(if in_chat { "chat" } else { "send" });
        let answer = format!("You said: {question}");
        if ran.code == Some(0) && ran.out.trim_end().ends_with(&answer) {
            return self.check_answered_once(&question, &answer);
        }
        if !(may_refuse && ran.code == Some(1) && ran.error().hint.contains("ship repair")) {
            self.wrong.push(format!("the question was not answered: {ran}"));
        }
    }

    fn check_answered_once(&mut self, question: &str, answer: &str) {
        let now = readable::messages(&self.project);
        for (what, words) in
            [("question", format!("\"text\":\"{question}\"")), ("answer", format!("{answer}\""))]
        {
            let count =
                now.iter().filter(|(ledger, text)| *ledger && text.contains(&words)).count();
            if count != 1 {
                self.wrong.push(format!("the {what} is {count} times in the ledger"));
            }
        }
    }

    fn check_readable(&mut self, command: &str) {
        let now = readable::messages(&self.project);
        let lost: Vec<_> = self.readable.difference(&now).take(2).collect();
        if !lost.is_empty() {
            self.wrong
                .push(format!("after `ship {command}` it is not readable any more: {lost:?}"));
            self.readable = self.readable.intersection(&now).cloned().collect();
        }
    }
}

/// Whether `verify` complains and names the file, or the folder of its chat.
fn names(verified: &Ran, file: &str) -> bool {
    let Ok(json) = Json::parse(verified.out.trim_end()) else { return false };
    let problems = json.get("problems").and_then(Json::as_array).unwrap_or_default();
    let named = problems.iter().filter_map(|problem| problem.get("file")?.as_str());
    verified.code == Some(1)
        && named.into_iter().any(|named| file.contains(named) || named.contains(file))
}

/// The texts that `ship history` shows, of messages or of the ledger; `None` when it refuses.
fn history(project: &Project) -> Option<BTreeSet<String>> {
    let mut shown = BTreeSet::new();
    for kind in [&["history"][..], &["history", "--ledger"]] {
        let ran = project.run(&[kind, &["--json", "--last", "100000"]].concat(), "");
        if ran.code != Some(0) {
            return None;
        }
        shown.extend(ran.out.lines().filter_map(|line| text(&Json::parse(line).ok()?)));
    }
    Some(shown)
}

/// The text of a message or of an entry.
fn text(json: &Json) -> Option<String> {
    let Some(parts) = json.get("parts").and_then(Json::as_array) else {
        return json.get("text").and_then(Json::as_str).map(str::to_owned);
    };
    Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
}
