//! Hosts that refuse the form of a request: which other forms are tried, and which of them are learned.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::{AnswerEnd, HttpProvider, HttpSettings, Provider as _, ProviderError};
use ship_provider::{Request, ToolSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::host::{Act, Host, Watch, hello, openai, reply, settings};

const NO_TOOLS: &str =
    r#"{"error":{"message":"registry.ollama.ai/library/gemma does not support tools"}}"#;
const ROLES: &str = r#"{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}"#;
const USER: &str = r#"{"id":"u","role":"user","parts":[{"type":"text","text":"ahoy"}]}"#;
const CALL: &str = r#"{"id":"a","role":"assistant","parts":[{"type":"tool-t","toolCallId":"c1","state":"output-available","input":{},"output":"ok"}]}"#;

async fn answer(provider: &HttpProvider, view: &[&str]) -> Result<AnswerEnd, ProviderError> {
    let view: Vec<UiMessage> =
        view.iter().map(|text| UiMessage::parse(text).expect("a message")).collect();
    let input_schema = Json::parse(r#"{"type":"object"}"#).expect("JSON");
    let tools = [ToolSpec { name: "t".into(), description: "d".into(), input_schema }];
    let request = Request { system: &[], view: &view, tools: &tools, max_tokens: 100 };
    let body = provider.recipe().body(&request).expect("a body");
    provider.answer(&request, &body, Box::new(|_| ())).await
}

/// Asks a host with these scripts once. Returns the answer, the number of requests and the learned forms.
async fn play(
    scripts: Vec<Vec<Act>>,
    view: &[&str],
) -> (Result<AnswerEnd, ProviderError>, usize, Vec<&'static str>) {
    let host = Host::playing(scripts).await;
    let settings = HttpSettings { retries: 1, ..settings(&host.address) };
    let provider = openai(settings).with_pace(Arc::new(Watch::default()));
    let answered = answer(&provider, view).await;
    (answered, host.asked(), provider.forms().names().collect())
}

#[tokio::test]
async fn a_form_is_learned_when_the_host_complains_of_something_else() {
    for (status, body, code) in [
        (
            "400 x",
            r#"{"error":{"message":"prompt is too long: 11 tokens > 10 maximum"}}"#,
            "overflow",
        ),
        ("400 x", r#"{"error":{"message":"x","code":"content_policy_violation"}}"#, "policy"),
        ("401 x", r#"{"error":{"message":"bad key"}}"#, "key"),
    ] {
        let scripts = vec![reply("400 x", "", NO_TOOLS), reply(status, "", body)];
        let (answered, asked, forms) = play(scripts, &[USER]).await;
        assert_eq!((answered.unwrap_err().code(), asked), (code, 2));
        assert_eq!(forms, ["noTools"], "{code}");
    }
}

#[tokio::test]
async fn a_form_is_not_learned_from_an_outage_or_from_the_same_refusal() {
    for (status, body, code, requests) in [
        ("503 x", "", "unavailable", 3),
        ("400 x", NO_TOOLS, "refused", 2),
        ("400 x", r#"{"error":{"message":"bad"}}"#, "refused", 2),
    ] {
        let scripts = vec![reply("400 x", "", NO_TOOLS), reply(status, "", body)];
        let (answered, asked, forms) = play(scripts, &[USER]).await;
        assert_eq!((answered.unwrap_err().code(), asked), (code, requests));
        assert!(forms.is_empty(), "{status} {body}: {forms:?}");
    }
}

#[tokio::test]
async fn forms_that_may_cure_a_refusal_are_tried_in_turn_and_only_the_cure_is_learned() {
    let scripts = vec![reply("500 x", "", ROLES), reply("500 x", "", ROLES), hello()];
    let (answered, asked, forms) = play(scripts, &[USER, CALL, USER]).await;
    assert!(answered.is_ok(), "{answered:?}");
    assert_eq!((asked, &forms[..]), (3, &["noTools"][..]));
    // Where a form makes no difference, the next is tried at once.
    let scripts = vec![reply("500 x", "", ROLES), hello()];
    let (answered, asked, forms) = play(scripts, &[USER, CALL]).await;
    assert!(answered.is_ok(), "{answered:?}");
    assert_eq!((asked, &forms[..]), (2, &["noTools"][..]));
    let scripts = vec![reply("500 x", "", ROLES), hello()];
    let (_, asked, forms) = play(scripts, &[USER, CALL, USER]).await;
    assert_eq!((asked, &forms[..]), (2, &["assistantAfterTool"][..]));
    let (answered, asked, forms) = play(vec![reply("500 x", "", ROLES)], &[USER, CALL, USER]).await;
    assert_eq!((answered.unwrap_err().code(), asked), ("refused", 3));
    assert!(forms.is_empty(), "{forms:?}");
}

#[tokio::test]
async fn a_second_refusal_of_another_form_keeps_the_first() {
    let extra = r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]},"type":"invalid_request_error","param":null,"code":null}"#;
    let scripts =
        vec![reply("422 x", "", extra), reply("400 x", "", NO_TOOLS), reply("503 x", "", "")];
    let (answered, _, forms) = play(scripts, &[USER]).await;
    assert_eq!(answered.unwrap_err().code(), "unavailable");
    assert_eq!(forms, ["noStreamOptions"], "only the second is still on trial");
    let tools = extra.replace("stream_options", "messages");
    let (answered, asked, _) = play(vec![reply("422 x", "", &tools)], &[USER]).await;
    let error = answered.unwrap_err();
    assert_eq!(asked, 1);
    assert!(!error.is_unexplained(), "{error}");
    assert!(error.to_string().contains("body.messages: Extra inputs are not permitted"), "{error}");
}

/// Reads a request, which is sent at once.
async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = [0; 65536];
    assert!(stream.read(&mut bytes).await.unwrap() > 0);
    stream
}

async fn send_all(stream: &mut TcpStream, script: Vec<Act>) {
    for act in script {
        let Act::Send(bytes) = act else { panic!("{act:?} is no answer") };
        stream.write_all(&bytes).await.unwrap();
    }
}

#[tokio::test]
async fn a_request_that_fails_takes_away_nothing_that_another_has_learned() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let provider = openai(settings(&address));
    let (tell, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let host = async {
        let mut slow = accept(&listener).await;
        tell.send(()).unwrap();
        send_all(&mut accept(&listener).await, reply("400 x", "", NO_TOOLS)).await;
        send_all(&mut accept(&listener).await, hello()).await;
        send_all(&mut slow, reply("401 x", "", r#"{"error":{"message":"bad key"}}"#)).await;
    };
    let fast = async {
        begun.recv().await.unwrap();
        answer(&provider, &[USER]).await
    };
    let (slow, fast, ()) = tokio::join!(answer(&provider, &[USER]), fast, host);
    assert_eq!((slow.unwrap_err().code(), fast.is_ok()), ("key", true));
    assert_eq!(provider.forms().names().collect::<Vec<_>>(), ["noTools"]);
}
