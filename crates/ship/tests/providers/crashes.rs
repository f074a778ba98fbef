//! `ship` is killed while it works: every question is answered once, and no tool runs twice.

use std::time::Duration;

use ship_testkit::llm::{Answer, Piece, Speech, faults};

use crate::harness::talk;
use crate::world::{World, assert_says, both, wait};

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
        assert_eq!(world.answer("Second?"), "The second answer.");
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

/// Kills `ship` at another moment each time: while the answer comes in, is written, and is told.
#[test]
fn killed_at_any_moment_around_the_answer_everything_is_told_once() {
    both(|format| {
        let world = World::new(format);
        let mut questions = 0;
        let mut killed_before_the_end = 0;
        for delay in [0, 1, 2, 3, 4, 6, 8, 12] {
            let call = format!(r#"{{"text":"Hello {delay}"}}"#);
            world.server.otherwise(Answer::text("Answered."));
            world.server.then(Speech::new([Piece::call("chat_send", call)]));
            let asked = world.asked();
            let send = world.ship.start(&["send", "Tell them."]);
            wait(world.server.wait_until_over(asked + 1));
            std::thread::sleep(Duration::from_millis(delay));
            send.kill();
            questions += 1;
            killed_before_the_end += usize::from(world.told().len() < questions);
            assert_eq!(world.answer("And now?"), "Answered.");
            questions += 1;
            assert_eq!(world.told().len(), questions, "one answer for each question");
            let sent = world.sent_by_tool();
            // An answer that was not on disk yet is asked for again, and the next one calls nothing.
            let told = sent.iter().filter(|text| **text == format!("Hello {delay}")).count();
            assert!(told <= 1, "{sent:?}");
            world.assert_sound();
        }
        assert!(killed_before_the_end > 0, "no kill came in time");
    });
}
