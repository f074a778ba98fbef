//! What the environment of the process says about proxies and certificates. Each test runs a second one in a
//! process with that environment, which nothing else can have.

use std::process::Command;

use super::host::{Host, ask, hello, openai, settings};

#[tokio::test]
#[ignore = "run by the test below, with a proxy in the environment"]
async fn behind_a_proxy() {
    let near = Host::playing(vec![hello()]).await;
    assert!(ask(openai(settings(&near.address))).await.is_hello());
    assert_eq!(near.asked(), 1);
    assert!(ask(openai(settings("provider.example"))).await.is_hello());
}

#[tokio::test]
async fn a_proxy_is_used_for_others_and_not_for_this_machine() {
    let proxy = Host::playing(vec![hello()]).await;
    let address = format!("http://{}", proxy.address);
    run("http::environment::behind_a_proxy", &[("HTTP_PROXY", &address), ("http_proxy", &address)])
        .await;
    let requests = proxy.requests.lock().unwrap();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].starts_with("POST http://provider.example/v1/chat/completions HTTP/1.1"));
}

#[tokio::test]
#[ignore = "run by the test below, without certificates"]
async fn without_certificates() {
    let host = Host::playing(vec![hello()]).await;
    assert!(ask(openai(settings(&host.address))).await.is_hello());
}

#[tokio::test]
async fn a_machine_without_certificates_can_ask() {
    let nowhere = [("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")];
    run("http::environment::without_certificates", &nowhere).await;
}

/// Runs a test in a process of its own, with this in its environment.
async fn run(test: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([test, "--exact", "--ignored"]).envs(environment.iter().copied());
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    let ran = tokio::task::spawn_blocking(move || command.output());
    let output = ran.await.expect("it does not panic").expect("it can be run");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}
