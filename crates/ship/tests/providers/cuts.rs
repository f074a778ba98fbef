//! Answers that break off: what was said is kept and never passed off as the whole, and no tool runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ship_testkit::llm::{Answer, Format, Kind, Piece, Speech, Step, faults};

use crate::world::{BOTH, World, assert_says, both, name, told_by};

/// Every way in which an answer breaks off within its words.
const CUTS: &[fn() -> Answer] = &[
    faults::reset_mid_text,
    faults::closed_mid_text,
    faults::ended_mid_text,
    faults::ended_mid_event,
    faults::stall_mid_text,
    faults::error_mid_text,
    faults::error_of_another_shape,
    faults::error_in_choice,
    faults::bad_json,
    faults::endless_line,
];

const PATIENCE: &str = r#""idleMs": 800"#;

fn every_cut_is_told(format: Format) {
    let world = World::with(format, &format!(r#"{PATIENCE}, "retries": 0"#));
    for (at, cut) in CUTS.iter().enumerate() {
        world.server.then(cut());
        let told = world.sentence("Tell me.");
        assert!(told.starts_with("Here"), "cut {at}: what was said comes first: {told}");
        let broke = format!("the answer of {} broke off: ", name(format));
        assert_says(&told, &["\nI had to stop here: ", &broke]);
        assert!(
            told.ends_with("What you wrote and what I said is kept; tell me to go on."),
            "{told}"
        );
        assert!(!told.contains("second half of it"), "cut {at}: {told}");
        assert_eq!(world.asked(), at + 1);
    }
    world.assert_goes_on();
}

#[test]
fn an_answer_that_breaks_off_is_kept_with_the_reason_behind_it() {
    every_cut_is_told(Format::OpenAi);
}

#[test]
fn an_answer_that_breaks_off_is_kept_with_the_reason_behind_it_by_anthropic_too() {
    every_cut_is_told(Format::Anthropic);
}

fn every_cut_is_gone_on_with(format: Format) {
    let world = World::with(format, &format!(r#"{PATIENCE}, "retries": 1"#));
    for (at, cut) in CUTS.iter().enumerate() {
        world.server.then(cut());
        world.server.then(Answer::text("And the rest."));
        let ran = world.send("Tell me.");
        let told = ran.text();
        assert!(
            told.starts_with("Here") && told.ends_with("\nAnd the rest.\n"),
            "cut {at}: {told}"
        );
        assert_eq!(told.matches("Here").count(), 1, "nothing is told twice: {told}");
        assert_says(&ran.err(), &["The answer broke off; I ask the model to go on."]);
        assert_eq!(world.asked(), 2 * at + 2);
        let body = String::from_utf8_lossy(&world.last_request().body).into_owned();
        let half = told.split("\nAnd the rest.").next().unwrap_or_default();
        assert!(body.contains(half), "the model sees what it has said: {body}");
    }
    world.assert_goes_on();
}

#[test]
fn an_answer_that_breaks_off_is_gone_on_with() {
    every_cut_is_gone_on_with(Format::OpenAi);
}

#[test]
fn an_answer_that_breaks_off_is_gone_on_with_by_anthropic_too() {
    every_cut_is_gone_on_with(Format::Anthropic);
}

#[test]
fn in_a_chat_what_was_said_the_notice_and_the_sentence_are_lines_of_their_own() {
    both(|format| {
        let world = World::with(format, r#""retries": 1"#);
        world.server.then(faults::reset_mid_text()).then(faults::reset_mid_text());
        let out = world.ship.piped(&["chat"], "Tell me.\n").out();
        let lines: Vec<&str> = out.lines().filter(|line| !line.is_empty()).collect();
        let said = "Here is the first half of an answer,";
        assert_eq!(lines.len(), 4, "{out}");
        assert_eq!((lines[0], lines[2]), (said, said));
        assert_eq!(lines[1], "[The answer broke off; I ask the model to go on.]");
        assert!(lines[3].starts_with("I had to stop here: the answer of "), "{out}");
        world.assert_goes_on();
    });
}

/// A line without `data:` is what a host sends that was not made with care. Skipped, it would leave a hole.
#[test]
fn data_without_its_prefix_is_read_all_the_same() {
    both(|format| {
        let world = World::new(format);
        world.server.then(faults::missing_data_prefix());
        let whole = "Here is the first half of an answer, and here is the second half of it.";
        assert_eq!(world.answer("Tell me."), whole);
        world.assert_goes_on();
    });
}

/// A stream of words and a call of `chat_send`, cut behind so many events. Tells whether it was whole.
fn cut_behind(events: usize, end: Step, was_whole: Arc<AtomicBool>) -> Answer {
    Answer::judge(move |exchange| {
        let arguments = format!(r#"{{"text":"Hello {events}"}}"#);
        let speech =
            Speech::new([Piece::Text("Let me.".to_owned()), Piece::call("chat_send", arguments)]);
        let frames = exchange.frames(&speech);
        let frames = &frames[..events.min(frames.len())];
        let last = match exchange.format {
            Format::OpenAi => Kind::Finish,
            Format::Anthropic => Kind::Done,
        };
        was_whole.store(frames.iter().any(|frame| frame.kind == last), Ordering::Relaxed);
        let mut steps = exchange.opening(frames);
        steps.push(end.clone());
        Answer::Raw(steps)
    })
}

fn no_cut_stream_runs_its_call(format: Format, end: Step) {
    let world = World::new(format);
    let mut delivered = Vec::new();
    for events in 0.. {
        let whole = Arc::new(AtomicBool::new(false));
        world.server.otherwise(Answer::text("Told."));
        world.server.then(cut_behind(events, end.clone(), Arc::clone(&whole)));
        let ran = world.send("Tell everyone.");
        if whole.load(Ordering::Relaxed) {
            delivered.push(format!("Hello {events}"));
            assert_says(&ran.text(), &["Told."]);
        } else {
            assert_eq!(ran.code(), 1, "behind {events} events: {}", ran.out());
        }
        if !delivered.is_empty() {
            assert!(events > 5, "it was cut at many places before");
            break;
        }
    }
    assert_eq!(world.sent_by_tool(), delivered);
    world.assert_goes_on();
}

#[test]
fn a_call_runs_only_when_the_answer_has_ended_wherever_it_is_cut() {
    let ends = [Step::Bytes(b"0\r\n\r\n".to_vec()), Step::Reset];
    std::thread::scope(|scope| {
        for format in BOTH {
            for end in ends.clone() {
                scope.spawn(move || no_cut_stream_runs_its_call(format, end));
            }
        }
    });
}

#[test]
fn after_a_call_that_was_cut_off_the_model_is_asked_to_go_on() {
    let cuts = [
        faults::reset_mid_call,
        faults::closed_mid_call,
        faults::ended_mid_call,
        faults::stall_mid_call,
    ];
    both(|format| {
        let world = World::with(format, &format!(r#"{PATIENCE}, "retries": 1"#));
        for (at, cut) in cuts.into_iter().enumerate() {
            let before = world.asked();
            world.server.then(cut());
            world.server.then(Answer::call("chat_send", format!(r#"{{"text":"Hello {at}"}}"#)));
            world.server.then(Answer::text("Done."));
            let ran = world.send("Look, and tell everyone.");
            assert_eq!(ran.text(), format!("Let me look.\nHello {at}\nDone.\n"));
            assert_eq!(world.asked(), before + 3);
            assert_eq!(world.sent_by_tool().len(), at + 1);
            let message = world.last_message();
            assert!(
                !message.to_string().contains("read_file"),
                "half a call is no call: {message}"
            );
            assert_eq!(told_by(&message), format!("Let me look.\nHello {at}\nDone."));
        }
        world.assert_goes_on();
    });
}
