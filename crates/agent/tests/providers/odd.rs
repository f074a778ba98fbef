//! Streams and answers that are odd and yet allowed, and answers that say nothing.

use ship_testkit::llm::{Answer, Format, Piece, Speech, Status, Step, faults};

use super::world::{BOTH, World, assert_says};

/// Streams that are right, and yet catch out parsers.
const STREAMS: &[fn() -> Answer] = &[
    faults::crlf,
    faults::cr,
    faults::comments,
    faults::multi_line_data,
    faults::no_space_after_colon,
    faults::further_fields,
    faults::byte_order_mark,
    faults::unknown_events,
    faults::many_pings,
    faults::split_utf8,
    faults::all_at_once,
];

#[tokio::test(flavor = "multi_thread")]
async fn odd_streams_are_read_as_they_are_meant() {
    for format in BOTH {
        let world = World::new(format);
        for (at, stream) in STREAMS.iter().enumerate() {
            world.server.then(stream());
            assert_eq!(world.answer("Greet.").await, faults::ODD_WORDS, "stream {at}");
        }
        assert_eq!(world.asked(), STREAMS.len());
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_content_type_and_an_event_without_choices_are_no_hindrance() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(faults::wrong_content_type());
        assert_says(
            &world.answer("Tell me.").await,
            &["Here is the first", "the second half of it."],
        );
        for fault in [faults::null_choices, faults::data_of_another_kind] {
            world.server.then(fault());
            assert_says(&world.answer("Tell me.").await, &["Here is", "of it."]);
        }
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_is_stored_as_text_and_can_be_sent_back() {
    for format in BOTH {
        let world = World::new(format);
        for (fault, wanted) in [
            (faults::lone_surrogate as fn() -> Answer, "a\u{FFFD}b"),
            (faults::nul, "a\u{FFFD}b"),
            (faults::invalid_utf8, "a\u{FFFD}\u{FFFD}b"),
        ] {
            world.server.then(fault());
            assert_eq!(world.answer("Say it.").await, wanted);
        }
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_megabytes_are_an_answer_like_any_other() {
    for format in BOTH {
        let world = World::with(format, |settings| settings.window = Some(10_000_000));
        world.server.then(faults::two_megabytes());
        assert_eq!(world.answer("Write a novel.").await.len(), faults::MANY_BYTES);
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_says_nothing_is_told_as_such() {
    for format in BOTH {
        let world = World::new(format);
        for fault in [faults::empty_answer, faults::only_reasoning, faults::only_whitespace] {
            world.server.then(fault());
            let sentence = world.sentence("Well?").await;
            assert_says(&sentence, &["The model gave an empty answer.", "Ask again"]);
        }
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_tools_a_model_may_end_in_silence() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(Speech::new([Piece::call("chat_send", r#"{"text":"Hello."}"#)]));
        world.server.then(faults::empty_answer());
        assert_eq!(world.answer("Greet.").await, "Hello.");
        assert_eq!(world.sent_by_tool().await, ["Hello."]);
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_ends_for_another_reason_is_kept_and_the_chat_goes_on() {
    for format in BOTH {
        let world = World::new(format);
        for fault in [faults::refusal, faults::cut_by_length, faults::unknown_stop] {
            world.server.then(fault());
            assert!(!world.told("Well?").await.is_empty());
        }
        assert_eq!(world.asked(), 3);
        world.assert_goes_on().await;
    }
}

/// OpenAI says why it ends before its last event, which many imitators forget. Anthropic's last event is the
/// only one that says that everything came.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_last_event_an_answer_of_openai_is_whole_and_one_of_anthropic_is_not() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::ended_without_last_event());
    assert!(world.answer("Tell me.").await.ends_with("the second half of it."));
    world.assert_goes_on().await;
    let world = World::new(Format::Anthropic);
    world.server.then(faults::ended_without_last_event());
    let told = world.sentence("Tell me.").await;
    assert_says(&told, &["the second half of it.\nI had to stop here: ", "tell me to go on."]);
    world.assert_goes_on().await;
}

/// Some hosts do not stream, whatever they are asked.
fn whole(speech: Speech) -> Answer {
    Answer::judge(move |exchange| {
        let body = exchange.whole(&speech).to_string().into_bytes();
        let status = Status { status: 200, headers: Vec::new(), body };
        Answer::Status(status.header("content-type", "application/json"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_in_one_piece_is_an_answer() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(whole(Speech::new([
            Piece::Reasoning("Hm.".to_owned()),
            Piece::Text("I tell them.".to_owned()),
            Piece::call("chat_send", r#"{"text":"Hello."}"#),
        ])));
        world.server.then(whole(Speech::text("They know.")));
        assert_eq!(world.answer("Tell them.").await, "I tell them.\nHello.\nThey know.");
        assert_eq!(world.sent_by_tool().await, ["Hello."]);
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_of_an_answer_in_one_piece_is_none() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(Answer::judge(|exchange| {
            let call = Piece::call("chat_send", r#"{"text":"Hello."}"#);
            let body = exchange.whole(&Speech::new([call])).to_string();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let half = [head.as_bytes(), &body.as_bytes()[..body.len() - 2]].concat();
            Answer::Raw(vec![Step::Bytes(half), Step::Close])
        }));
        assert_says(&world.sentence("Tell them.").await, &["broke", "What you wrote is kept."]);
        assert_eq!(world.sent_by_tool().await, [""; 0]);
        world.assert_goes_on().await;
    }
}
