//! Every request that was made can be written again, byte for byte, whatever has changed since.

use ship_message::json::Json;
use ship_store::{FileStore, Store as _, StoreOptions};
use ship_testkit::llm::{Answer, Format, Piece, Received, Speech, Status};

use crate::harness::{array, number, text};
use crate::images::{no_pictures, show_picture};
use crate::world::{World, assert_says, wait};

/// The requests on record, the oldest first.
#[track_caller]
fn recorded(world: &World) -> Vec<Json> {
    world.ship.run(&["inspect", "--requests", "--last", "1000", "--json"]).json_lines()
}

/// Every body that the server received is on record in its order, and is printed again as it was.
#[track_caller]
fn assert_explained(world: &World) -> Vec<Json> {
    let (records, received) = (recorded(world), world.server.requests());
    let ids: Vec<String> = records.iter().map(|record| text(record, "id")).collect();
    assert_eq!(ids.len(), received.len(), "one record for each body: {ids:?}");
    for (id, Received { body, .. }) in ids.iter().zip(received) {
        let printed = world.ship.run(&["inspect", "--request", id, "--raw"]);
        assert_eq!(printed.err(), "", "{id}");
        assert_eq!(printed.out(), String::from_utf8_lossy(&body), "{id}");
    }
    records
}

/// What the record says of the request before.
fn difference(record: &Json) -> Option<String> {
    record.get("stable")?.get("difference")?.as_str().map(str::to_owned)
}

fn stable_tokens(record: &Json) -> u64 {
    record.get("stable").map_or(0, |stable| number(stable, "tokens"))
}

fn total_tokens(record: &Json) -> u64 {
    record.get("tokens").map_or(0, |tokens| number(tokens, "total"))
}

/// A message that is answered in three steps.
fn work(world: &World, number: usize) {
    let say = |text: &str| Piece::call("chat_send", format!(r#"{{"text":"{text} {number}"}}"#));
    world.server.then(Speech::new([say("One"), say("Two")]));
    world.server.then(Speech::new([Piece::Text("Almost. ".to_owned()), say("Three")]));
    world.server.then(Answer::text(format!("Done {number}.")));
    let _ = world.answer("Tell everyone.");
}

#[test]
fn every_step_is_printed_again_after_an_edit_and_a_provider_switch() {
    let world = World::new(Format::OpenAi);
    world.ship.write("Agent.md", "You are a sailor.");
    work(&world, 1);
    work(&world, 2);
    world.ship.write("Agent.md", "You are a cook.");
    work(&world, 3);
    world.switch(Format::Anthropic, r#""retries": 0, "temperature": 0.3"#);
    work(&world, 4);
    work(&world, 5);
    let records = assert_explained(&world);
    let differences: Vec<Option<String>> = records.iter().map(difference).collect();
    let mut wanted = vec![None; 15];
    wanted[0] = Some("first request".to_owned());
    wanted[6] = Some("system block Agent.md changed".to_owned());
    wanted[9] = Some("anthropic/model-of-tests instead of openai/model-of-tests".to_owned());
    assert_eq!(differences, wanted);
    for (at, pair) in records.windows(2).enumerate() {
        let (before, stable) = (total_tokens(&pair[0]), stable_tokens(&pair[1]));
        match at + 1 {
            // What stands before the block that was edited is the same.
            6 => assert!(stable > 0 && stable < before / 2 + before / 4, "{stable} of {before}"),
            9 => assert_eq!(stable, 0, "no model reads another's cache"),
            // All of it, as far as rounding goes.
            at => assert!(stable + stable / 20 >= before, "{at}: {stable} of {before}"),
        }
    }
}

#[test]
fn a_person_reads_what_was_sent_and_what_came_of_it() {
    let world = World::new(Format::OpenAi);
    work(&world, 1);
    let first = text(&recorded(&world)[0], "id");
    let listed = world.ship.run(&["inspect", "--requests"]).text();
    assert_says(&listed, &[&first, "repeated", "tool-calls", "stop"]);
    let shown = world.ship.run(&["inspect", "--request", &first]).text();
    assert_says(
        &shown,
        &[&first, "rebuilt byte for byte", "openai/model-of-tests", "tokens in (", "Messages"],
    );
    let request_id = text(&recorded(&world)[0], "requestId");
    let last = world.ship.run(&["inspect", "--request", &request_id, "--json"]).json();
    let request = last.get("request").expect("a request");
    assert_eq!(text(request, "id"), text(&recorded(&world)[2], "id"), "the last one for it");
    assert_eq!(array(request, "others").len(), 2, "{request}");
    assert_eq!(request.get("equal"), Some(&Json::from(true)), "{request}");
    let system: u64 = array(&last, "system").iter().map(|block| number(block, "tokens")).sum();
    assert_eq!(last.get("tokens").map(|tokens| number(tokens, "system")), Some(system));
    assert_eq!(array(&last, "messages").len(), 2, "the question, and what was said so far");
    let next = world.ship.run(&["inspect", "--json"]).json();
    let stable = next.get("stable").expect("what it has in common with the last");
    assert_eq!(stable.get("difference"), Some(&Json::Null), "{stable}");
}

#[test]
fn what_is_not_on_record_and_what_is_lost_is_said_plainly() {
    let world = World::new(Format::OpenAi);
    world.server.then(Answer::text("Aye."));
    let _ = world.answer("Hello.");
    let told = world.ship.run(&["inspect", "--request", "q_none"]).complaint();
    assert_says(&told, &["there is no request `q_none`", "ship inspect --requests"]);
    let told = world.ship.run(&["inspect", "--raw"]).complaint();
    assert_says(&told, &["--request ID"]);
    let id = text(&recorded(&world)[0], "id");
    std::fs::remove_dir_all(world.ship.root().join(".ship/blobs")).expect("there are blobs");
    let shown = world.ship.run(&["inspect", "--request", &id]).text();
    assert_says(&shown, &["cannot be rebuilt", "the tools cannot be read", "Hello."]);
    let raw = world.ship.run(&["inspect", "--request", &id, "--raw"]);
    assert_eq!((raw.code(), raw.out().as_str()), (1, ""));
    let raw = world.ship.run(&["inspect", "--request", &id, "--raw", "--json"]);
    assert_eq!(text(&raw.error(), "code"), "not_explained");
}

#[test]
fn a_body_that_is_not_the_one_that_went_out_is_told_by_the_digest() {
    let world = World::new(Format::OpenAi);
    world.server.otherwise(Answer::text("Aye."));
    let _ = world.answer("Hello.");
    record_another(&world, "q_changed");
    let shown = world.ship.run(&["inspect", "--request", "q_changed"]).text();
    assert_says(&shown, &["NOT as it was sent", "Hello."]);
    let raw = world.ship.run(&["inspect", "--request", "q_changed", "--raw"]);
    assert_eq!(raw.code(), 1);
    assert_says(&raw.err(), &["NOT as it was sent"]);
    assert_says(&raw.out(), &[r#""max_tokens":1,"#]);
}

/// Records the last request again, under another id and with another limit of the answer.
fn record_another(world: &World, id: &str) {
    wait(async {
        let store = FileStore::new(&world.ship.root(), StoreOptions::default()).expect("a store");
        let key = "terminal:main".parse().expect("a key");
        let chat = store.open(&key).await.expect("it can be opened").expect("it is there");
        let mut record = chat.runs().requests(2).await.expect("it can be read").remove(0);
        record.set("id", id);
        record.set("maxTokens", 1u64);
        let lane = chat.lane("a test").await.expect("nobody has it");
        lane.record_request(record).await.expect("written");
    });
}

#[test]
fn a_picture_that_was_refused_and_the_request_without_it_are_both_on_record() {
    for format in crate::world::BOTH {
        let world = World::new(format);
        world.server.otherwise(Answer::text("All is well."));
        let _ = world.answer("Hello.");
        show_picture(&world);
        world.server.then(no_pictures());
        world.server.then(Answer::text("I cannot see it."));
        let _ = world.answer("What is in the picture?");
        let _ = world.answer("And now?");
        let records = assert_explained(&world);
        let differences: Vec<Option<String>> = records.iter().skip(1).map(difference).collect();
        let files = Some("files".to_owned());
        assert_eq!(differences, [None, files.clone(), files], "{format:?}");
        let refused = records[1].get("answer").expect("an answer");
        assert_eq!(text(refused, "error"), "refused");
    }
}

#[test]
fn a_field_under_its_new_name_is_on_record() {
    let world = World::new(Format::OpenAi);
    let refusal = br#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
    let status = Status { status: 400, headers: Vec::new(), body: refusal.to_vec() };
    world.server.then(Answer::Status(status.header("content-type", "application/json")));
    world.server.otherwise(Answer::text("Aye."));
    let _ = world.answer("Hello.");
    let records = assert_explained(&world);
    assert_eq!(records.len(), 2);
    assert_eq!(difference(&records[1]), None, "a cache sees no difference");
    let recipe = records[1].get("recipe").expect("a recipe");
    assert_eq!(text(recipe, "maxTokensField"), "max_completion_tokens");
}

#[test]
fn a_loaded_skill_is_the_first_difference() {
    let world = World::new(Format::Anthropic);
    world.ship.write(
        ".ship/skills/knots/SKILL.md",
        "---\nname: knots\ndescription: Ties knots.\n---\nTie a bowline.",
    );
    world.server.then(Speech::new([Piece::call("skills_load", r#"{"name":"knots"}"#)]));
    world.server.then(Answer::text("Tied."));
    let _ = world.answer("Tie it.");
    world.server.then(Answer::text("Still tied."));
    let _ = world.answer("And now?");
    let records = assert_explained(&world);
    let differences: Vec<Option<String>> = records.iter().map(difference).collect();
    assert_says(differences[1].as_deref().unwrap_or_default(), &["system block", "knots new"]);
    assert_eq!(differences[2], None, "it stays loaded");
}

#[test]
fn an_unanswered_request_is_on_record_too() {
    let world = World::new(Format::OpenAi);
    world.server.then(ship_testkit::llm::faults::reset_mid_call());
    let _ = world.sentence("Tell me.");
    let records = assert_explained(&world);
    let answer = records[0].get("answer").expect("an answer");
    assert!(!text(answer, "error").is_empty(), "{answer}");
    world.assert_goes_on();
    let records = assert_explained(&world);
    assert_eq!(difference(&records[records.len() - 1]), None, "it goes on where it was");
}

#[test]
fn a_run_that_was_killed_on_its_way_is_explained_before_and_after_it_ends() {
    let world = World::new(Format::Anthropic);
    world.server.then(Speech::new([Piece::call("skills_list", "{}")]));
    world.server.then(ship_testkit::llm::faults::stall_mid_text());
    let send = world.ship.start(&["send", "First?"]);
    world.wait_for(2);
    send.kill();
    let records = assert_explained(&world);
    assert_eq!(records[1].get("answer"), Some(&Json::Null), "nobody knows what came of it");
    world.server.then(Answer::text("The first answer."));
    world.server.then(Answer::text("The second answer."));
    assert_eq!(world.answer("Second?"), "The second answer.");
    let records = assert_explained(&world);
    let differences: Vec<Option<String>> = records.iter().skip(1).map(difference).collect();
    assert_eq!(differences, [None, None, None], "each only adds to the one before");
}

#[test]
fn what_was_sent_before_a_compaction_is_printed_again_after_it() {
    let others = r#", "context": { "history": { "keepLastMessages": 2 } }"#;
    let world = World::of(Format::Anthropic, r#""retries": 0, "window": 50000"#, others);
    world.server.otherwise(Answer::judge(|exchange| {
        match exchange.body.to_string().contains("You keep the memory of a long chat") {
            true => Answer::summary(),
            false => Answer::text("Aye."),
        }
    }));
    for nth in 0..3 {
        let _ = world.answer(&format!("{nth}: {}", "the ship sails at dawn ".repeat(40)));
    }
    let made = world.ship.run(&["compact", "--json"]).json();
    assert_eq!(made.get("compacted").map(|made| text(made, "rung")).as_deref(), Some("summary"));
    let _ = world.answer("And now?");
    let records = assert_explained(&world);
    let differences: Vec<Option<String>> = records.iter().map(difference).collect();
    assert_eq!(differences[4].as_deref(), Some("compacted"), "{differences:?}");
    assert!(
        records[3].get("instruction").is_some(),
        "the call for the summary is on record as well"
    );
    let last = text(&records[4], "id");
    let shown = world.ship.run(&["inspect", "--request", &last]).text();
    assert_says(&shown, &["Compact", "summary; 4 messages became a summary", "compacted"]);
    let json = world.ship.run(&["inspect", "--request", &last, "--json"]).json();
    let request = json.get("request").expect("a request");
    assert_eq!(text(&array(request, "compactions")[0], "rung"), "summary", "{request}");
}
