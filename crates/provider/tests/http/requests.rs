//! What is sent.

use ship_message::{Chunk, FinishReason};
use ship_provider::{ApiKey, HttpProvider, HttpSettings, Provider, Request};

use crate::host::{BODY, Host, KEY, ask, hello, openai, play_openai, reply, send, settings};

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

#[tokio::test]
async fn max_tokens_is_renamed_when_it_is_refused_and_stays_so() {
    let refusal = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
    let host = Host::playing(vec![reply("400 Bad Request", "", refusal), hello()]).await;
    let provider = openai(settings(&host.address));
    for _ in 0..2 {
        let mut chunks = Vec::new();
        provider.ask(BODY, &mut |chunk| chunks.push(chunk)).await.unwrap();
    }
    let requests = host.requests.lock().unwrap();
    let bodies: Vec<&str> =
        requests.iter().map(|request| request.split_once("\r\n\r\n").unwrap().1).collect();
    let renamed = BODY.replace("max_tokens", "max_completion_tokens");
    assert_eq!(bodies, [BODY, &renamed, &renamed]);
}

#[tokio::test]
async fn a_host_that_refuses_both_names_is_asked_twice_and_no_more() {
    let refusal = r#"{"error":{"message":"no 'max_tokens'","code":"unsupported_parameter"}}"#;
    let (asked, host) = play_openai(vec![reply("400 Bad Request", "", refusal)]).await;
    assert_eq!(
        asked.error(),
        ("refused", "openai refuses the request: no 'max_tokens' (400)".to_owned())
    );
    assert_eq!(host.asked(), 2);
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
        .extend(stream.as_bytes().chunks(1009).map(|piece| crate::host::Act::Send(piece.to_vec())));
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
    let body = provider.body(&request).unwrap();
    let mut chunks = Vec::new();
    let sink = Box::new(|chunk: Chunk| chunks.push(chunk));
    let answered = provider.answer(&request, &body, sink).await.unwrap();
    assert_eq!((answered.finish_reason, chunks.len()), (FinishReason::Stop, 3));
    assert!(body.contains("\"max_tokens\":7"), "{body}");
    assert!(host.requests.lock().unwrap()[0].ends_with(&body), "what is compiled is what is sent");
}
