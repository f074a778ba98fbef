//! `ship repair`: heals what can be healed, and marks the rest as known.

use std::process::ExitCode;

use ship_agent::{Agent, RepairReport, plan_repair};
use ship_message::json::{Json, Object};
use ship_store::{ChatKey, RepairEffect, StorageProblem, Store};

use super::frozen_holder::command_failure;
use super::verify;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

pub(crate) async fn run(session: &Session, dry_run: bool) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut report = RepairReport::default();
    let mut busy = None;
    for look in verify::chats_by_name(&*store).await? {
        let key = match look.key {
            Ok(key) => key,
            Err(problem) => {
                report.left.push(problem);
                continue;
            }
        };
        let planned = plan(&*store, &key).await;
        let repaired = match planned.as_ref().is_ok_and(|planned| !planned.found.is_empty()) {
            // The model must be there that answers what has waited meanwhile.
            true if !dry_run => repair(&session.agent_in(&key).await?, &key).await,
            _ => planned,
        };
        match repaired {
            Ok(RepairReport { found, left }) => {
                report.found.extend(found);
                report.left.extend(left);
            }
            // All other chats are repaired before the command fails for this one.
            Err(failure) if failure.is_busy() => busy = busy.or(Some(failure)),
            Err(failure) => report.left.push(verify::unreadable_chat(&key, failure)),
        }
    }
    verify::name_project(session, &mut report.found);
    verify::name_project(session, &mut report.left);
    if let Some(failure) = busy {
        if !session.json && !is_empty(&report) {
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

async fn plan(store: &dyn Store, key: &ChatKey) -> Result<RepairReport, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(RepairReport::default()) };
    Ok(plan_repair(&*chat).await?)
}

async fn repair(agent: &Agent, key: &ChatKey) -> Result<RepairReport, Failure> {
    let repaired = agent.repair(key).await;
    // This command prints them itself.
    drop(agent.take_repairs());
    agent.flush_log();
    repaired.map_err(command_failure)
}

fn is_empty(report: &RepairReport) -> bool {
    report.found.is_empty() && report.left.is_empty()
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
    output::print_line(&match (is_empty(report), dry_run) {
        (true, _) => "Nothing to repair.".to_owned(),
        (_, true) => format!("{healed} to heal, {known} to mark as known. Nothing was changed."),
        (_, false) => {
            format!("{healed} healed, {known} marked as known, {} left.", report.left.len())
        }
    })
}
