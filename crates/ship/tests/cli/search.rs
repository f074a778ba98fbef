//! `ship search`, `/search`, and what is opened from there.

use ship_message::json::Json;

use crate::harness::{TestShip, array, keys, number, text};

fn hits(ship: &TestShip, arguments: &[&str]) -> Vec<Json> {
    let found = ship.run(&[arguments, &["--json"]].concat()).json();
    assert_eq!(keys(&found), ["hits", "complete", "from"]);
    assert_eq!(found.get("complete"), Some(&Json::Bool(true)));
    array(&found, "hits").to_vec()
}

/// The hits that have the words themselves, with their places. Others were said beside them.
fn found(ship: &TestShip, arguments: &[&str]) -> Vec<(String, String)> {
    let place = |hit: &Json| (text(hit, "messageId"), text(hit, "where"));
    hits(ship, arguments).iter().filter(|hit| has_words(hit)).map(place).collect()
}

fn has_words(hit: &Json) -> bool {
    !array(hit, "marks").is_empty()
}

/// A chat with a sealed log, an archived context and a live one.
fn long_chat() -> TestShip {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "the zebra is in the harbour"]).text();
    let _ = ship.run(&["send", "the giraffe is on deck"]).text();
    ship.seal(1);
    let _ = ship.run(&["context", "new", "Dinner"]).text();
    let _ = ship.run(&["send", "soup with a walrus"]).text();
    ship
}

#[test]
fn what_was_said_is_found_in_every_place_of_a_chat() {
    let ship = long_chat();
    for (words, place) in [("zebra", "context"), ("giraffe", "context"), ("walrus", "live")] {
        let all = found(&ship, &["search", "--role", "user", words]);
        assert_eq!(all.len(), 1, "{words}: each once: {all:?}");
        assert_eq!(all[0].1, place, "{words}");
    }
    ship.seal(1);
    assert_eq!(found(&ship, &["search", "--role", "user", "walrus"])[0].1, "sealed");
    let hit = &hits(&ship, &["search", "zebra"])[0];
    let fields =
        ["messageId", "contextId", "chatKey", "where", "role", "ts", "score", "snippet", "marks"];
    assert_eq!(keys(hit), fields);
    assert_eq!(text(hit, "chatKey"), "terminal:main");
    let mark = array(hit, "marks")[0].clone();
    let ends: Vec<u64> = mark.as_array().unwrap().iter().filter_map(Json::as_u64).collect();
    let snippet: Vec<char> = text(hit, "snippet").chars().collect();
    assert_eq!(snippet[ends[0] as usize..ends[1] as usize].iter().collect::<String>(), "zebra");

    let shown = ship.run(&["search", "walrus"]).text();
    assert!(
        shown.contains("soup with a walrus") && shown.contains("ship history --around"),
        "{shown}"
    );
    assert_eq!(ship.run(&["search", "unicorn"]).text(), "Nothing was found.\n");
    let typed = ship.piped(&["chat"], "/search walrus\n").text();
    assert!(typed.contains("soup with a walrus"), "{typed}");
}

#[test]
fn a_hit_is_shown_to_the_model_with_what_was_said_around_it() {
    let ship = long_chat();
    let id = text(&hits(&ship, &["search", "zebra", "--role", "user"])[0], "messageId");
    let found = ship.run(&["search", "zebra", "--role", "user"]).text();
    let way = format!(
        "\nship history --around {id} shows it, ship context recall --around {id} shows it to the model.\n"
    );
    assert!(found.ends_with(&way), "{found}");
    let live = ship.run(&["search", "walrus", "--role", "user"]).text();
    assert!(!live.contains("ship context recall"), "the model sees it: {live}");
    let said = ship.said();
    let shown = ship.run(&["context", "recall", "--around", &id]).text();
    let line =
        format!("`{id}` is shown here with what was said around it, for reference.\n\n#{id} [");
    assert!(shown.starts_with(&line) && shown.contains("the giraffe is on deck"), "{shown}");
    assert_eq!(ship.said(), said, "a reference is nothing that was said");
    let _ = ship.run(&["send", "where is it?"]).text();
    let sees = ship.run(&["inspect", "--json"]).out();
    assert!(sees.contains(&format!("- messageId: {id}")), "{sees}");
    let _ = ship.run(&["undo"]).text();
    let changed = ship.run(&["context", "recall", "--around", &id, "--json"]).json();
    assert_eq!(text(&changed, "operation"), "recall");
    let error = ship.run(&["context", "recall", "--around", "u_999", "--json"]).error();
    assert_eq!(text(&error, "code"), "not_done");
    assert_eq!(text(&error, "hint"), "`ship search WORDS` finds messages and tells their ids");
    for wrong in [&["recall"][..], &["recall", "x", "--around", &id]] {
        assert_eq!(ship.run(&[&["context"], wrong].concat()).code(), 2, "{wrong:?}");
    }
}

#[test]
fn a_search_is_limited_by_role_context_time_and_number() {
    let ship = long_chat();
    assert_eq!(found(&ship, &["search", "walrus"]).len(), 2, "the question and its echo");
    for side in ["user", "assistant"] {
        let hits = hits(&ship, &["search", "walrus", "--role", side]);
        assert!(!hits.is_empty() && hits.iter().all(|hit| text(hit, "role") == side), "{hits:?}");
    }
    assert_eq!(found(&ship, &["search", "walrus", "--limit", "1"]).len(), 1);
    assert_eq!(found(&ship, &["search", "walrus", "--since", "2001-01-01"]).len(), 2);
    assert_eq!(found(&ship, &["search", "walrus", "--until", "2001-01-01"]).len(), 0);
    let context = text(&hits(&ship, &["search", "zebra"])[0], "contextId");
    assert_eq!(found(&ship, &["search", "walrus", "--context", &context]).len(), 0);
    assert_eq!(
        found(&ship, &["search", "giraffe", "--context", &context, "--role", "user"]).len(),
        1
    );
    for wrong in [["--since", "soon"], ["--role", "cook"], ["--context", "x"], ["--limit", "0"]] {
        assert_eq!(ship.run(&[&["search", "walrus"][..], &wrong].concat()).code(), 2, "{wrong:?}");
    }
}

#[test]
fn a_search_in_all_chats_shows_a_copy_where_it_was_said() {
    let ship = long_chat();
    let _ = ship.run(&["fork", "--to", "terminal:copy"]).text();
    let _ = ship.run(&["send", "a walrus of its own", "--chat", "copy"]).text();
    let chats = |arguments: &[&str]| -> Vec<String> {
        let mut chats: Vec<String> = hits(&ship, arguments)
            .iter()
            .filter(|hit| has_words(hit))
            .map(|hit| text(hit, "chatKey"))
            .collect();
        chats.sort();
        chats
    };
    let both = ["terminal:copy", "terminal:main"];
    assert_eq!(chats(&["search", "walrus", "--all-chats", "--role", "user"]), both);
    assert_eq!(
        chats(&["search", "walrus", "--chat", "copy", "--role", "user"]),
        [both[0], both[0]]
    );
}

#[test]
fn a_hit_is_opened_with_what_was_said_around_it() {
    let ship = long_chat();
    let hit = &hits(&ship, &["search", "zebra", "--role", "user"])[0];
    let id = text(hit, "messageId");
    let around = ship.run(&["history", "--around", &id, "--last", "3", "--json"]).json_lines();
    let ids: Vec<String> = around.iter().map(|message| text(message, "id")).collect();
    assert!(ids.len() == 2 && ids[0] == id, "nothing stands before it: {ids:?}");
    let shown = ship.run(&["history", "--around", &id]).text();
    assert!(shown.contains("zebra") && shown.contains("walrus"), "{shown}");
    let error = ship.run(&["history", "--around", "u_999", "--json"]).error();
    assert_eq!(text(&error, "code"), "no_message");
    let _ = ship.run(&["rewind", &id]).text();
    let left = ship.run(&["context", "show", "--json"]).json();
    assert_eq!(number(left.get("meta").unwrap(), "messageCount"), 1);
}

#[test]
fn a_question_that_is_too_long_is_cut_and_says_so() {
    let ship = long_chat();
    let long: String = (0..10_000).map(|n| format!("w{n} ")).collect();
    let ran = ship.run(&["search", "--json", &format!("zebra {long}")]);
    assert!(ran.err().contains("only its beginning"), "{}", ran.err());
    let found = ran.json();
    assert_eq!(found.get("complete"), Some(&Json::Bool(false)));
    assert!(!array(&found, "hits").is_empty());
}
