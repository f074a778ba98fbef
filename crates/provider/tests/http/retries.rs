//! What may pass is tried again, not sooner than asked, not too often, and the person is told.

use ship_message::Chunk;
use ship_message::json::Json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::host::{Act, BODY, STREAM, ask, hello, openai, play_openai, reply, send, settings};

#[tokio::test]
async fn statuses_that_may_pass_are_tried_again_with_the_same_body() {
    for status in ["408 x", "409 x", "429 x", "500 x", "502 x", "503 x", "504 x", "529 x"] {
        let page = "<html><h1>Bad gateway</h1></html>";
        let (asked, host) = play_openai(vec![reply(status, "", page), hello()]).await;
        assert!(asked.is_hello(), "{status}: {asked:?}");
        assert_eq!(asked.waits_ms, [250]);
        let requests = host.requests.lock().unwrap();
        assert!(requests.iter().all(|request| request.ends_with(BODY)) && requests.len() == 2);
    }
}

#[tokio::test]
async fn it_is_tried_five_times_in_all_and_then_said_what_failed_last() {
    let body =
        r#"{"error":{"message":"The engine is currently overloaded","type":"server_error"}}"#;
    let (asked, host) = play_openai(vec![reply("503 Service Unavailable", "", body)]).await;
    assert_eq!(
        asked.error(),
        (
            "unavailable",
            "openai did not answer after 5 attempts: The engine is currently overloaded (503)"
                .to_owned()
        )
    );
    assert_eq!(host.asked(), 5);
    assert_eq!(asked.waits_ms, [250, 500, 1000, 2000]);
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_kept_and_told_to_the_person() {
    let limited = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
    let date =
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:37 GMT\r\n";
    for (headers, wait) in
        [("retry-after: 7\r\n", 7250), ("retry-after-ms: 1500\r\n", 1750), (date, 60250)]
    {
        let script = vec![reply("429 Too Many Requests", headers, limited), hello()];
        let (asked, _) = play_openai(script).await;
        assert!(asked.is_hello());
        assert_eq!(asked.waits_ms, [wait]);
        let Some(Chunk::Data(notice)) = asked.chunks.first() else { panic!("{asked:?}") };
        let seconds = wait.div_ceil(1000);
        assert_eq!(
            Json::from(notice.clone()).stringify(),
            format!(
                r#"{{"type":"data-notice","data":{{"kind":"retry","waitMs":{wait},"attempt":1,"reason":"Rate limit reached (429)","text":"retrying in {seconds} s (429)"}},"transient":true}}"#
            )
        );
    }
}

#[tokio::test]
async fn short_waits_are_not_told() {
    let (asked, _) = play_openai(vec![reply("500 x", "", ""), hello()]).await;
    assert!(!asked.chunks.iter().any(|chunk| matches!(chunk, Chunk::Data(_))));
}

#[tokio::test]
async fn a_wait_beyond_the_budget_is_not_begun() {
    let limited = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
    let (asked, host) =
        play_openai(vec![reply("429 x", "retry-after: 3600\r\n", limited), hello()]).await;
    assert_eq!(
        asked.error(),
        (
            "too_long_to_wait",
            "openai asks to wait 3600 s before the next try: Rate limit reached (429)".to_owned()
        )
    );
    assert_eq!((host.asked(), asked.waits_ms.len()), (1, 0));
    // Three waits of a minute are more than the budget, too.
    let (asked, host) = play_openai(vec![reply("429 x", "retry-after: 80\r\n", limited)]).await;
    assert_eq!(asked.error().0, "too_long_to_wait");
    assert_eq!(host.asked(), 3);
}

#[tokio::test]
async fn should_retry_wins_over_the_status() {
    let (asked, host) =
        play_openai(vec![reply("500 x", "x-should-retry: false\r\n", ""), hello()]).await;
    assert_eq!(asked.error().0, "unavailable");
    assert_eq!(host.asked(), 1);
    let (asked, _) =
        play_openai(vec![reply("400 x", "x-should-retry: true\r\n", "{}"), hello()]).await;
    assert!(asked.is_hello());
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_tried_again() {
    let early = [
        vec![Act::Reset],
        vec![],
        vec![send("HTTP/1.1 200 OK\r\n"), Act::Reset],
        vec![send(STREAM)],
        vec![send(STREAM), Act::Reset],
        vec![send(format!("{STREAM}: PROCESSING\n\ndata: {{\"choi")), Act::Reset],
    ];
    for script in early {
        let (asked, host) = play_openai(vec![script.clone(), hello()]).await;
        assert!(asked.is_hello(), "{script:?}: {asked:?}");
        assert_eq!(host.asked(), 2);
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_tried_again_when_it_may_pass() {
    let overloaded = format!(
        "{STREAM}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}}}\n\n"
    );
    let (asked, _) = play_openai(vec![vec![send(overloaded)], hello()]).await;
    assert!(asked.is_hello(), "{asked:?}");
    // LiteLLM has the number of the status as a text.
    let limited = format!(
        "{STREAM}data: {{\"error\":{{\"message\":\"litellm.RateLimitError: x\",\"type\":\"None\",\"param\":\"None\",\"code\":\"429\"}}}}\n\n"
    );
    let (asked, _) = play_openai(vec![vec![send(&*limited)], hello()]).await;
    assert!(asked.is_hello(), "{asked:?}");
    let (asked, _) = play_openai(vec![vec![send(limited)]]).await;
    let remedy = asked.answered.unwrap_err().remedy().unwrap();
    assert!(remedy.starts_with("It limits requests per minute"), "{remedy}");
    let quota = format!(
        "{STREAM}data: {{\"error\":{{\"code\":\"insufficient_quota\",\"message\":\"none left\"}}}}\n\n"
    );
    let (asked, host) = play_openai(vec![vec![send(quota)], hello()]).await;
    assert_eq!((asked.error().0, host.asked()), ("quota", 1));
}

#[tokio::test]
async fn a_closed_port_an_unknown_host_and_no_trust_name_the_host_and_the_setting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap().to_string();
    drop(listener);
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let no_tls = plain.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    for base in [
        format!("http://{closed}/v1"),
        // A name that no resolver asks anybody about, since none can be so long.
        format!("http://{}.invalid/v1", "x".repeat(64)),
        format!("https://{no_tls}/v1"),
    ] {
        let mut settings = settings("");
        settings.base_url = base.clone();
        let asked = ask(openai(settings)).await;
        let (code, told) = asked.error();
        let host = base.split('/').nth(2).unwrap();
        assert_eq!(code, "unavailable", "{told}");
        let wanted = format!(
            "openai did not answer after 5 attempts: cannot connect to {host} (`llm.baseUrl`): "
        );
        assert!(told.starts_with(&wanted) && told.len() > wanted.len(), "{told}");
    }
}
