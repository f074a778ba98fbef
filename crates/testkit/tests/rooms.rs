//! Rooms: the modules of a crate use one another in one direction only.
//!
//! Each crate, and the folder `provider/wire`, has its modules in an order, as data below. A module uses those that
//! stand behind it in the list, and none that stands before it; so a reader who knows a room need not know the rooms
//! above it. Tests inside a module may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of each crate, the highest first.
const CRATES: &[(&str, &str)] = &[
    (
        "agent",
        "project import conversation explain history chats news run contexts compact request inbox engine search \
         conversation_log tokens records chat built_in_tools tool context_tool_input \
         error events run_notice context_operation reply id_source inbound outbound digest blocking_work \
         recent_map memory_budget project_source \
         rules run_log stop tool_schema",
    ),
    (
        "bench",
        "compact compact_soak contexts contexts_soak idle import injuries_soak large many message message_soak \
         provider provider_soak queue real_model_soak search store_soak strict_hosts_soak subscribers tokens \
         two_processes_soak real_chat real_hosts ship processor store talk tests report terminal traced",
    ),
    (
        "context",
        "last_answer open_request recovery shown_messages tokens contexts journal text_for_user \
         system_blocks closed_message compact budget search shown_references cut_text",
    ),
    ("exchange", "conversation_file formats message_builder plan written items file_format"),
    (
        "message",
        "assemble attached_text data_url prune serde convert partial chunk model validate ui json names",
    ),
    (
        "project",
        "logs project_root text_cache skills system_texts init project edit load provider_choice file_reader settings \
         secrets",
    ),
    (
        "provider",
        "http offline cached_sequence model_windows overflow recipe compile error wire host_forms request",
    ),
    (
        "record",
        "serde clock durability notice metadata ledger logged_line sealed_log view context_line head carry storage_problem sealed_name ids \
         timestamp text_file explanation",
    ),
    (
        "ship",
        "commands process session chat_flags text_for_user arguments markdown progress_line output failure style table pager pipe",
    ),
    (
        "store",
        "conversation file rules disk chat_folder scan store index_files records chat context_log derived ledger run_records \
         chat_list store_future import clock changes error line rotation",
    ),
    (
        "testkit",
        "tested allocations contract histories llm texts two_processes scripted_model random sample shim example sweep chat power map_store interleaving clock search_sets sim runtime summary terminal",
    ),
];

/// The rooms inside rooms, likewise: the folder by crate and module.
const FOLDERS: &[(&str, &str)] = &[(
    "provider/wire",
    "openai anthropic prompt sdk_compat anthropic_message anthropic_block prompt_message provider_options \
     file_content json_text error",
)];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/testkit").to_owned()
}

/// A crate or a folder as far as its rooms go: how low each module stands, and which module each name of its root comes
/// from. `path` is the path of the root, as code writes it.
struct Modules {
    folder: PathBuf,
    path: String,
    depth: BTreeMap<String, usize>,
    exports: BTreeMap<String, String>,
}

impl Modules {
    fn of(name: &str, rooms: &str) -> Self {
        let (name, inner) = name.split_once('/').unwrap_or((name, ""));
        let sources = workspace().join("crates").join(name).join("src");
        let depth = rooms.split(' ').map(str::to_owned).zip(0..).collect();
        let (folder, path, roots) = match inner {
            "" => (
                sources.clone(),
                "crate::".to_owned(),
                ["lib.rs", "main.rs"].map(PathBuf::from).to_vec(),
            ),
            inner => (
                sources.join(inner),
                format!("crate::{inner}::"),
                vec![Path::new(inner).with_extension("rs")],
            ),
        };
        let root = roots.iter().find_map(|root| fs::read_to_string(sources.join(root)).ok());
        Self { folder, path, depth, exports: exports(&code(&root.expect("modules have a root"))) }
    }

    /// The module that a name at the root of the crate leads to.
    fn module<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        let name = if self.depth.contains_key(name) { name } else { self.exports.get(name)? };
        self.depth.contains_key(name).then_some(name)
    }

    /// What a file uses that stands above it, a sentence each.
    fn back_arrows(&self, file: &Path, text: &str) -> Vec<String> {
        let near = file.with_extension("");
        let place: Vec<&str> = near.iter().filter_map(|part| part.to_str()).collect();
        let own = place[0];
        let above = |name: &String| {
            let module = self.module(name)?;
            let what = if module == name { String::new() } else { format!("`{name}` of ") };
            (self.depth[module] < self.depth[own]).then(|| {
                format!("`{}` uses {what}`{module}`, which is above `{own}`", file.display())
            })
        };
        roots_used(&code(text), &self.path, place.len()).iter().filter_map(above).collect()
    }
}

/// The files of a folder and of those in it, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                found.push(path.strip_prefix(folder).expect("inside").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Source code without comments, texts and tests.
fn code(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => text_len(rest, "\"", true),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#") => {
                let marks = rest[1..].chars().take_while(|mark| *mark == '#').count();
                match rest[1 + marks..].starts_with('"') {
                    true => {
                        let end = format!("\"{}", "#".repeat(marks));
                        1 + marks + text_len(&rest[1 + marks..], &end, false)
                    }
                    false => 0,
                }
            }
            '\'' if rest[1..].starts_with(['"', '/']) => 3,
            '#' if rest.starts_with("#[cfg(test)]") => test_len(rest),
            _ => 0,
        };
        if skipped == 0 {
            code.push(first);
        }
        rest = &rest[skipped.max(first.len_utf8())..];
    }
    code
}

/// How long the text is that begins here, with its quotes.
fn text_len(source: &str, end: &str, has_escapes: bool) -> usize {
    let mut at = 1;
    while at < source.len() && !source[at..].starts_with(end) {
        let escaped = has_escapes && source[at..].starts_with('\\');
        at += usize::from(escaped);
        at += source[at..].chars().next().map_or(1, char::len_utf8);
    }
    (at + end.len()).min(source.len())
}

/// How long the item is that is only there in tests: up to the end of its block, which stands at the line's beginning,
/// or to its semicolon.
fn test_len(source: &str) -> usize {
    let line_end = source.find(";\n").map_or(source.len(), |at| at + 1);
    let block = source.find("{\n").unwrap_or(source.len());
    match block < line_end {
        true => source.find("\n}\n").map_or(source.len(), |at| at + 2),
        false => line_end,
    }
}

/// The names at the root that code uses, by `path` and by `super::`. `depth` is how deep its file is below the root.
fn roots_used(code: &str, path: &str, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    for (at, first) in code.match_indices(path).chain(code.match_indices("super::")) {
        let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let mut rest = &code[at + first.len()..];
        let mut up = usize::from(first == "super::");
        while let Some(further) = rest.strip_prefix("super::") {
            rest = further;
            up += 1;
        }
        if is_whole && (first == path || up == depth) {
            names.extend(first_names(rest));
        }
    }
    names
}

/// The names that a path goes on with: one, or those of a group.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut names, mut open) = (vec![name(group)], 0);
    for (at, mark) in group.char_indices() {
        match mark {
            '{' => open += 1,
            '}' if open == 0 => break,
            '}' => open -= 1,
            ',' if open == 0 => names.push(name(&group[at + 1..])),
            _ => {}
        }
    }
    // A group may end with a comma.
    names.retain(|name| !name.is_empty());
    names
}

/// The names that a crate's root gives on, each with its module.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let mut names = path.split(|c: char| !c.is_alphanumeric() && c != '_');
        let Some(module) = names.next() else { continue };
        exports.extend(names.map(|name| (name.to_owned(), module.to_owned())));
    }
    exports
}

#[test]
fn no_arrow_between_rooms_points_back() {
    let mut problems = Vec::new();
    for (name, rooms) in CRATES.iter().chain(FOLDERS) {
        let modules = Modules::of(name, rooms);
        for file in files(&modules.folder).iter().filter(|file| has_room(&modules, file)) {
            let text = fs::read_to_string(modules.folder.join(file)).expect("a source");
            let arrows = modules.back_arrows(file, &text);
            problems.extend(arrows.into_iter().map(|arrow| format!("{name}: {arrow}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn has_room(modules: &Modules, file: &Path) -> bool {
    first_module(file).is_some_and(|own| modules.depth.contains_key(own))
}

/// The room of a file.
fn first_module(file: &Path) -> Option<&str> {
    file.iter().next().and_then(|part| Path::new(part).file_stem()?.to_str())
}

#[test]
fn every_module_has_a_room_and_every_room_a_module() {
    let mut problems = Vec::new();
    let crates = fs::read_dir(workspace().join("crates")).expect("crates");
    for folder in crates.map(|entry| entry.expect("an entry").path()).filter(|it| it.is_dir()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
        if !CRATES.iter().any(|(known, _)| *known == name) {
            problems.push(format!("the crate `{name}` has no rooms"));
        }
    }
    for (name, rooms) in CRATES.iter().chain(FOLDERS) {
        let modules = Modules::of(name, rooms);
        for file in files(&modules.folder) {
            let is_root = ["lib.rs", "main.rs"].iter().any(|root| file == Path::new(root));
            let is_program = file.starts_with("bin");
            if !is_root && !is_program && !has_room(&modules, &file) {
                problems.push(format!("{name}: `{}` has no room", file.display()));
            }
        }
        for module in modules.depth.keys() {
            if !modules.folder.join(format!("{module}.rs")).exists() {
                problems.push(format!("{name}: the room `{module}` has no module"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The Rust files of a folder, none when there is no such folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

/// Whether a file of tests is compiled: as a program that the manifest names, or as a module of the file above it.
fn is_compiled(file: &Path, manifest: &str) -> bool {
    let name = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
    let folder = file.parent().expect("a folder of tests");
    let own = name(file).expect("a name");
    let program = if own == "main" { name(folder).expect("a name") } else { own.clone() };
    let is_named = |key: &str, value: &str| manifest.contains(&format!("{key} = \"{value}\""));
    let above = [folder.join("main.rs"), folder.with_extension("rs")];
    !manifest.contains("autotests = false")
        || is_named("name", &program)
        || is_named("path", &format!("tests/{own}.rs"))
        || above.iter().any(|above| {
            let above = fs::read_to_string(above).unwrap_or_default();
            above.lines().any(|line| line == format!("mod {own};"))
        })
}

#[test]
fn every_file_of_tests_is_compiled() {
    let mut forgotten = Vec::new();
    for (name, _) in CRATES {
        let folder = workspace().join("crates").join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let tests = folder.join("tests");
        let inner = fs::read_dir(&tests).into_iter().flatten();
        let folders = inner.map(|entry| entry.expect("an entry").path()).chain([tests.clone()]);
        let files = folders.flat_map(|folder| sources(&folder));
        forgotten.extend(files.filter(|file| !is_compiled(file, &manifest)));
    }
    assert!(forgotten.is_empty(), "no `mod` and no `[[test]]` names {forgotten:?}");
}

/// A table of rooms in ARCHITECTURE.md: each room with the last cell of its row.
struct RoomTable {
    section: String,
    rows: Vec<(String, String)>,
}

impl RoomTable {
    /// The table of a crate; the developers' crates have none.
    fn of(name: &str) -> Option<Self> {
        let map = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("the map");
        let heading = format!("\n### {name}\n");
        let (_, section) = map.split_once(&heading)?;
        let section = section.split("\n#").next().expect("a section").to_owned();
        let mut rows = Vec::new();
        for line in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let (first, last) = (cells[0], cells[cells.len() - 1]);
            let rooms = first.split(", ").map(|room| room.trim_matches('`'));
            rows.extend(rooms.map(|room| (room.to_owned(), last.to_owned())));
        }
        Some(Self { section, rows })
    }
}

#[test]
fn the_map_has_the_rooms_of_each_crate_in_their_order() {
    for (name, rooms) in CRATES.iter().filter(|(name, _)| !["bench", "testkit"].contains(name)) {
        let table = RoomTable::of(name).unwrap_or_else(|| panic!("the map has no table of {name}"));
        let ordered: Vec<&str> = table.rows.iter().map(|(room, _)| room.as_str()).collect();
        let rooms: Vec<&str> = rooms.split(' ').collect();
        // Below the table of the agent stand its leaves, in a sentence.
        let (in_table, leaves) = match *name {
            "agent" => rooms.split_at(ordered.len()),
            _ => (&rooms[..], &rooms[..0]),
        };
        assert_eq!(ordered, in_table, "the table of {name}");
        let missing = leaves.iter().filter(|leaf| !table.section.contains(&format!("`{leaf}`")));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new(), "leaves of {name}");
    }
}

#[test]
fn the_map_has_the_arrows_between_the_rooms_of_the_agent() {
    let (_, rooms) = CRATES.iter().find(|(name, _)| *name == "agent").expect("the agent");
    let modules = Modules::of("agent", rooms);
    let table = RoomTable::of("agent").expect("the table of the agent");
    let mut problems = Vec::new();
    for (room, uses) in &table.rows {
        let mut used = BTreeSet::new();
        for file in files(&modules.folder).iter().filter(|file| first_module(file) == Some(room)) {
            let text = code(&fs::read_to_string(modules.folder.join(file)).expect("a source"));
            let names = roots_used(&text, &modules.path, file.iter().count());
            used.extend(names.iter().filter_map(|name| modules.module(name)).map(str::to_owned));
        }
        let others = table.rows.iter().map(|(other, _)| other.as_str());
        let used: Vec<&str> =
            others.filter(|other| other != room && used.contains(*other)).collect();
        let used = if used.is_empty() { "leaves".to_owned() } else { used.join(", ") };
        if *uses != used {
            problems.push(format!("`{room}` uses {used}; the map says {uses}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The source file that a short path of the map stands for.
fn source_of(short: &str) -> Option<String> {
    let (name, rest) = short.split_once('/')?;
    fs::read_to_string(workspace().join("crates").join(name).join("src").join(rest)).ok()
}

/// The texts between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether source code has an item or a public field of this name.
fn defines(source: &str, name: &str) -> bool {
    let items = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let has = |start: &str| {
        source.match_indices(start).any(|(at, _)| is_end(&source[at + start.len()..]))
    };
    items.iter().any(|item| has(&format!("{item} {name}")))
        || source.contains(&format!("pub {name}: "))
}

/// What a piece of the map names that its files do not have, a sentence each. `is_name` tells names of code from others.
fn stale_names(piece: &str, is_name: impl Fn(&str) -> bool) -> Vec<String> {
    let (paths, names): (Vec<&str>, Vec<&str>) =
        quoted(piece).partition(|text| text.contains('/') && text.ends_with(".rs"));
    let missing = paths.iter().filter(|path| source_of(path).is_none());
    let missing = missing.map(|path| format!("there is no `{path}`"));
    let sources: Vec<String> = paths.iter().filter_map(|path| source_of(path)).collect();
    let owners =
        piece.split(" of ").skip(1).map(|rest| rest.split([',', ';', ' ']).next().unwrap_or(rest));
    let owners = owners.filter(|owner| owner.starts_with(|c: char| c.is_ascii_uppercase()));
    let is_stale = |name: &&str| !sources.iter().any(|source| defines(source, name));
    let no_owner = |owner: &&str| !sources.iter().any(|source| source.contains(owner));
    let stale = names.into_iter().filter(|name| is_name(name)).filter(is_stale);
    let stale = stale.chain(owners.filter(no_owner));
    missing.chain(stale.map(|name| format!("`{name}` is in none of {paths:?}"))).collect()
}

/// The functions of a walk, each as a piece with the path in front of it.
fn steps(walk: &str) -> impl Iterator<Item = String> {
    let parts: Vec<&str> = walk.split('`').collect();
    let is_step = |at: &usize| parts[*at].ends_with(".rs") && parts[at + 1].trim().is_empty();
    let starts: Vec<usize> = (1..parts.len() - 2).step_by(2).filter(is_step).collect();
    starts.into_iter().map(move |at| format!("`{}` `{}`", parts[at], parts[at + 2]))
}

#[test]
fn every_file_and_function_that_the_map_names_is_there() {
    let map = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("the map");
    let section = |heading: &str| {
        let (_, rest) = map.split_once(heading).expect("a heading");
        rest.split("\n## ").next().expect("a section")
    };
    let mut stale = Vec::new();
    let rows = section("\n## Where is … decided?\n").lines().filter(|line| line.starts_with("| "));
    // The question may name anything.
    for (_, answer) in rows.filter_map(|row| row.trim_matches('|').split_once(" | ")) {
        stale.extend(stale_names(answer, |_| true));
    }
    for walk in section("\n## Walks\n").split("\n### ").skip(1) {
        // Words with a capital may be the cases of a decision.
        let is_function = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        stale.extend(stale_names(walk, is_function));
        stale.extend(steps(walk).flat_map(|step| stale_names(&step, |_| true)));
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
    for wrong in [
        "`agent/run/gone.rs`",
        "`agent/run/step.rs` `gone`",
        "`agent/run/step.rs` `ask_model` of Gone",
    ] {
        assert_eq!(stale_names(wrong, |_| true).len(), 1, "{wrong}");
        assert_eq!(steps(&format!("1. {wrong} does.")).count(), wrong.matches(' ').count().min(1));
    }
}

#[test]
fn arrows_are_found_in_every_form_of_a_path_and_only_in_code() {
    let modules = Modules {
        folder: PathBuf::new(),
        path: "crate::".to_owned(),
        depth: ["run", "chat", "error"].into_iter().map(str::to_owned).zip(0..).collect(),
        exports: exports("pub use run::{Agent, Stop};"),
    };
    let arrows = |text: &str| modules.back_arrows(Path::new("chat/ledger.rs"), text).len();
    for back in [
        "use crate::run::step;",
        "use crate::{error::RunError, run::{step, lane}};",
        "use crate::Agent;",
        "fn f() { crate::run::step() }",
        "use super::super::run::step;",
    ] {
        assert_eq!(arrows(back), 1, "{back}");
    }
    for forward in [
        "use crate::error::RunError;",
        "use super::run::Local;",
        "use crate::{chat::Line, error::RunError};",
        "// crate::run::step",
        "const A: &str = \"crate::run::step \\\" crate::run\";",
        "const A: &str = r#\"crate::run\"#;",
        "#[cfg(test)]\nmod tests {\n    use crate::run::step;\n}\n",
    ] {
        assert_eq!(arrows(forward), 0, "{forward}");
    }
    let inner = Modules { path: "crate::wire::".to_owned(), ..modules };
    let arrows = |text: &str| inner.back_arrows(Path::new("chat/ledger.rs"), text).len();
    assert_eq!(arrows("use crate::wire::run::step;"), 1);
    assert_eq!(arrows("use super::super::run::step;"), 1);
    assert_eq!(arrows("use crate::run::step;"), 0);
}
