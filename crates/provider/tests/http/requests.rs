//! What is sent.

use ship_message::{Chunk, FinishReason, UiMessage};
use ship_provider::{
    AnswerEnd, ApiKey, HttpProvider, HttpSettings, Provider, ProviderError, Recipe, Request,
};

use super::host::{BODY, Host, KEY, ask, hello, openai, play_openai, reply, send, settings};

#[tokio::test]
async fn the_body_is_sent_byte_for_byte_with_the_key_in_its_header() {
    let (asked, host) = play_openai(vec![hello()]).await;
    assert!(asked.is_hello());
    let request = host.requests.lock().unwrap()[0].clone();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, BODY);
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")));
    assert!(head.contains("content-type: application/json"));
}

#[tokio::test]
async fn anthropic_is_asked_its_own_way() {
    let stream = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
                  event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let host = Host::playing(vec![reply("200 OK", "", stream)]).await;
    let settings = HttpSettings {
        base_url: format!("http://{}/", host.address),
        key: Some(ApiKey::new(KEY)),
        ..HttpSettings::anthropic("m")
    };
    let provider = HttpProvider::anthropic(settings).unwrap();
    assert!(ask(provider).await.answered.is_ok());
    let request = host.requests.lock().unwrap()[0].clone();
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("anthropic-version: 2023-06-01"));
    assert!(request.contains(&format!("x-api-key: {KEY}")));
    assert!(!request.contains("authorization"));
}

#[tokio::test]
async fn a_host_without_a_key_is_asked_without_one() {
    let host = Host::playing(vec![hello()]).await;
    let mut settings = settings(&host.address);
    settings.key = None;
    assert!(ask(openai(settings)).await.is_hello());
    assert!(!host.requests.lock().unwrap()[0].contains("authorization"));
}

const NO_MAX_TOKENS: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;

/// Asks as the engine does: the provider's recipe writes the body. Gives the bodies that went out in its place.
async fn answer(
    provider: &HttpProvider,
    view: &[UiMessage],
) -> (Result<AnswerEnd, ProviderError>, Vec<String>) {
    let request = Request { system: &[], view, tools: &[], max_tokens: 7 };
    let body = provider.recipe().body(&request).expect("a body");
    let mut resent = Vec::new();
    let told = Box::new(|recipe: Recipe, body: &str| {
        assert_eq!(recipe.body(&request).expect("a body"), body, "the recipe is that of the body");
        resent.push(body.to_owned());
    });
    let answered = provider.answer_or_resend(&request, &body, Box::new(|_| ()), told).await;
    (answered, resent)
}

/// A message that has the field's name in its text and in the input of a call.
fn said() -> Vec<UiMessage> {
    let text =
        r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"\"max_tokens\":7, 1e3, é"}]}"#;
    let call = r#"{"id":"m2","role":"assistant","parts":[{"type":"tool-t","toolCallId":"c1","state":"output-available","input":{"max_tokens":1},"output":"ok"}]}"#;
    [text, call].iter().map(|text| UiMessage::parse(text).expect("a message")).collect()
}

#[tokio::test]
async fn max_tokens_is_renamed_when_it_is_refused_and_stays_so() {
    let host = Host::playing(vec![reply("400 Bad Request", "", NO_MAX_TOKENS), hello()]).await;
    let provider = openai(settings(&host.address));
    let view = said();
    let (answered, resent) = answer(&provider, &view).await;
    assert!(answered.is_ok());
    let (answered, again) = answer(&provider, &view).await;
    assert!(answered.is_ok() && again.is_empty(), "the second request has the new name at once");
    let requests = host.requests.lock().unwrap();
    let bodies: Vec<&str> =
        requests.iter().map(|request| request.split_once("\r\n\r\n").unwrap().1).collect();
    // Only the field of the body itself, at its place: a cache and a record of the request see no other change.
    let renamed = bodies[0].replacen("\"max_tokens\":7", "\"max_completion_tokens\":7", 1);
    assert!(bodies[0].starts_with(r#"{"model":"m","max_tokens":7,"#), "{}", bodies[0]);
    assert!(renamed.contains(r#"\"max_tokens\":7"#), "{renamed}");
    assert_eq!(bodies[1..], [&*renamed, &renamed]);
    assert_eq!(resent, [renamed]);
}

#[tokio::test]
async fn a_host_that_refuses_both_names_is_asked_twice_and_no_more() {
    let refusal = r#"{"error":{"message":"no 'max_tokens'","code":"unsupported_parameter"}}"#;
    let host = Host::playing(vec![reply("400 Bad Request", "", refusal)]).await;
    let (answered, resent) = answer(&openai(settings(&host.address)), &[]).await;
    let error = answered.unwrap_err();
    assert_eq!(error.code(), "refused");
    assert_eq!(error.to_string(), "openai refused the request: no 'max_tokens' (400)");
    assert_eq!((host.asked(), resent.len()), (2, 1));
}

#[tokio::test]
async fn a_body_without_its_request_is_not_changed() {
    let (asked, host) = play_openai(vec![reply("400 Bad Request", "", NO_MAX_TOKENS)]).await;
    assert_eq!(asked.error().0, "refused");
    assert_eq!(host.asked(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed_since_it_would_carry_the_key_away() {
    let elsewhere = Host::playing(vec![hello()]).await;
    let location = format!("location: http://{}/\r\n", elsewhere.address);
    let (asked, host) = play_openai(vec![reply("307 Temporary Redirect", &location, "")]).await;
    let (code, told) = asked.error();
    assert_eq!(code, "protocol");
    assert!(told.contains("307") && told.contains("`llm.baseUrl`"), "{told}");
    assert_eq!((host.asked(), elsewhere.asked()), (1, 0));
}

#[tokio::test]
async fn odd_but_legal_streams_are_answers() {
    let pings = ": ping\r\n\r\n".repeat(2000);
    let stream = format!(
        "\u{feff}{pings}event: x\r\nid: 1\r\ndata: {{\"choices\":[{{\"delta\":\r\ndata: {{\"content\":\"你好\"}}}}]}}\r\n\r\ndata: {{\"choices\":null}}\r\n\r\ndata: {{\"choices\":[{{\"finish_reason\":\"stop\"}}]}}\r\n\r\ndata: [DONE]"
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n";
    let mut script = vec![send(head)];
    // Cut anywhere, also inside of characters.
    script
        .extend(stream.as_bytes().chunks(1009).map(|piece| super::host::Act::Send(piece.to_vec())));
    let (asked, _) = play_openai(vec![script]).await;
    assert_eq!(asked.text(), "你好");
    assert!(asked.answered.is_ok(), "{asked:?}");
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_an_answer() {
    let body = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let (asked, _) =
        play_openai(vec![reply("200 OK", "content-type: application/json\r\n", body)]).await;
    assert!(asked.is_hello());
}

#[tokio::test]
async fn as_a_provider_it_compiles_what_it_is_asked_and_tells_who_it_is() {
    let host = Host::playing(vec![hello()]).await;
    let mut settings = settings(&host.address);
    settings.window = Some(9);
    let provider = HttpProvider::openai(settings).unwrap();
    let provider: &dyn Provider = &provider;
    let told = (provider.name(), provider.model(), provider.window_tokens());
    assert_eq!(told, ("openai", "m", Some(9)));
    let request = Request { system: &[], view: &[], tools: &[], max_tokens: 7 };
    let body = provider.recipe().body(&request).unwrap();
    let mut chunks = Vec::new();
    let sink = Box::new(|chunk: Chunk| chunks.push(chunk));
    let answered = provider.answer(&request, &body, sink).await.unwrap();
    assert_eq!((answered.finish_reason, chunks.len()), (FinishReason::Stop, 3));
    assert!(body.contains("\"max_tokens\":7"), "{body}");
    assert!(host.requests.lock().unwrap()[0].ends_with(&body), "what is compiled is what is sent");
}
