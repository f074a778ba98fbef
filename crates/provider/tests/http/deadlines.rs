//! Whoever hangs is left, and whoever is left hanging is told.

use std::time::Duration;

use ship_message::Chunk;
use ship_provider::{Deadline, HttpSettings, ProviderError};
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;

use super::host::{Act, BODY, Host, STREAM, ask, half, hello, openai, send, settings};

const SHORT: Duration = Duration::from_millis(80);

fn hasty(address: &str) -> HttpSettings {
    HttpSettings { first_byte: SHORT, idle: SHORT, retries: 1, ..settings(address) }
}

#[tokio::test]
async fn a_host_that_begins_no_answer_is_tried_again_and_then_left() {
    for hang in [
        vec![Act::Hang],
        vec![send("HTTP/1.1 200 OK\r\n"), Act::Hang],
        vec![send(STREAM), Act::Hang],
    ] {
        let host = Host::playing(vec![hang.clone()]).await;
        let asked = ask(openai(hasty(&host.address))).await;
        let wanted = ProviderError::TimedOut {
            provider: "openai".to_owned(),
            host: host.address.clone(),
            deadline: Deadline::FirstByte,
            after: SHORT,
            attempts: 2,
        };
        assert_eq!(asked.answered, Err(wanted), "{hang:?}");
        assert!(asked.error().1.contains("`llm.firstByteMs`"));
        // On a busy machine a request may be given up before the host has read it.
        assert!(host.asked() <= 2);
    }
}

#[tokio::test]
async fn a_host_that_is_slow_once_is_asked_once_more() {
    let host = Host::playing(vec![vec![Act::Hang], hello()]).await;
    assert!(ask(openai(hasty(&host.address))).await.is_hello());
}

#[tokio::test]
async fn an_answer_that_stalls_is_cut_and_names_its_setting() {
    let mut host = Host::playing(vec![vec![half(), Act::Hang]]).await;
    let asked = ask(openai(hasty(&host.address))).await;
    let (code, told) = asked.error();
    assert_eq!((code, asked.text().as_str()), ("cut", "hal"));
    assert!(told.contains("`llm.idleMs`"), "{told}");
    host.gone.recv().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_stalls_behind_its_end_is_whole() {
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let host = Host::playing(vec![vec![half(), send(end), Act::Hang]]).await;
    let asked = ask(openai(hasty(&host.address))).await;
    assert!(asked.answered.is_ok(), "{asked:?}");
}

#[tokio::test]
async fn a_connection_that_is_not_made_in_time_names_its_setting() {
    // It takes the connection, and never says a word of TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = hasty("");
    settings.base_url = format!("https://{}/v1", listener.local_addr().unwrap());
    settings.connect = SHORT;
    settings.first_byte = Duration::from_secs(60);
    let asked = ask(openai(settings)).await;
    let (code, told) = asked.error();
    assert_eq!(code, "timed_out");
    assert!(told.contains("`llm.connectMs`"), "{told}");
}

#[tokio::test]
async fn dropping_the_answer_closes_the_connection() {
    let (nothing, head, text) = (vec![], vec![send(STREAM)], vec![half()]);
    for (mut script, has_text) in [(nothing, false), (head, false), (text, true)] {
        script.push(Act::Hang);
        let mut host = Host::playing(vec![script]).await;
        let provider = openai(settings(&host.address));
        let (give, mut given) = unbounded_channel();
        let mut sink = |chunk| give.send(chunk).unwrap();
        let hangs = async {
            host.hangs.recv().await.unwrap();
            while has_text && !matches!(given.recv().await, Some(Chunk::TextDelta(..))) {}
        };
        tokio::select! {
            answered = provider.ask(BODY, &mut sink) => panic!("{answered:?}"),
            () = hangs => {}
        }
        host.gone.recv().await.unwrap();
    }
}
