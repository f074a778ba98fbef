//! An answer that breaks off after a part of it was given is cut, and asks for no tool.

use ship_message::FinishReason;

use super::host::{Act, STREAM, half, hello, play_openai, send};

#[tokio::test]
async fn text_that_was_given_is_not_given_again() {
    for end in
        [vec![Act::Reset], vec![], vec![send("data: {\"choi")], vec![send("data: {oops\n\n")]]
    {
        let script = [vec![half()], end.clone()].concat();
        let (asked, host) = play_openai(vec![script, hello()]).await;
        let (code, told) = asked.error();
        assert_eq!(code, "cut", "{end:?}");
        assert!(told.starts_with("the answer from openai broke off: "), "{told}");
        assert_eq!((asked.text().as_str(), host.asked()), ("hal", 1));
    }
}

#[tokio::test]
async fn an_error_behind_text_is_a_cut_that_says_what_was_said() {
    let error =
        send("data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"}}\n\n");
    let (asked, _) = play_openai(vec![vec![half(), error]]).await;
    assert_eq!(asked.error(), ("cut", "the answer from openai broke off: Overloaded".to_owned()));
}

#[tokio::test]
async fn a_call_from_an_answer_that_broke_off_is_never_given() {
    let call = r#"data: {"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    for end in [vec![], vec![Act::Reset]] {
        let script = [vec![send(format!("{STREAM}{call}\n\n"))], end].concat();
        let (asked, _) = play_openai(vec![script]).await;
        assert_eq!(asked.error().0, "cut");
        assert!(!asked.has_calls());
    }
}

#[tokio::test]
async fn a_call_that_breaks_off_before_any_text_is_tried_again() {
    let call = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"x"}}]}}]}"#;
    let script = vec![send(format!("{STREAM}{call}\n\n")), Act::Reset];
    let (asked, _) = play_openai(vec![script, hello()]).await;
    assert!(asked.is_hello() && !asked.has_calls(), "{asked:?}");
}

#[tokio::test]
async fn an_answer_that_told_its_end_is_whole_though_the_connection_breaks_then() {
    let call = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let script = vec![send(format!("{STREAM}{call}\n\n")), Act::Reset];
    let (asked, _) = play_openai(vec![script]).await;
    assert_eq!(asked.answered.as_ref().unwrap().finish_reason, FinishReason::ToolCalls);
    assert!(asked.has_calls());
}
