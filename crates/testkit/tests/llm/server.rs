//! The server itself: keys, shapes of answers, counts, and what it remembers.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};
use ship_testkit::llm::{
    Answer, Auth, Format, LlmServer, Piece, Rules, Speech, Step, Stop, Usage, faults, signature,
};

use crate::cases::with;
use crate::client::{End, FORMATS, post, read, request, send};

#[test]
fn without_a_script_it_says_what_the_user_said() {
    let server = LlmServer::start();
    for format in FORMATS {
        let reply = post(&server, format, &request(format, true));
        assert_eq!((reply.status, reply.end, reply.words().as_str()), (200, End::Whole, "hi"));
        let whole = post(&server, format, &request(format, false)).json();
        let said = whole["choices"][0]["message"]["content"].as_str();
        assert_eq!(said.or(whole["content"][0]["text"].as_str()), Some("hi"));
    }
}

#[test]
fn keys_and_versions_are_asked_for() {
    let server = LlmServer::with(Rules { auth: Auth::Key("right".to_owned()), ..Rules::default() });
    let openai = |headers: &str| {
        let body = request(Format::OpenAi, false).to_string();
        read(send(&server, "POST", "/v1/chat/completions", headers, body.as_bytes()))
    };
    assert!(
        openai("").json()["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("You didn't provide an API key.")
    );
    let wrong = openai("authorization: Bearer wrong\r\n");
    assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (401, &json!("invalid_api_key")));
    assert_eq!(openai("authorization: Bearer right\r\n").status, 200);

    let anthropic = |headers: &str| {
        let body = request(Format::Anthropic, false).to_string();
        read(send(&server, "POST", "/messages", headers, body.as_bytes()))
    };
    let version = "anthropic-version: 2023-06-01\r\n";
    for (headers, status, message) in [
        (version, 401, "x-api-key header is required"),
        ("x-api-key: wrong\r\nanthropic-version: 2023-06-01\r\n", 401, "invalid x-api-key"),
        ("x-api-key: right\r\n", 400, "anthropic-version: header is required"),
        (
            "x-api-key: right\r\nanthropic-version: 1\r\n",
            400,
            "anthropic-version: \"1\" is not a valid version",
        ),
    ] {
        let reply = anthropic(headers);
        assert_eq!(
            (reply.status, reply.json()["error"]["message"].as_str()),
            (status, Some(message))
        );
        assert!(reply.head.contains(&format!(
            "request-id: {}\r\n",
            reply.json()["request_id"].as_str().unwrap()
        )));
    }
    assert_eq!(anthropic(&format!("x-api-key: right\r\n{version}")).status, 200);
    assert_eq!(
        anthropic("authorization: Bearer right\r\nanthropic-version: 2026-10-21\r\n").status,
        200
    );
    // The key's own header wins.
    let both = anthropic(&format!("x-api-key: right\r\nauthorization: Bearer wrong\r\n{version}"));
    assert_eq!(both.status, 200);
}

#[test]
fn the_version_in_the_header_decides_what_is_taken() {
    let server = LlmServer::start();
    let body = with(request(Format::Anthropic, false), json!({"temperature": 1.0})).to_string();
    let ask = |version: &str| {
        let headers = format!("x-api-key: k\r\nanthropic-version: {version}\r\n");
        read(send(&server, "POST", "/v1/messages", &headers, body.as_bytes())).status
    };
    assert_eq!((ask("2023-06-01"), ask("2026-10-21")), (200, 400));
}

#[test]
fn openai_streams_the_role_first_and_done_last() {
    let server = LlmServer::start();
    let calls = [
        Piece::Text("Let me look.".to_owned()),
        Piece::call("a", "{}"),
        Piece::call("b", r#"{"x":1}"#),
    ];
    server.then(Speech::new(calls));
    let reply = post(&server, Format::OpenAi, &request(Format::OpenAi, true));

    assert!(reply.head.contains("content-type: text/event-stream; charset=utf-8\r\n"));
    assert!(reply.head.contains("x-request-id: req_000001\r\n"));
    let events = reply.events();
    assert_eq!(
        events[0]["choices"][0]["delta"],
        json!({"role": "assistant", "content": "", "refusal": null})
    );
    assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk"
        && event["service_tier"] == "default"
        && event["obfuscation"].is_string()));
    let (last, others) = events.split_last().unwrap();
    assert!(others.iter().all(|event| event.get("usage") == Some(&Value::Null)));
    assert_eq!((&last["choices"], &last["usage"]["prompt_tokens"]), (&json!([]), &json!(5)));
    assert_eq!(others.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
    assert!(reply.text().ends_with("data: [DONE]\n\n"));
    let ids: Vec<&Value> = others
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0]["id"])
        .filter(|id| id.is_string())
        .collect();
    assert_eq!(ids, [&json!("call_000001_0"), &json!("call_000001_1")]);
}

#[test]
fn openai_sends_the_role_with_a_first_call_and_no_usage_unless_asked() {
    let server = LlmServer::start();
    server.then(Answer::call("look", "{}"));
    let quiet = with(request(Format::OpenAi, true), json!({"stream_options": null}));
    let events = post(&server, Format::OpenAi, &quiet).events();
    let delta = &events[0]["choices"][0]["delta"];
    assert_eq!((&delta["role"], &delta["content"]), (&json!("assistant"), &Value::Null));
    assert_eq!(delta["tool_calls"][0]["function"]["name"], "look");
    assert!(events.iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn anthropic_streams_block_after_block_and_signs_its_thinking() {
    let server = LlmServer::start();
    let pieces = [
        Piece::Reasoning("I see".to_owned()),
        Piece::Redacted("psst".to_owned()),
        Piece::Text("So.".to_owned()),
        Piece::call("a", r#"{"x":1}"#),
    ];
    server.then(Speech::new(pieces));
    let reply = post(&server, Format::Anthropic, &request(Format::Anthropic, true));

    assert!(reply.head.contains("request-id: req_000001\r\n"));
    let events = reply.events();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["message_start", "content_block_start", "ping"]);
    assert_eq!(kinds[kinds.len() - 2..], ["message_delta", "message_stop"]);
    let named: Vec<String> = reply
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("event: ").map(str::to_owned))
        .collect();
    assert_eq!(named, kinds, "an event's name is its type");
    let starts = events.iter().filter(|event| event["type"] == "content_block_start");
    let starts: Vec<(&Value, &Value)> =
        starts.map(|event| (&event["index"], &event["content_block"]["type"])).collect();
    let expected = ["thinking", "redacted_thinking", "text", "tool_use"];
    for (at, (index, kind)) in starts.into_iter().enumerate() {
        assert_eq!((index, kind), (&json!(at), &json!(expected[at])));
    }
    let signed = events.iter().find_map(|event| event["delta"]["signature"].as_str());
    assert_eq!(signed, Some(signature("I see").as_str()));
    let partial = events.iter().find(|event| event["delta"]["type"] == "input_json_delta").unwrap();
    assert_eq!(partial["delta"]["partial_json"], "");
    assert_eq!(events[kinds.len() - 2]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn what_it_thought_is_taken_back_only_as_it_was() {
    let server = LlmServer::start();
    server.then(Speech::new([Piece::Reasoning("I see".to_owned()), Piece::Text("So.".to_owned())]));
    let content =
        post(&server, Format::Anthropic, &request(Format::Anthropic, false)).json()["content"]
            .clone();
    let back = |content: &Value| {
        let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": content}, {"role": "user", "content": "and?"}]);
        let body = with(request(Format::Anthropic, false), json!({"messages": messages}));
        post(&server, Format::Anthropic, &body).status
    };
    assert_eq!(back(&content), 200);
    let mut changed = content;
    changed[0]["thinking"] = json!("I saw");
    assert_eq!(back(&changed), 400);
    assert_eq!(server.requests()[2].refused, Some("thinking_modified"));
}

#[test]
fn usage_and_reasons_are_what_the_script_says() {
    let server = LlmServer::start();
    let usage = Usage { input: 1000, cached: 600, created: [100, 50], output: 7, reasoning: 3 };
    for format in FORMATS {
        server.then(Speech::text("x").usage(usage).stop(Stop::Other("odd".to_owned())));
        let whole = post(&server, format, &request(format, false)).json();
        match format {
            Format::OpenAi => {
                assert_eq!(whole["choices"][0]["finish_reason"], "odd");
                assert_eq!(whole["usage"]["prompt_tokens"], 1000);
                assert_eq!(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 600);
                assert_eq!(whole["usage"]["completion_tokens_details"]["reasoning_tokens"], 3);
            }
            Format::Anthropic => {
                assert_eq!(whole["stop_reason"], "odd");
                assert_eq!(whole["usage"]["input_tokens"], 250);
                assert_eq!(whole["usage"]["cache_read_input_tokens"], 600);
                assert_eq!(whole["usage"]["cache_creation_input_tokens"], 150);
            }
        }
        server.then(Speech::text("x").without_usage());
        assert!(post(&server, format, &request(format, false)).json().get("usage").is_none());
    }
}

#[test]
fn a_refused_request_uses_up_no_answer_and_is_noted() {
    let server = LlmServer::start();
    server.then(Answer::text("first"));
    let broken = with(request(Format::OpenAi, false), json!({"messages": null}));
    assert_eq!(post(&server, Format::OpenAi, &broken).status, 400);
    assert_eq!(
        (server.answers_left(), server.requests()[0].refused),
        (1, Some("messages_missing"))
    );
    assert_eq!(post(&server, Format::OpenAi, &request(Format::OpenAi, true)).words(), "first");
    assert_eq!((server.answers_left(), server.requests()[1].refused), (0, None));
}

#[test]
fn a_script_may_decide_when_it_sees_the_request_and_may_never_end() {
    let server = LlmServer::start();
    server.otherwise(Answer::judge(|exchange| {
        Answer::text(format!("{} asked {}", exchange.request.number, exchange.model()))
    }));
    for number in 1..=3 {
        let words = post(&server, Format::OpenAi, &request(Format::OpenAi, true)).words();
        assert_eq!(words, format!("{number} asked m"));
    }
}

#[test]
fn raw_steps_are_the_bytes_on_the_wire() {
    let server = LlmServer::start();
    let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhm".to_vec();
    server.then(Answer::Raw(vec![Step::Bytes(bytes), Step::Close]));
    let reply = post(&server, Format::OpenAi, &request(Format::OpenAi, true));
    assert_eq!(
        (reply.head.as_str(), reply.text().as_str()),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", "hm")
    );
}

#[tokio::test]
async fn everything_that_came_is_remembered_to_the_byte() {
    let server = LlmServer::start();
    let body = "{\"model\": \"m\",  \"messages\": [{\"role\":\"user\",\"content\":\"ü\"}]}\n";
    let headers = "Authorization: Bearer k\r\nX-Mine: Yes\r\n";
    read(send(&server, "POST", "/v1/chat/completions?x=1", headers, body.as_bytes()));
    let all = server.wait_until_over(1).await;
    let one = &all[0];
    assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/v1/chat/completions?x=1"));
    assert_eq!((one.body.as_slice(), one.header("x-mine")), (body.as_bytes(), Some("Yes")));
    assert_eq!((one.format, one.refused, one.hung_up), (Some(Format::OpenAi), None, false));
}

#[tokio::test]
async fn a_client_that_hangs_up_early_is_noticed() {
    let server = LlmServer::start();
    server.then(faults::stall_mid_text());
    let body = request(Format::OpenAi, true).to_string();
    let stream = send(
        &server,
        "POST",
        "/v1/chat/completions",
        "authorization: Bearer k\r\n",
        body.as_bytes(),
    );
    let waiting = server.wait_for(1).await;
    assert!(!waiting[0].over);
    drop(stream);
    let over = server.wait_until_over(1).await;
    assert!(over[0].hung_up);
}

#[test]
fn bodies_in_chunks_are_read() {
    let server = LlmServer::start();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = request(Format::OpenAi, true).to_string();
    let (first, second) = body.split_at(10);
    let head = "POST /chat/completions HTTP/1.1\r\nauthorization: Bearer k\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    for part in [first, second] {
        stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    assert_eq!(read(stream).words(), "hi");
    assert_eq!(server.requests()[0].body, body.as_bytes());
}

#[test]
fn other_paths_and_methods_are_refused() {
    let server = LlmServer::start();
    let ask = |method: &str, path: &str| read(send(&server, method, path, "", b"")).status;
    assert_eq!((ask("GET", "/v1/models"), ask("GET", "/v1/chat/completions")), (404, 405));
    assert_eq!(ask("POST", "/v1/messages/batches"), 404);
    let refused = LlmServer::refused_url();
    assert!(TcpStream::connect(refused.trim_start_matches("http://")).is_err());
}

#[test]
fn tokens_are_counted_before_anything_is_asked() {
    let server = LlmServer::start();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hello world"}]});
    let headers = "x-api-key: k\r\nanthropic-version: 2023-06-01\r\n";
    let path = "/v1/messages/count_tokens";
    let reply = read(send(&server, "POST", path, headers, body.to_string().as_bytes()));
    assert_eq!((reply.json(), server.answers_left()), (json!({"input_tokens": 6}), 0));
}
