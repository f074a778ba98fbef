//! Hosts that do more, or less, than they should: compress, keep alive, damage an event, list their complaints.

use std::time::Duration;

use ship_message::Chunk;
use ship_provider::{HostForm, HostForms, HttpSettings, Provider as _};

use super::host::{Act, Host, STREAM, ask, hello, openai, play_openai, reply, send, settings};

/// The stream of [`hello`], compressed.
const COMPRESSED: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 29, 204, 65, 10, 128, 32, 16, 70, 225, 189, 167, 136, 127,
    221, 9, 92, 215, 182, 14, 32, 18, 131, 78, 40, 136, 19, 57, 59, 241, 238, 73, 219, 247, 193,
    139, 164, 100, 151, 142, 144, 36, 7, 110, 176, 174, 35, 114, 81, 130, 157, 81, 170, 114, 85,
    88, 36, 46, 69, 48, 86, 220, 185, 230, 150, 174, 151, 169, 73, 157, 208, 84, 30, 12, 63, 140,
    137, 255, 201, 109, 231, 177, 123, 99, 62, 178, 241, 141, 241, 88, 0, 0, 0,
];

#[tokio::test]
async fn no_compression_is_asked_for_and_a_compressed_answer_is_read_all_the_same() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
    let answer = vec![send(head), Act::Send(COMPRESSED.to_vec())];
    let (asked, host) = play_openai(vec![answer]).await;
    assert!(asked.is_hello(), "{asked:?}");
    let request = host.requests.lock().unwrap()[0].to_ascii_lowercase();
    assert!(request.contains("accept-encoding: identity\r\n"), "{request}");
}

#[tokio::test]
async fn one_damaged_event_before_any_text_is_asked_for_again_and_a_second_is_told() {
    let damaged = || vec![send(format!("{STREAM}data: {{\"choices\":[{{\"del\n\n"))];
    let (asked, host) = play_openai(vec![damaged(), hello()]).await;
    assert!(asked.is_hello(), "{asked:?}");
    assert_eq!(host.asked(), 2);
    let (asked, host) = play_openai(vec![damaged(), damaged(), hello()]).await;
    assert_eq!((asked.error().0, host.asked()), ("protocol", 2));
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\ndata: {\"choi\n\n";
    let (asked, host) = play_openai(vec![vec![send(format!("{STREAM}{half}"))], hello()]).await;
    assert_eq!((asked.error().0, host.asked()), ("cut", 1), "the text would be said twice");
}

#[tokio::test(start_paused = true)]
async fn events_that_carry_nothing_do_not_keep_an_answer_waiting_without_end() {
    let idle = Duration::from_secs(10);
    for kept_alive in [
        ": still here\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "data: {\"type\":\"ping\"}\n\n",
        "data:\n\n",
        "data: {\"choices\":[]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":null,\"tool_calls\":[]}}],\"usage\":{\"prompt_tokens\":9}}\n\n",
    ] {
        let host = Host::playing(vec![vec![send(STREAM), Act::Repeat(kept_alive)]]).await;
        let settings = HttpSettings { idle, retries: 0, ..settings(&host.address) };
        let asked = ask(openai(settings)).await;
        let (code, told) = asked.error();
        assert_eq!(code, "timed_out");
        let wanted = "did not send anything but signs of life within 50 s (`llm.idleMs`)";
        assert!(told.contains(wanted), "{kept_alive}: {told}");
    }
}

#[tokio::test]
async fn the_problems_that_a_host_lists_are_told() {
    let body = r#"{"detail":[{"type":"missing","loc":["body","messages",0,"content"],"msg":"Field required","input":{}},{"msg":"Too bad"}]}"#;
    let (asked, _) = play_openai(vec![reply("422 x", "", body)]).await;
    assert_eq!(
        asked.error().1,
        "openai refused the request: body.messages.0.content: Field required; Too bad (422)"
    );
}

#[tokio::test]
async fn thoughts_in_tags_are_reasoning() {
    let event = |text: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let stream = ["<th", "ink>Who ", "is it?</thi", "nk>\\n\\n", "hel", "lo"].map(event).concat();
    let (asked, _) = play_openai(vec![vec![send(format!("{STREAM}{stream}{end}"))]]).await;
    assert!(asked.is_hello(), "{asked:?}");
    let thoughts = asked.chunks.iter().filter_map(|chunk| match chunk {
        Chunk::ReasoningDelta(_, delta) => Some(delta.as_str()),
        _ => None,
    });
    assert_eq!(thoughts.collect::<String>(), "Who is it?");
}

#[tokio::test]
async fn tools_are_sent_as_the_settings_say_whatever_was_learned_of_the_host() {
    let no_tools = HostForms::default().with(HostForm::NoTools);
    for (tools, at_first, once_learned) in
        [(None, false, true), (Some(false), true, true), (Some(true), false, false)]
    {
        let provider = openai(HttpSettings { tools, ..settings("127.0.0.1:1") });
        assert_eq!(provider.forms(), HostForms::default(), "a setting is not learned");
        assert_eq!(provider.recipe().forms.has(HostForm::NoTools), at_first, "{tools:?}");
        provider.adopt_forms(no_tools);
        assert_eq!(provider.recipe().forms.has(HostForm::NoTools), once_learned, "{tools:?}");
    }
}
