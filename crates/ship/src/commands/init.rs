//! `ship init`: makes a folder a project.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_project::CreatedKind;

use crate::arguments::Arguments;
use crate::chat_flags::ChatFlags;
use crate::failure::Failure;
use crate::output;
use crate::session;
use crate::style::Style;
use crate::table;

pub(crate) fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    let root = match folder.or(arguments.project.as_deref()) {
        Some(folder) if folder.is_absolute() => folder.to_owned(),
        Some(folder) => session::current_folder()?.join(folder),
        None => session::current_folder()?,
    };
    // `init .` names the folder, and no dot behind it.
    let root: PathBuf = root.components().collect();
    let made = ship_project::init(&root)?;
    if arguments.json {
        let files: Vec<Json> = made
            .iter()
            .map(|made| {
                let file = made.path.display().to_string();
                Json::Object(Object::from([("file", file.as_str()), ("state", word(&made.kind))]))
            })
            .collect();
        output::print_json(&Json::Object(Object::from([("files", files)])))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    for made in &made {
        let name = made.path.strip_prefix(&root).unwrap_or(&made.path).display().to_string();
        output::print_line(&format!("  {:<12} {}", name, style.dim(word(&made.kind))))?;
    }
    let by_flag = arguments.project.as_deref().filter(|_| arguments.flags.project);
    let next = ChatFlags::of_folder(folder.or(by_flag)).add_to("ship chat");
    let next = format!("{} is a project. Next: {}", root.display(), style.bold(&next));
    output::print_line(&format!("\n{}", table::wrap_text(&next, 0)))?;
    Ok(ExitCode::SUCCESS)
}

fn word(kind: &CreatedKind) -> &'static str {
    match kind {
        CreatedKind::Created => "written",
        CreatedKind::Added(_) => "lines added",
        CreatedKind::Kept => "already there, unchanged",
    }
}
