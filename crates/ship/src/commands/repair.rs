//! `ship repair`: heals what can be healed, and marks the rest as known.

use std::process::ExitCode;

use ship_agent::RunError;
use ship_message::json::{Json, Object};
use ship_store::{
    Chat, ChatKey, LogPiece, RepairEffect, Rotation, Seq, StorageProblem, StorageProblemKind,
    Store, View,
};

use super::frozen_holder::command_failure;
use super::verify;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The problems of all chats, before and after the repair.
#[derive(Default)]
struct RepairReport {
    chats: usize,
    /// The problems that were not known before.
    found: Vec<StorageProblem>,
    /// The problems that only a person can solve.
    left: Vec<StorageProblem>,
}

impl RepairReport {
    fn is_empty(&self) -> bool {
        self.found.is_empty() && self.left.is_empty()
    }
}

pub(crate) async fn run(session: &Session, dry_run: bool) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut report = RepairReport::default();
    let mut busy = None;
    for look in verify::chats_by_name(&*store).await? {
        report.chats += 1;
        match look.key {
            Err(problem) => report.left.push(problem),
            Ok(key) => match verify_and_repair(&*store, &key, dry_run, &mut report).await {
                Ok(()) => {}
                // All other chats are repaired before the command fails for this one.
                Err(failure) if failure.is_busy() => busy = busy.or(Some(failure)),
                Err(failure) => report.left.push(verify::unreadable_chat(&key, failure)),
            },
        }
    }
    verify::name_project(session, &mut report.found);
    verify::name_project(session, &mut report.left);
    if let Some(failure) = busy {
        if !session.json && !report.is_empty() {
            print(&report, dry_run)?;
        }
        return Err(failure);
    }
    let ok = report.left.is_empty();
    match session.json {
        true => print_json(&report, dry_run)?,
        false => print(&report, dry_run)?,
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn verify_and_repair(
    store: &dyn Store,
    key: &ChatKey,
    dry_run: bool,
    report: &mut RepairReport,
) -> Result<(), Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(()) };
    let found = chat.verify().await?;
    let (left, found): (Vec<_>, Vec<_>) = found
        .into_iter()
        .filter(|problem| !problem.is_reported)
        .partition(|problem| problem.repair == RepairEffect::Nothing);
    if dry_run || found.is_empty() {
        report.left.extend(left);
        report.found.extend(found);
        return Ok(());
    }
    repair(&*chat, &found).await.map_err(command_failure)?;
    report.found.extend(found);
    report.left.extend(chat.verify().await?.into_iter().filter(|problem| !problem.is_reported));
    Ok(())
}

/// Heals what can be healed and marks the rest as known. A chat that another process does not release in time
/// is not changed.
async fn repair(chat: &dyn Chat, found: &[StorageProblem]) -> Result<(), RunError> {
    let lane = chat.lane("repair").await?;
    chat.repair().await?;
    let damage = || found.iter().filter(|found| found.kind == StorageProblemKind::Damage);
    let is_damaged = |view: &View| {
        view.problems.iter().any(|left| damage().any(|found| found.place == left.place))
    };
    // The readable lines continue in a whole log, and the damaged log is kept in the archive.
    if let Some(view) = chat.log().view().await?.filter(is_damaged) {
        let (expected, pieces) =
            (Some(view.position.generation), vec![LogPiece::KeepFrom(Seq::new(0))]);
        let mut head = view.head;
        // An undo takes back the last operation, and not this repair.
        let left = head.sealed.clone();
        head.note_left_log(left.as_ref());
        lane.rotate(Rotation { expected, head, pieces }).await?;
    }
    let cannot_be_healed = chat.verify().await?;
    Ok(chat.acknowledge(cannot_be_healed).await?)
}

fn print_json(report: &RepairReport, dry_run: bool) -> Result<(), Failure> {
    let list =
        |problems: &[StorageProblem]| -> Vec<Json> { problems.iter().map(to_json).collect() };
    output::print_json(&Json::Object(Object::from([
        ("ok", Json::Bool(report.left.is_empty())),
        ("dryRun", dry_run.into()),
        ("found", list(&report.found).into()),
        ("left", list(&report.left).into()),
    ])))
}

fn to_json(problem: &StorageProblem) -> Json {
    let mut json = verify::to_json(problem);
    if let Some(object) = json.as_object_mut() {
        object.set("repair", problem.repair.name());
    }
    json
}

fn print(report: &RepairReport, dry_run: bool) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for problem in &report.found {
        let done = match (problem.repair, dry_run) {
            (RepairEffect::Heals, false) => "healed",
            (RepairEffect::Heals, true) => "would be healed",
            (RepairEffect::MarksKnown | RepairEffect::Nothing, false) => "known from now on",
            (RepairEffect::MarksKnown | RepairEffect::Nothing, true) => {
                "would be known from now on"
            }
        };
        let line = format!(
            "{} {}",
            verify::describe_problem(problem, style),
            style.dim(&format!("({done})"))
        );
        output::print_line(&table::wrap_text(&line, 2))?;
    }
    for problem in &report.left {
        verify::print_problem(problem, style)?;
    }
    let count = |effect| report.found.iter().filter(|found| found.repair == effect).count();
    let (healed, known) = (count(RepairEffect::Heals), count(RepairEffect::MarksKnown));
    output::print_line(&match (report.is_empty(), dry_run) {
        (true, _) => "Nothing to repair.".to_owned(),
        (_, true) => format!("{healed} to heal, {known} to mark as known. Nothing was changed."),
        (_, false) => {
            format!("{healed} healed, {known} marked as known, {} left.", report.left.len())
        }
    })
}
