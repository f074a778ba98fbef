//! Files, tools and results that no provider takes as they are: each becomes something that all of them take.

use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::wire::{Format, Parameters};
use ship_provider::{CompileTarget, HostForms, Request, SendFiles, ToolSpec, compile};
use ship_testkit::llm::{Rules, judge_anthropic, judge_openai};

/// Compiles for both formats, and has both judged by the strictest.
#[track_caller]
fn bodies(view: &[&str], tools: &[ToolSpec]) -> [String; 2] {
    let view: Vec<UiMessage> =
        view.iter().map(|text| UiMessage::parse(text).expect("a message")).collect();
    let request = Request { system: &[], view: &view, tools, max_tokens: 100 };
    [(Format::OpenAi, "openai"), (Format::Anthropic, "anthropic")].map(|(format, provider)| {
        let parameters =
            Parameters { max_tokens: Some(100), stream: true, ..Parameters::new("claude-test") };
        let target = CompileTarget {
            format,
            provider,
            files: SendFiles::Yes,
            forms: HostForms::default(),
            parameters,
        };
        let body = compile(&request, &target).expect("it can be written");
        let judged = match format {
            Format::OpenAi => judge_openai(&body, &Rules::strict()),
            Format::Anthropic => judge_anthropic(&body, &Rules::strict()),
        };
        judged.unwrap_or_else(|refusal| panic!("{format:?} refuses by {}: {body}", refusal.rule));
        body
    })
}

fn file(media_type: &str, url: &str) -> String {
    format!(
        r#"{{"id":"u","role":"user","parts":[{{"type":"text","text":"look"}},{{"type":"file","mediaType":"{media_type}","filename":"it","url":"{url}"}}]}}"#
    )
}

#[test]
fn a_file_that_cannot_be_fetched_or_read_becomes_a_note() {
    for (media_type, url) in [
        ("image/png", "https://"),
        ("image/png", "https://exa mple.com/a.png"),
        ("image/png", "https://localhost/a.png"),
        ("image/svg+xml", "https://example.com/a.svg"),
        ("application/pdf", "data:application/pdf;base64,aGk="),
        ("application/pdf", "ftp://example.com/a.pdf"),
    ] {
        for body in bodies(&[&file(media_type, url)], &[]) {
            assert!(body.contains("a file, it, was sent here; it is not shown"), "{url}: {body}");
        }
    }
    // Anthropic fetches only what is encrypted on the way.
    let [openai, anthropic] = bodies(&[&file("image/png", "http://example.com/a.png")], &[]);
    assert!(openai.contains("http://example.com/a.png") && !anthropic.contains("example.com"));
    let [openai, anthropic] = bodies(&[&file("image/png", "https://example.com/a.png")], &[]);
    assert!(openai.contains("example.com/a.png") && anthropic.contains("example.com/a.png"));
}

#[test]
fn a_text_file_that_would_fill_a_request_becomes_a_note() {
    let long = format!("data:text/plain,{}", "long ".repeat(7_000_000));
    for body in bodies(&[&file("text/plain", &long)], &[]) {
        assert!(body.len() < 10_000, "{} bytes", body.len());
    }
}

fn tool(name: &str, schema: &str) -> ToolSpec {
    let input_schema = Json::parse(schema).expect("a schema");
    ToolSpec { name: name.to_owned(), description: "Does it.".to_owned(), input_schema }
}

#[test]
fn tools_are_such_as_all_providers_take() {
    let hello = r#"{"id":"u","role":"user","parts":[{"type":"text","text":"hello"}]}"#;
    let union = tool("union", r#"{"oneOf":[{"type":"object"},{"type":"object"}]}"#);
    let twice = [tool("twice", r#"{"type":"object"}"#), tool("twice", r#"{"type":"object"}"#)];
    bodies(&[hello], &[union]);
    bodies(&[hello], &twice);
    let many: Vec<ToolSpec> =
        (0..200).map(|nth| tool(&format!("tool_{nth}"), r#"{"type":"object"}"#)).collect();
    for body in bodies(&[hello], &many) {
        assert!(body.contains("\"tool_127\"") && !body.contains("\"tool_128\""));
    }
}

#[test]
fn calls_that_share_an_id_have_each_their_own_result() {
    let call = |output: &str| {
        format!(
            r#"{{"type":"tool-look","toolCallId":"1","state":"output-available","input":{{}},"output":"{output}"}}"#
        )
    };
    let asked = r#"{"id":"u","role":"user","parts":[{"type":"text","text":"look"}]}"#;
    let answer = format!(
        r#"{{"id":"a","role":"assistant","parts":[{},{}]}}"#,
        call("first"),
        call("second")
    );
    for body in bodies(&[asked, &answer], &[]) {
        assert!(body.contains("first") && body.contains("second"), "{body}");
        assert!(!body.contains("outcome unknown"), "{body}");
    }
}
