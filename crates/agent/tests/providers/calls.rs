//! Calls that are not what they should be: the model gets an error for each, and the chat goes on.

use ship_testkit::llm::{Answer, Format, Piece, Speech, faults};

use super::world::{BOTH, World, assert_says};

/// A call that cannot be done, and what the model must be told of it.
type Case = (fn() -> Answer, &'static str);

const TOOL: &str = "chat_send";
const NEEDS_TEXT: &str = "the input cannot be read: missing field `text`";

const CASES: &[Case] = &[
    (|| faults::invalid_arguments(TOOL), "The input of the call is "),
    (|| faults::arguments_of_another_type(TOOL), "JSON, but not an object"),
    (|| faults::no_arguments(TOOL), NEEDS_TEXT),
    (|| faults::arguments_cut_by_length(TOOL), "cut off by the limit on its length"),
    (faults::unknown_tool, "there is no tool `launch_rocket`; there are: chat_checkpoint, "),
    (faults::html_in_name, "there is no tool `<script>alert(1)</script>`"),
    (|| faults::blank_id(TOOL), NEEDS_TEXT),
    (|| faults::long_id(TOOL), NEEDS_TEXT),
    (|| faults::missing_id(TOOL), NEEDS_TEXT),
    (|| faults::duplicate_ids(TOOL), NEEDS_TEXT),
    (|| faults::no_index(TOOL), NEEDS_TEXT),
    (|| faults::late_name(TOOL), NEEDS_TEXT),
    (|| faults::whole_call(TOOL), NEEDS_TEXT),
    (|| faults::shared_index(TOOL), NEEDS_TEXT),
    (|| faults::calls_that_stop_as_text(TOOL), NEEDS_TEXT),
    (
        || faults::many_calls(TOOL),
        "Only the first 64 calls of an answer are run; this was call 65.",
    ),
    (|| faults::lone_surrogate_in_arguments(TOOL), NEEDS_TEXT),
];

async fn each_is_told_to_the_model(format: Format) {
    let world = World::new(format);
    for (at, (fault, told)) in CASES.iter().enumerate() {
        world.server.then(fault());
        world.server.then(Answer::text("I understand."));
        assert_eq!(world.answer("Do it.").await, "I understand.", "case {at}");
        assert_eq!(world.asked(), 2 * at + 2, "case {at}: the call, and its result");
        assert_says(&text_of_request(&world), &[told]);
    }
    assert_eq!(world.sent_by_tool().await, [""; 0], "nothing was done");
    world.assert_goes_on().await;
}

/// All texts of the newest request, unescaped.
fn text_of_request(world: &World) -> String {
    world.last_body().replace("\\\"", "\"").replace("\\u003c", "<").replace("\\u003e", ">")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_done_is_answered_with_an_error_and_nothing_is_done() {
    each_is_told_to_the_model(Format::OpenAi).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_done_is_answered_with_an_error_and_nothing_is_done_by_anthropic_too()
{
    each_is_told_to_the_model(Format::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_with_one_id_or_none_are_all_made_and_each_gets_its_own_result() {
    for format in BOTH {
        for id in ["same", ""] {
            let world = World::new(format);
            let call =
                |text: &str| Piece::call_with_id(id, TOOL, format!(r#"{{"text":"{text}"}}"#));
            world.server.then(Speech::new([call("one"), call("two")]));
            world.server.then(Answer::text("Both are told."));
            assert_eq!(world.answer("Tell both.").await, "one\ntwo\nBoth are told.");
            assert_eq!(world.sent_by_tool().await, ["one", "two"]);
            world.assert_goes_on().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_sixty_five_calls_sixty_four_are_made() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(faults::many_calls("skills_list"));
        world.server.then(Answer::text("I have seen them."));
        assert_eq!(world.answer("Look.").await, "I have seen them.");
        let message = world.last_message().await.to_string();
        let in_state = |state: &str| message.matches(&format!(r#""state":"{state}""#)).count();
        assert_eq!((in_state("output-available"), in_state("output-error")), (64, 1));
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_behind_a_tool_leaves_the_result_where_it_is() {
    for format in BOTH {
        let world = World::new(format);
        world.server.then(Answer::call(TOOL, r#"{"text":"Hello, once."}"#));
        world.server.then(faults::overloaded());
        let sentence = world.sentence("Tell them.").await;
        assert_says(&sentence, &["I could not answer: ", "What you wrote is kept."]);
        assert_eq!(world.asked(), 2);
        world.assert_goes_on().await;
        assert_eq!(world.sent_by_tool().await, ["Hello, once."]);
        assert_says(&text_of_request(&world), &["Hello, once.", "delivered"]);
    }
}
