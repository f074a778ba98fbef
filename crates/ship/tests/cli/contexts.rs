//! `ship context …`, `checkpoint`, `fork`, `rewind` and `undo` from a shell.

use ship_message::json::Json;

use crate::harness::{TestShip, array, echo, keys, message_text, number, text};

/// A chat that was about a database, and now is about dinner.
pub(crate) fn two_contexts() -> TestShip {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the database"]).text();
    let _ = ship.run(&["context", "new", "--title", "Dinner"]).text();
    let _ = ship.run(&["send", "soup?"]).text();
    ship
}

fn listed(ship: &TestShip) -> Json {
    ship.run(&["context", "list", "--json"]).json()
}

/// The titles of the contexts that were left.
pub(crate) fn archived(ship: &TestShip) -> Vec<String> {
    array(&listed(ship), "items").iter().map(|item| text(item, "title")).collect()
}

pub(crate) fn active(ship: &TestShip) -> Json {
    listed(ship).get("active").unwrap().clone()
}

/// What was said in the active context.
pub(crate) fn turns(ship: &TestShip) -> Vec<String> {
    let shown = ship.run(&["context", "show", "--json"]).json();
    array(&shown, "turns").iter().map(|turn| text(turn, "text")).collect()
}

#[test]
fn a_context_is_left_listed_and_come_back_to() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the database"]).text();
    let line = ship.run(&["context", "new", "--title", "Dinner"]).text();
    assert_eq!(
        line, "Now in “Dinner”. Left “plan the database”; to return: ship context load -\n",
        "the hint is a command that works here"
    );
    assert_eq!(turns(&ship), Vec::<String>::new());
    let _ = ship.run(&["send", "soup?"]).text();

    let out = ship.run(&["context", "list"]).text();
    let lines: Vec<&str> = out.lines().collect();
    let id = lines[1].rsplit(' ').next().unwrap();
    assert!(lines[0].starts_with("* Dinner             2 messages  active    c_"), "{out}");
    assert_eq!(lines[1], format!("  plan the database  2 messages  just now  {id}"), "{out}");
    assert_eq!(lines.len(), 2, "{out}");

    let line = ship.run(&["context", "load", id]).text();
    assert!(line.starts_with("Now in “plan the database”. Left “Dinner”; to return: ship "));
    assert_eq!(turns(&ship), ["plan the database", &echo("plan the database")]);
    assert_eq!(archived(&ship), ["Dinner"], "the active one is not among those that were left");
}

#[test]
fn the_words_behind_new_are_the_title_as_the_flag_is() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the database"]).text();
    let title = |arguments: &[&str]| {
        let _ = ship.run(&["send", "more"]).text();
        let _ = ship.run(arguments).text();
        text(&active(&ship), "title")
    };
    assert_eq!(title(&["context", "new", "Shopping"]), "Shopping");
    let reasoned = ["context", "new", "Dinner", "for", "eight", "--reason", "hungry"];
    assert_eq!(title(&reasoned), "Dinner for eight");
    assert_eq!(title(&["context", "new", "--title", "The trip"]), "The trip");
    assert_eq!(ship.run(&["context", "new", "Soup", "--title", "Salad"]).code(), 2);

    let _ = ship.piped(&["chat"], "more\n/new Sunday lunch\n").text();
    assert_eq!(text(&active(&ship), "title"), "Sunday lunch", "and so in a chat");
}

#[test]
fn a_context_is_found_by_words_by_the_beginning_of_its_id_and_as_the_last() {
    let ship = two_contexts();
    let load = |which: &[&str]| {
        let _ = ship.run(&[&["context", "load"], which].concat()).text();
        text(&active(&ship), "title")
    };
    assert_eq!(load(&["database"]), "plan the database");
    assert_eq!(load(&["-"]), "Dinner");
    assert_eq!(load(&["the", "database"]), "plan the database");
    let ids = |line: &str| line.split_whitespace().any(|word| word.starts_with("c_2"));
    let refused = ship.run(&["context", "load", "c_2"]).complaint();
    assert!(refused.starts_with("ship: Several contexts fit `c_2`:\n"), "{refused}");
    assert_eq!(refused.lines().filter(|line| ids(line)).count(), 2, "both are listed: {refused}");
}

#[test]
fn what_is_printed_for_programs_has_a_shape() {
    let ship = two_contexts();
    let list = listed(&ship);
    assert_eq!(keys(&list), ["active", "items"]);
    let known = ["contextId", "title", "createdAt", "updatedAt", "messageCount"];
    assert_eq!(keys(list.get("active").unwrap()), known);
    let item = &array(&list, "items")[0];
    let known = ["contextId", "title", "createdAt", "archivedAt", "messageCount", "summaryPreview"];
    assert_eq!(keys(item), known);
    assert!(number(item, "archivedAt") >= number(item, "createdAt"));

    let shown = ship.run(&["context", "show", "--json"]).json();
    let known = ["v", "contextId", "status", "createdAt", "updatedAt", "title", "turns", "meta"];
    assert_eq!(keys(&shown), known);
    assert_eq!((number(&shown, "v"), text(&shown, "status").as_str()), (1, "active"));
    assert_eq!(keys(&array(&shown, "turns")[0]), ["v", "ts", "role", "text"]);
    let meta = shown.get("meta").unwrap();
    assert_eq!(text(meta, "lastUserTextPreview"), "soup?");
    assert!(text(meta, "lastRequestId").starts_with("req_"), "{meta}");
    assert_eq!(text(meta, "project"), ship.root().display().to_string());
    assert_eq!(
        (text(meta, "chatKey").as_str(), text(meta, "activeBy").as_str()),
        ("terminal:main", "new")
    );
    assert!(number(meta, "activeSince") > 0);

    let left = ship.run(&["context", "show", "database", "--json"]).json();
    assert_eq!(
        (text(&left, "status"), text(&left, "archiveReason")),
        ("archived".into(), "new".into())
    );

    let done = ship.run(&["context", "load", "-", "--json"]).json();
    assert_eq!(keys(&done), ["operation", "active", "left", "chat", "line"]);
    assert_eq!(text(&done, "operation"), "load");
    assert_eq!(text(done.get("active").unwrap(), "title"), "plan the database");
    assert_eq!(keys(done.get("left").unwrap()), ["contextId", "title"]);
}

#[test]
fn what_fits_several_contexts_or_the_active_one_is_told_and_changes_nothing() {
    let ship = two_contexts();
    let before = listed(&ship);
    for command in ["load", "recall", "show"] {
        let told = ship.run(&["context", command, "c_"]).complaint();
        assert!(told.starts_with("ship: Several contexts fit `c_`:\n  c_"), "{told}");
        assert!(
            told.contains("\nhint: name one by its id; `ship context list` lists them"),
            "{told}"
        );
    }
    let title = text(&active(&ship), "title");
    let told = ship.run(&["context", "load", &title]).complaint();
    assert_eq!(told, format!("ship: You are already in “{title}”.\n"));
    assert_eq!(listed(&ship), before);
}

#[test]
fn what_fits_nothing_changes_nothing_and_offers_what_there_is() {
    let ship = two_contexts();
    let before = listed(&ship);
    for command in ["load", "recall", "show"] {
        let ran = ship.run(&["context", command, "moon"]);
        let told = ran.complaint();
        assert!(told.starts_with("ship: No archived context fits `moon`."), "{told}");
        assert!(told.contains("\n  c_") && told.contains("  plan the database\n"), "{told}");
        assert_eq!(ran.out(), "");
        let ran = ship.run(&["context", command, "moon", "--json"]);
        assert_eq!(ran.code(), 1);
        let printed = Json::parse(ran.out().trim_end()).unwrap();
        let error = printed.get("error").unwrap();
        assert_eq!(text(error, "code"), "not_done");
        assert_eq!(text(&array(error, "offered")[0], "title"), "plan the database");
    }
    assert_eq!(listed(&ship), before);
}

#[test]
fn the_first_command_of_a_project_may_name_its_first_context() {
    let ship = TestShip::new();
    assert_eq!(ship.run(&["context", "new", "Shopping"]).text(), "Now in “Shopping”.\n");
    assert!(ship.run(&["context", "list"]).text().contains("Shopping"));
    let _ = ship.run(&["send", "two loaves"]).text();
    assert_eq!(text(&active(&ship), "title"), "Shopping");
    let chat = TestShip::new();
    assert!(chat.piped(&["chat"], "/context new Shopping\n").text().contains("Now in “Shopping”."));
}

#[test]
fn what_cannot_be_done_is_told_and_changes_nothing() {
    let ship = TestShip::new();
    assert_eq!(ship.run(&["context", "list"]).text(), "Nothing was said yet.\n");
    assert_eq!(listed(&ship).to_string(), r#"{"active":null,"items":[]}"#);
    assert_eq!(ship.run(&["context", "show"]).text(), "Nothing was said yet.\n");
    let new = ship.run(&["context", "new"]).complaint();
    assert_eq!(new, "ship: Nothing was said in `terminal:main` yet.\n");
    let no_chat = ship.run(&["context", "list", "--chat", "terminal:none", "--json"]).error();
    assert_eq!(text(&no_chat, "code"), "no_chat");

    let _ = ship.run(&["send", "hello"]).text();
    let before = turns(&ship);
    for (arguments, expected) in [
        (&["undo"][..], "There is nothing to undo."),
        (&["rewind", "x"], "`ship checkpoint NAME` makes one"),
        (&["fork", "--at", "x"], "There is no message `x` here, and no checkpoint yet."),
        (&["context", "rename", " "], "A title needs"),
        (&["checkpoint", " "], "A checkpoint needs a name"),
        (&["context", "load", "-"], "There is no archived context yet."),
    ] {
        let told = ship.run(arguments).complaint();
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    let _ = ship.run(&["context", "new"]).text();
    assert!(ship.run(&["context", "clear"]).complaint().contains("clean already"));
    let _ = ship.run(&["undo"]).text();
    assert_eq!(turns(&ship), before);
    for arguments in [&["context"][..], &["context", "load"], &["context", "frob"], &["rewind"]] {
        assert_eq!(ship.run(arguments).code(), 2, "{arguments:?}");
    }
    assert_eq!(ship.run(&["context", "recall", "-", "--mode", "switch"]).code(), 2);
}

#[test]
fn every_command_has_help_with_examples() {
    let ship = TestShip::new();
    for arguments in [
        &["context"][..],
        &["context", "load"],
        &["context", "recall"],
        &["context", "new"],
        &["context", "show"],
        &["context", "rename"],
        &["checkpoint"],
        &["fork"],
        &["rewind"],
    ] {
        let out = ship.run(&[arguments, &["--help"]].concat()).text();
        assert!(out.contains("Example") && out.contains("  ship "), "{out}");
    }
    for arguments in [&["context", "list"][..], &["context", "clear"], &["undo"]] {
        assert!(ship.run(&[arguments, &["--help"]].concat()).text().contains("Usage: ship "));
    }
}

#[test]
fn show_says_which_project_chat_and_context_it_is_and_since_when_and_by_what() {
    let ship = two_contexts();
    let shown = |by: &str| {
        let out = ship.run(&["context", "show"]).text();
        let inspected = ship.run(&["inspect"]).text();
        let active = active(&ship);
        let (id, title) = (text(&active, "contextId"), text(&active, "title"));
        let root = ship.root().display().to_string();
        for expected in [
            format!("Project  {root}\n"),
            "Chat     terminal:main\n".to_owned(),
            format!("Context  {id} “{title}”"),
        ] {
            assert!(out.contains(&expected), "{expected:?}: {out}");
            assert!(inspected.contains(&expected), "{expected:?}: {inspected}");
        }
        let since = |out: &str| {
            let line = out.lines().find(|line| line.ends_with(&format!(", by {by}")));
            line.unwrap_or_else(|| panic!("not by {by}: {out}")).to_lowercase()
        };
        let inspected = since(&inspected);
        let (_, when) = inspected.rsplit_once("since ").unwrap();
        assert!(since(&out).ends_with(when), "both say the same");
    };
    shown("new");
    let _ = ship.run(&["context", "load", "database"]).text();
    shown("load");
    let _ = ship.run(&["context", "rename", "The", "plan"]).text();
    shown("load");
    assert_eq!(text(&active(&ship), "title"), "The plan");
    assert_eq!(ship.run(&["undo"]).text(), "The title is removed.\n");
    assert_eq!(text(&active(&ship), "title"), "plan the database");
    let _ = ship.run(&["context", "load", "-"]).text();
    let _ = ship.run(&["undo"]).text();
    shown("undo");
    let _ = ship.run(&["fork"]).text();
    shown("fork");
    let first = TestShip::new();
    let _ = first.run(&["send", "hello"]).text();
    assert!(first.run(&["context", "show"]).text().contains(", by first message\n"));
}

#[test]
fn a_recalled_context_is_shown_to_the_person_and_to_the_model_and_nothing_is_left() {
    let ship = two_contexts();
    let before = turns(&ship);
    let out = ship.run(&["context", "recall", "database"]).text();
    assert!(out.starts_with("“plan the database” is shown here, for reference.\n"), "{out}");
    assert!(out.contains("\nSummary\nAsked first: plan the database"), "{out}");
    assert_eq!(turns(&ship), before, "a reference is nothing that was said");
    let _ = ship.run(&["send", "which one?"]).text();
    let sees = ship.run(&["inspect", "--json"]).json();
    let messages = array(&sees, "messages");
    let asked = message_text(&messages[messages.len() - 2]);
    assert!(asked.starts_with("以下是历史归档 context"), "{asked}");
    assert!(asked.ends_with("which one?"), "{asked}");
    let out = ship.run(&["context", "load", "database", "--mode", "full"]).text();
    assert!(out.contains(&echo("plan the database")), "{out}");
    assert_eq!(text(&active(&ship), "title"), "Dinner");
    assert_eq!(ship.run(&["send", "and now?"]).text(), format!("{}\n", echo("and now?")));
}

#[test]
fn a_checkpoint_is_rewound_to_and_forked_from_and_undone() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    let line = ship.run(&["checkpoint", "early on"]).text();
    assert_eq!(line, "Checkpoint “early on” is here. To come back: ship rewind 'early on'\n");
    let _ = ship.run(&["send", "two"]).text();
    let late = turns(&ship);
    let _ = ship.run(&["rewind", "early on"]).text();
    assert_eq!(turns(&ship), late[..2]);
    let undone = |what: &str| {
        let line = ship.run(&["undo"]).text();
        assert!(line.starts_with(&format!("Undid {what}: now in “one")), "{line}");
        assert!(line.ends_with("”. `ship undo` again restores it.\n"), "{line}");
    };
    let back = ship.run(&["undo"]).text();
    assert!(back.starts_with("Your messages are back: now in “one"), "{back}");
    assert!(back.ends_with("”. `ship undo` takes them back again.\n"), "{back}");
    assert_eq!(turns(&ship), late);
    undone("the last `ship undo`");
    assert_eq!(turns(&ship), late[..2], "undone once more, it is done again");
    undone("the last `ship undo`");
    let _ = ship.run(&["fork", "--at", "early on"]).text();
    assert_eq!(turns(&ship), late[..2]);
    undone("`ship fork`");
    let line = ship.run(&["undo", "--project", "."]).text();
    assert!(line.starts_with("Undid the last `ship undo`: "), "{line}");
    assert!(line.ends_with(" `ship undo --project .` again restores it.\n"), "{line}");
    undone("the last `ship undo`");
    let _ = ship.run(&["fork"]).text();
    assert_eq!(turns(&ship), late);
    assert_eq!(ship.run(&["verify"]).text(), "1 chat, nothing wrong.\n");
}

#[test]
fn a_copy_in_another_chat_goes_on_by_itself() {
    let ship = TestShip::new();
    for said in ["one", "two"] {
        let _ = ship.run(&["send", said]).text();
    }
    let there = ["--chat", "terminal:try it"];
    let line = ship.run(&["fork", "--to", there[1]]).text();
    assert_eq!(
        line,
        "Copied to the chat `terminal:try it` as “one (copy)”; this chat is unchanged. \
         To go there: ship chat --chat 'terminal:try it'\n"
    );
    for said in ["three", "four", "five"] {
        let answer = ship.run(&["send", said, there[0], there[1]]).text();
        assert_eq!(answer, format!("{}\n", echo(said)));
    }
    let line = ship.run(&["context", "new", there[0], there[1]]).text();
    assert!(line.trim_end().ends_with(" --chat 'terminal:try it'"), "{line}");
    let _ = ship.run(&["send", "six", there[0], there[1]]).text();
    let history = |chat: &str| -> Vec<String> {
        let lines = ship.run(&["history", "--json", "--last", "99", "--chat", chat]).json_lines();
        let asked = lines.iter().filter(|message| text(message, "role") == "user");
        asked.map(message_text).collect()
    };
    assert_eq!(history(there[1]), ["one", "two", "three", "four", "five", "six"]);
    assert_eq!(history("terminal:main"), ["one", "two"]);
    let again = ship.run(&["fork", "--to", there[1]]).complaint();
    assert!(again.contains("already has a context"), "{again}");
    assert_eq!(ship.run(&["verify"]).text(), "2 chats, nothing wrong.\n");
}

#[test]
fn history_has_everything_once_and_in_order_wherever_it_was_said() {
    let ship = two_contexts();
    let _ = ship.run(&["context", "recall", "-"]).text();
    let _ = ship.run(&["context", "load", "database"]).text();
    let _ = ship.run(&["send", "which port?"]).text();
    let _ = ship.run(&["fork"]).text();
    let _ = ship.run(&["send", "and over TLS?"]).text();
    let _ = ship.run(&["rewind", "u_2"]).text();
    let _ = ship.run(&["context", "load", "Dinner"]).text();
    let _ = ship.run(&["send", "with bread"]).text();
    let expected: Vec<(String, String)> =
        ["plan the database", "soup?", "which port?", "and over TLS?", "with bread"]
            .iter()
            .flat_map(|said| [("user".into(), (*said).into()), ("assistant".into(), echo(said))])
            .collect();
    assert_eq!(ship.said(), expected);
    for last in 1..=10 {
        let lines = ship.run(&["history", "--json", "--last", &last.to_string()]).json_lines();
        let texts: Vec<String> = lines.iter().map(message_text).collect();
        let newest = expected[10 - last..].iter().map(|(_, text)| text.clone());
        assert_eq!(texts, newest.collect::<Vec<_>>(), "the last {last}");
    }
}

#[test]
fn a_chat_has_the_messages_of_all_its_contexts_each_once() {
    let ship = TestShip::new();
    let count = || {
        let chats = ship.run(&["chats", "--json"]).json();
        number(&array(&chats, "chats")[0], "messageCount")
    };
    let said = |text: &str| drop(ship.run(&["send", text]).text());
    said("plan the database");
    said("which port?");
    assert_eq!(count(), 4);
    for (arguments, expected) in [
        (&["context", "new"][..], 4),
        (&["send", "soup?"], 6),
        (&["context", "load", "-"], 6),
        (&["fork"], 6),
        (&["context", "recall", "-"], 6),
        (&["send", "and TLS?"], 8),
        (&["undo"], 8),
        (&["checkpoint", "early"], 8),
        (&["rewind", "early"], 8),
        (&["undo"], 8),
    ] {
        let _ = ship.run(arguments).text();
        assert_eq!(count(), expected, "{arguments:?}");
    }
    assert_eq!(ship.said().len(), 8, "as many as the history has");
    let shown = ship.run(&["context", "show", "-"]).text();
    assert!(shown.contains("messages in this context\n"), "{shown}");
}

#[test]
fn a_history_marks_where_one_context_ends_and_another_begins() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the database"]).text();
    assert!(!ship.run(&["history"]).text().contains('—'), "there is one context");
    let _ = ship.run(&["context", "new", "--title", "Dinner"]).text();
    let _ = ship.run(&["send", "soup?"]).text();
    let _ = ship.run(&["context", "load", "-"]).text();
    let _ = ship.run(&["send", "which port?"]).text();
    let out = ship.run(&["history"]).text();
    let is_mark = |line: &&str| line.starts_with('—');
    assert_eq!(
        out.lines().filter(is_mark).collect::<Vec<_>>(),
        ["— in “Dinner”, left just now —", "— in “plan the database”, the active context —"],
        "{out}"
    );
    assert!(out.contains("—\n\nuser "), "a mark stands by itself: {out}");
    let newest = ship.run(&["history", "--last", "2"]).text();
    assert!(!newest.contains('—'), "{newest}");
}

#[test]
fn a_list_is_as_long_as_was_asked_for_and_says_that_there_is_more() {
    let ship = TestShip::new();
    for said in ["one", "two", "three", "four"] {
        let _ = ship.run(&["send", said]).text();
        let _ = ship.run(&["context", "new"]).text();
    }
    let out = ship.run(&["context", "list", "--limit", "2"]).text();
    assert!(out.contains("\n  four ") && out.contains("\n  three "), "{out}");
    assert!(
        !out.contains("\n  two ")
            && out.ends_with("and 2 more; `ship context list --limit N` lists them\n")
    );
    let in_chat = ship.piped(&["chat"], "/context list --limit 2\n").text();
    assert_eq!(in_chat, out.replace("`ship context", "`/context"));
    let list = ship.run(&["context", "list", "--limit", "3", "--json"]).json();
    assert_eq!(array(&list, "items").len(), 3);
}

#[test]
fn turned_off_contexts_are_neither_tools_nor_in_the_prompt() {
    let tools = |ship: &TestShip| -> Vec<String> {
        let sees = ship.run(&["inspect", "--json"]).json();
        let system: String =
            array(&sees, "system").iter().map(|block| text(block, "text")).collect();
        let mut names: Vec<String> =
            array(&sees, "tools").iter().map(|tool| text(tool, "name")).collect();
        names.retain(|name| name.starts_with("chat_context_") || name == "chat_checkpoint");
        assert_eq!(system.contains("chat_context_new"), !names.is_empty(), "{system}");
        names
    };
    assert_eq!(tools(&TestShip::new()).len(), 7);
    let off = TestShip::with_settings(r#"{ "context": { "contexts": { "enabled": false } } }"#);
    assert_eq!(tools(&off), Vec::<String>::new());
    let _ = off.run(&["send", "hello"]).text();
    let refused = off.run(&["context", "new"]);
    assert!(refused.err().contains("`context.contexts.enabled` is false"), "{}", refused.err());
    assert_eq!(archived(&off), Vec::<String>::new());
}
