//! Contexts in `ship chat`: the same commands with a slash, and what is told of what others do.

use ship_message::json::Json;

use crate::contexts::{active, archived, turns, two_contexts};
use crate::harness::{TestShip, echo, keys, text};

/// The lines that tell of a switch to a context.
fn told_of(out: &str, title: &str) -> Vec<String> {
    let told = format!("Now in “{title}”. Left ");
    out.lines().filter(|line| line.contains(&told)).map(str::to_owned).collect()
}

#[test]
fn a_switch_that_the_model_makes_is_told_once_on_a_line_of_its_own() {
    let switch = r#"/tool chat_context_new {"title":"Dinner"}"#;
    let ship = TestShip::new();
    let out = ship.piped(&["chat"], format!("plan the database\n{switch}\nsoup?\n")).text();
    let told = told_of(&out, "Dinner");
    assert_eq!(told.len(), 1, "{out}");
    assert!(
        told[0]
            .starts_with("Now in “Dinner”. Left “plan the database”; to return: /context load -")
    );
    assert_eq!(turns(&ship).len(), 4, "the message that switched is answered there, and the next");

    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the database"]).text();
    let ran = ship.run(&["send", switch]);
    assert_eq!(told_of(&ran.text(), "Dinner"), Vec::<String>::new());
    let told = told_of(&ran.err(), "Dinner");
    assert_eq!(told.len(), 1, "{}", ran.err());
    assert!(told[0].ends_with("to return: ship context load -)"), "{told:?}");
}

#[test]
fn what_is_done_elsewhere_while_a_chat_is_open_is_told_there_once() {
    let ship = TestShip::new();
    let mut chat = ship.start(&["chat"]);
    chat.say("plan the database");
    chat.until(&format!("{}\n", echo("plan the database")));
    let line = ship.run(&["context", "new", "--title", "Dinner"]).text();
    assert_eq!(chat.line(), line.replace("ship context load", "/context load"));
    chat.say("/context load -");
    assert_eq!(chat.line(), "Now in “plan the database”.\n", "nothing was said in the other");
    chat.say("and now?");
    chat.until(&format!("{}\n", echo("and now?")));
    assert_eq!(chat.finish(), "", "nothing is told twice");
}

#[test]
fn everything_can_be_done_in_a_chat_and_what_is_meant_otherwise_is_told() {
    let ship = TestShip::new();
    let script = "plan the database\n/checkpoint early\nwhich port?\n/rewind early\n/undo\n/fork early\n\
                  /context rename The copy\n/context new Dinner\nsoup?\n/context recall copy\n\
                  /context clear\n/context load moon\n/context load\n/context lod x\n/context\n\
                  /context show dinner\n";
    let ran = ship.piped(&["chat"], script);
    let out = ran.out() + &ran.err();
    for expected in [
        "Checkpoint “early” is here. To come back: /rewind early\n",
        "This context is now “The copy”.\n",
        "“The copy” is shown here, for reference.\n",
        "No archived context fits `moon`. The newest are:\n  c_",
        "Which one? An id, words of it, or - for the one left last.\n",
        "/context takes list, show, new, load, recall, clear, rename or undo; /help tells more.\n",
        "\n* Context of ",
        "“Dinner”\n",
    ] {
        assert!(out.contains(expected), "{expected:?} is not in {out}");
    }
    for expected in [
        "Back at “early”. What followed is kept in “plan the database”; to return: /context load -",
        "Now in a copy of “plan the database” up to “early”; to return: /context load -",
    ] {
        assert!(out.contains(expected), "{expected:?} is not in {out}");
    }
    assert_eq!(archived(&ship), ["Dinner", "The copy", "plan the database"]);
    assert_eq!(ship.said().len(), 6, "commands are not said to the agent");
}

#[test]
fn flags_behind_the_commands_of_a_chat_are_those_of_the_shell() {
    let ship = TestShip::new();
    let script = "plan the database\n/checkpoint early\nwhich port?\n/fork --at early\n\
                  /new --title Dinner --reason too late\nsoup?\n/context recall database --mode full\nand?\n\
                  /context load database --mode summary\nwell?\n/context new --title Supper --reason hunger\n\
                  bread\n/context list --limit 1\n/compact --dry-run\n/fork --to terminal:try\n\
                  /context load - --mode switch\n/search database\n/context recall --around u_2\n";
    let out = ship.piped(&["chat"], script).text();
    for expected in [
        "Now in a copy of “plan the database” up to “early”; to return: /context load -\n",
        "Now in “Dinner”. Left “plan the database (copy up to ‘early’)”; to return: /context load -\n",
        "  and 2 more; `/context list --limit N` lists them\n",
        "Nothing would be compacted: 2 messages would stay.\n",
        "Copied to the chat `terminal:try` as “Supper (copy)”; this chat is unchanged.",
        "Now in “Dinner”. Left “Supper”; to return: /context load -\n",
        "shows it, /context recall --around ",
        "`u_2` is shown here with what was said around it, for reference.\n\n#u_2 [",
    ] {
        assert!(out.contains(expected), "{expected:?} is not in {out}");
    }
    let recalled = "“plan the database (copy up to ‘early’)” is shown here, for reference.\n\n";
    let shown: Vec<&str> = out.split(recalled).skip(1).collect();
    assert!(shown[0].starts_with("user 2"), "all of it: {}", shown[0]);
    assert!(!shown[1].starts_with("user 2"), "a summary: {}", shown[1]);
    let reason = |which: &str| {
        text(&ship.run(&["context", "show", which, "--json"]).json(), "archiveReason")
    };
    assert_eq!(reason("up to"), "too late");
    let undone = ship.piped(&["chat"], "/compact --undo\n");
    assert_eq!(undone.err(), "ship: there is no compaction to undo\n");
}

#[test]
fn undo_takes_back_the_last_thing_be_it_a_command_or_an_exchange() {
    let ship = TestShip::new();
    let told = |script: &str| -> Vec<String> {
        let ran = ship.piped(&["chat"], script);
        let out = ran.err() + &ran.out();
        out.lines().filter(|line| !line.starts_with("I am the")).map(str::to_owned).collect()
    };
    // A switch that is long ago is not undone by surprise: the exchange since is.
    let lines = told("plan the database\n/context new Dinner\nsoup?\nsalt?\n/undo\n");
    assert_eq!(lines[1], "Took back “salt?” and its answer. /undo brings it back.");
    assert_eq!(turns(&ship), ["soup?", &echo("soup?")]);
    let lines = told("/undo\n");
    assert_eq!(lines, ["Your messages are back: now in “Dinner”. /undo takes them back again."]);
    assert_eq!(turns(&ship).len(), 4);
    let lines = told("/undo 2\n/undo\n");
    let taken = "Took back your last 2 messages, from “soup?” on. /undo brings it back.";
    let undone = "Your messages are back: now in “Dinner”. /undo takes them back again.";
    assert_eq!(lines, [taken, undone]);
    let lines = told("/undo 3\n/checkpoint early\n/undo\n");
    assert_eq!(
        lines[0],
        "ship: There are fewer than 3 messages of yours here. Nothing has changed."
    );
    assert_eq!(lines[2], "The checkpoint “early” is removed.");
    assert_eq!(turns(&ship).len(), 4);
}

#[test]
fn a_program_reads_lines_of_json_from_a_chat_also_about_contexts() {
    let ship = two_contexts();
    let ran = ship.piped(&["chat", "--json"], "/context load -\n/context load moon\n/context\n");
    assert_eq!(ran.code(), 1, "one of them was refused");
    let out = ran.out();
    let lines: Vec<Json> = out.lines().map(|line| Json::parse(line).unwrap()).collect();
    assert_eq!(text(&lines[0], "operation"), "load");
    assert_eq!(text(lines[1].get("error").unwrap(), "code"), "not_done");
    assert_eq!(keys(&lines[2]), ["active", "items"]);
}

#[test]
fn a_run_that_waits_for_a_word_goes_along_into_a_new_context() {
    let settings = r#"{ "tools": { "approval": ["chat_send"] } }"#;
    let ship = TestShip::with_settings(settings);
    let _ = ship.run(&["send", "plan the database"]).text();
    let script = "/tool chat_send {\"text\":\"the parcel\"}\n/context new Dinner\ny\n";
    let out = ship.piped(&["chat"], script).text();
    assert_eq!(told_of(&out, "Dinner").len(), 1, "{out}");
    assert_eq!(out.matches("\nthe parcel\n").count(), 1, "{out}");
    assert_eq!(text(&active(&ship), "title"), "Dinner");
}
