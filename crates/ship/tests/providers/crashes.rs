//! `ship` is killed while it works: every question is answered once, and no tool runs twice.

use ship_testkit::llm::{Answer, Format, Piece, Speech, faults};
use ship_testkit::shim::{CHANGES, Fault, counted_calls, shim};

use crate::harness::talk;
use crate::world::{World, assert_says, both};

#[test]
fn killed_in_the_middle_of_an_answer_the_question_is_answered_by_the_next_send() {
    both(|format| {
        let world = World::new(format);
        world.server.then(faults::stall_mid_text());
        let send = world.ship.start(&["send", "First?"]);
        world.wait_for(1);
        send.kill();
        world.server.then(Answer::text("The first answer."));
        world.server.then(Answer::text("The second answer."));
        let sent = world.send("Second?");
        assert_eq!(sent.text(), "The second answer.\n");
        assert_says(&sent.err(), &["(“First?” is answered first; `ship history` shows it)"]);
        let wanted = [
            ("user", "First?"),
            ("assistant", "The first answer."),
            ("user", "Second?"),
            ("assistant", "The second answer."),
        ];
        assert_eq!(world.ship.said(), talk(&wanted));
        assert_eq!(world.told(), ["The first answer.", "The second answer."]);
        assert_eq!(world.asked(), 3);
        world.assert_goes_on();
    });
}

#[test]
fn killed_in_the_middle_of_an_answer_the_question_is_answered_when_the_chat_is_opened() {
    both(|format| {
        let world = World::new(format);
        world.server.then(faults::stall_mid_text());
        let mut chat = world.ship.start(&["chat"]);
        chat.say("First?");
        chat.until("Here is");
        chat.kill();
        world.server.then(Answer::text("The first answer."));
        let out = world.ship.piped(&["chat"], "").text();
        assert_eq!(out.matches("The first answer.").count(), 1, "{out}");
        assert_eq!(world.told(), ["The first answer."]);
        assert_eq!(world.asked(), 2);
        world.assert_goes_on();
    });
}

#[test]
fn the_question_of_a_killed_chat_is_shown_again_with_its_answer() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::stall_mid_text());
    let send = world.ship.start(&["send", "First?\nIn two lines."]);
    world.wait_for(1);
    send.kill();
    world.server.then(Answer::text("The first answer."));
    let mut chat = world.ship.terminal(60, &["chat"]);
    chat.until("The first answer.");
    chat.until("> ");
    let screen = chat.screen();
    let at = screen.iter().position(|line| line == "> First? ⏎ In two lines.");
    let at = at.expect("the question is shown");
    assert_eq!(screen[at - 1], "Not answered yet:");
    assert_eq!(screen[at + 1], "The first answer.", "{screen:#?}");
    chat.leave();
}

#[test]
fn killed_after_a_tool_has_run_it_does_not_run_again() {
    both(|format| {
        let world = World::new(format);
        let call = Piece::call("chat_send", r#"{"text":"Hello, once."}"#);
        world.server.then(Speech::new([Piece::Text("I tell them.".to_owned()), call]));
        world.server.then(faults::no_answer());
        let send = world.ship.start(&["send", "Tell them."]);
        world.wait_for(2);
        send.kill();
        world.server.then(Answer::text("They know."));
        let out = world.ship.piped(&["chat"], "").text();
        assert_says(&out, &["They know."]);
        assert_eq!(world.sent_by_tool(), ["Hello, once."]);
        assert_eq!(world.told(), ["I tell them.\nThey know."]);
        let requests = world.server.requests();
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[1].body, requests[2].body, "the run goes on where it was");
        world.assert_goes_on();
    });
}

#[test]
fn killed_while_it_goes_on_with_an_answer_that_broke_off_it_goes_on_from_there() {
    for (cut, said) in [
        (faults::reset_mid_text as fn() -> Answer, "Here is the first half of an answer,"),
        (faults::reset_mid_call, "Let me look."),
    ] {
        both(|format| {
            let world = World::with(format, r#""retries": 1"#);
            world.server.then(cut()).then(faults::no_answer());
            let send = world.ship.start(&["send", "Tell me."]);
            world.wait_for(2);
            send.kill();
            world.server.then(Answer::text("And the rest."));
            let out = world.ship.piped(&["chat"], "").text();
            assert_says(&out, &["And the rest."]);
            assert_eq!(world.told(), [format!("{said}\nAnd the rest.")]);
            let requests = world.server.requests();
            assert_eq!(requests.len(), 3);
            assert_eq!(requests[1].body, requests[2].body, "the model is shown what it had said");
            world.assert_goes_on();
        });
    }
}

/// Kills `ship` at its last writes, back to the first after the provider was asked.
#[test]
fn killed_at_any_write_behind_the_first_request_everything_is_told_once() {
    let Some(shim) = shim() else { return };
    both(|format| {
        let world = World::new(format);
        world.server.otherwise(Answer::text("Answered."));
        assert_eq!(world.answer("Are you there?"), "Answered.");
        let send = |fault: Fault<'_>| {
            let call = format!(r#"{{"text":"Hello {}"}}"#, fault.at);
            world.server.then(Speech::new([Piece::call("chat_send", call)]));
            let mut command = world.ship.command(&["send", "Tell them."]);
            fault.put_into(&mut command, shim).output().unwrap()
        };
        let counted = send(Fault { only: CHANGES, ..Fault::default() });
        let writes = counted_calls(&String::from_utf8_lossy(&counted.stderr)).unwrap();
        let (mut questions, mut lost_calls) = (2, 0);
        for at in (1..=writes).rev().step_by(2) {
            let asked = world.asked();
            let killed = send(Fault { what: "kill-after", at, only: CHANGES, ..Fault::default() });
            assert_eq!(killed.status.code(), None, "it is killed at write {at} of {writes}");
            if world.asked() == asked {
                break;
            }
            assert_eq!(world.answer("And now?"), "Answered.");
            questions += 2;
            assert_eq!(world.told().len(), questions, "one answer for each question");
            let sent = world.sent_by_tool();
            // An answer that was not on disk yet is asked for again, and the next one calls nothing.
            let told = sent.iter().filter(|text| **text == format!("Hello {at}")).count();
            assert!(told <= 1, "{sent:?}");
            lost_calls += 1 - told;
            world.assert_sound();
        }
        assert!(lost_calls > 0 && world.sent_by_tool().len() > 1, "kills came before and after");
    });
}
