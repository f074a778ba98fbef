//! Answers that break off: what was said is kept and never passed off as the whole, and no tool runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ship_provider::HttpSettings;
use ship_testkit::llm::{Answer, Format, Kind, Piece, Speech, Step, faults};

use super::world::{BOTH, World, assert_says, name};

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

/// The time after which an answer that stalls is given up.
const PATIENCE: Duration = Duration::from_millis(300);

/// Gives up soon, and asks once more.
fn patient(settings: &mut HttpSettings) {
    (settings.idle, settings.retries) = (PATIENCE, 1);
}

async fn every_cut_is_told(format: Format) {
    let world = World::with(format, |settings| settings.idle = PATIENCE);
    for (at, cut) in CUTS.iter().enumerate() {
        world.server.then(cut());
        let told = world.sentence("Tell me.").await;
        assert!(told.starts_with("Here"), "cut {at}: what was said comes first: {told}");
        let broke = format!("the answer from {} broke off: ", name(format));
        assert_says(&told, &["\nI had to stop here: ", &broke]);
        assert!(told.ends_with("Everything so far is kept; tell me to go on."), "{told}");
        assert!(!told.contains("second half of it"), "cut {at}: {told}");
        assert_eq!(world.asked(), at + 1);
    }
    world.assert_goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_kept_with_the_reason_behind_it() {
    every_cut_is_told(Format::OpenAi).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_kept_with_the_reason_behind_it_by_anthropic_too() {
    every_cut_is_told(Format::Anthropic).await;
}

async fn every_cut_is_gone_on_with(format: Format) {
    let world = World::with(format, patient);
    for (at, cut) in CUTS.iter().enumerate() {
        world.server.then(cut());
        world.server.then(Answer::text("And the rest."));
        let told = world.answer("Tell me.").await;
        let is_whole = told.starts_with("Here") && told.ends_with("\nAnd the rest.");
        assert!(is_whole, "cut {at}: {told}");
        assert_eq!(told.matches("Here").count(), 1, "nothing is told twice: {told}");
        assert_eq!(world.asked(), 2 * at + 2);
        let body = world.last_body();
        let half = told.split("\nAnd the rest.").next().unwrap_or_default();
        assert!(body.contains(half), "the model sees what it has said: {body}");
    }
    world.assert_goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_gone_on_with() {
    every_cut_is_gone_on_with(Format::OpenAi).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_gone_on_with_by_anthropic_too() {
    every_cut_is_gone_on_with(Format::Anthropic).await;
}

/// A line without `data:` is what a host sends that was not made with care. Skipped, it would leave a hole.
#[tokio::test(flavor = "multi_thread")]
async fn data_without_its_prefix_is_read_all_the_same() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(faults::missing_data_prefix());
        let whole = "Here is the first half of an answer, and here is the second half of it.";
        assert_eq!(world.answer("Tell me.").await, whole);
        world.assert_goes_on().await;
    }
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

async fn no_cut_stream_runs_its_call(format: Format, end: Step) {
    let world = World::new(format);
    let mut delivered = Vec::new();
    for events in 0.. {
        let whole = Arc::new(AtomicBool::new(false));
        world.server.otherwise(Answer::text("Told."));
        world.server.then(cut_behind(events, end.clone(), Arc::clone(&whole)));
        let told = world.told("Tell everyone.").await;
        if whole.load(Ordering::Relaxed) {
            delivered.push(format!("Hello {events}"));
        }
        assert_eq!(told.ends_with("Told."), !delivered.is_empty(), "behind {events}: {told}");
        if !delivered.is_empty() {
            assert!(events > 5, "it was cut at many places before");
            break;
        }
    }
    assert_eq!(world.sent_by_tool().await, delivered);
    world.assert_goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_runs_only_when_the_answer_has_ended_wherever_it_is_cut() {
    for format in BOTH {
        for end in [Step::Bytes(b"0\r\n\r\n".to_vec()), Step::Reset] {
            no_cut_stream_runs_its_call(format, end).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_call_that_was_cut_off_the_model_is_asked_to_go_on() {
    let cuts = [
        faults::reset_mid_call,
        faults::closed_mid_call,
        faults::ended_mid_call,
        faults::stall_mid_call,
    ];
    for format in BOTH {
        let world = World::with(format, patient);
        for (at, cut) in cuts.into_iter().enumerate() {
            let before = world.asked();
            world.server.then(cut());
            world.server.then(Answer::call("chat_send", format!(r#"{{"text":"Hello {at}"}}"#)));
            world.server.then(Answer::text("Done."));
            let told = world.answer("Look, and tell everyone.").await;
            assert_eq!(told, format!("Let me look.\nHello {at}\nDone."));
            assert_eq!(world.asked(), before + 3);
            assert_eq!(world.sent_by_tool().await.len(), at + 1);
            let message = world.last_message().await;
            assert!(
                !message.to_string().contains("read_file"),
                "half a call is no call: {message}"
            );
        }
        world.assert_goes_on().await;
    }
}
