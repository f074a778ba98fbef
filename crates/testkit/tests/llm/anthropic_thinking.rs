//! Each rule of Anthropic's about thinking and pictures, and what the newer version of the API refuses.

use serde_json::{Value, json};
use ship_testkit::llm::{Rules, Version, redacted, signature};

use crate::anthropic_rules::{
    JUDGE, assistant, call, called, case, request, result, said, text, user,
};
use crate::cases::{base64, hold, png, with};

#[test]
fn thinking_comes_back_as_it_was_sent() {
    let thought = |words: &str, signature: &str| json!({"type": "thinking", "thinking": words, "signature": signature});
    let whole = thought("I see", &signature("I see"));
    let changed = thought("I saw", &signature("I see"));
    let foreign = thought("I see", "c2lnbmVk");
    let kept = |block: &Value| {
        said(json!([user(json!("a")), assistant(json!([block, text("b")])), user(json!("c"))]))
    };
    let older = |block: &Value| {
        said(json!([
            user(json!("a")),
            assistant(json!([block, text("b")])),
            user(json!("c")),
            assistant(json!("d")),
            user(json!("e"))
        ]))
    };
    let invalid = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let modified = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";
    let hidden = |data: &str| json!({"type": "redacted_thinking", "data": data});
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case("thinking_signature", kept(&foreign), invalid, kept(&whole)),
            case("thinking_signature", older(&changed), invalid, older(&whole)),
            case("thinking_modified", kept(&changed), modified, kept(&whole)),
            case(
                "thinking_field",
                kept(&json!({"type": "thinking", "thinking": "I see"})),
                "messages.1.content.0.thinking.signature: Field required",
                kept(&whole),
            ),
            case(
                "thinking_redacted",
                kept(&hidden("AAAA")),
                "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
                kept(&hidden(&redacted("psst"))),
            ),
        ],
    );
    let trusting = Rules { signatures: false, ..Rules::default() };
    assert!(JUDGE(&kept(&foreign).to_string(), &trusting).is_ok());
}

#[test]
fn an_open_tool_loop_still_begins_with_its_thinking() {
    let thinking =
        json!({"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000});
    let thought = json!({"type": "thinking", "thinking": "I see", "signature": signature("I see")});
    let within = |blocks: Value, then: Value| with(called(blocks, then), thinking.clone());
    let open = |blocks: Value| within(blocks, json!([result("a")]));
    let dropped = |found: &str| {
        format!(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )
    };
    let steps = |first: Value| {
        let messages = json!([
            user(json!("go")),
            assistant(first),
            user(json!([result("a")])),
            assistant(json!([call("b")])),
            user(json!([result("b")]))
        ]);
        with(said(messages), thinking.clone())
    };
    let closed = with(
        said(json!([
            user(json!("go")),
            assistant(json!([call("a")])),
            user(json!([result("a")])),
            assistant(json!("done")),
            user(json!("thanks"))
        ])),
        thinking.clone(),
    );
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "thinking_dropped",
                open(json!([call("a")])),
                &dropped("tool_use"),
                open(json!([thought, call("a")])),
            ),
            case(
                "thinking_dropped",
                open(json!([text("so"), call("a")])),
                &dropped("text"),
                closed,
            ),
            case(
                "thinking_dropped",
                steps(json!([call("a")])),
                &dropped("tool_use"),
                steps(json!([thought, call("a")])),
            ),
        ],
    );
}

#[test]
fn pictures_have_a_format_and_a_size() {
    let source = |kind: &str, data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}});
    let shown = |images: Vec<Value>| said(json!([user(json!(images))]));
    let one = |kind: &str, data: &str| shown(vec![source(kind, data)]);
    let url =
        |url: &str| shown(vec![json!({"type": "image", "source": {"type": "url", "url": url}})]);
    let at = "messages.0.content.0.image.source";
    let fine = one("image/png", &png(8000, 1));
    let mut heavy = b"GIF89a".to_vec();
    heavy.resize((5 << 20) + 1, 0);
    let many = |side: u32, count: usize| shown(vec![source("image/png", &png(side, 1)); count]);
    let in_result = |side: u32| {
        called(
            json!([call("a")]),
            json!([with(result("a"), json!({"content": [source("image/png", &png(side, 1))]}))]),
        )
    };
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "image_type",
                one("image/bmp", &png(1, 1)),
                &format!(
                    "{at}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
                ),
                fine.clone(),
            ),
            case(
                "image_side",
                one("image/png", &png(1, 8001)),
                &format!(
                    "{at}.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"
                ),
                fine.clone(),
            ),
            case(
                "image_side",
                in_result(8001),
                "messages.2.content.0.tool_result.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
                in_result(8000),
            ),
            case(
                "image_side_of_many",
                many(2001, 21),
                &format!(
                    "{at}.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"
                ),
                many(2001, 20),
            ),
            case(
                "image_mismatch",
                one("image/jpeg", &png(1, 1)),
                &format!(
                    "{at}.base64: The image was specified using the image/jpeg media type, but the image appears to be a image/png image"
                ),
                fine.clone(),
            ),
            case("image_data", one("image/png", "AAAA"), "Could not process image", fine.clone()),
            case(
                "image_bytes",
                one("image/gif", &base64(&heavy)),
                &format!("{at}.base64: image exceeds 5 MB maximum: 5242881 bytes > 5242880 bytes"),
                one(
                    "image/gif",
                    &base64(
                        &heavy[1..]
                            .iter()
                            .copied()
                            .scan(0, |at, byte| {
                                *at += 1;
                                Some(if *at < 7 { b"GIF89a"[*at - 1] } else { byte })
                            })
                            .collect::<Vec<u8>>(),
                    ),
                ),
            ),
            case(
                "image_url",
                url("http://example.com/a.png"),
                &format!("{at}.url.url: Only HTTPS URLs are supported."),
                url("https://example.com/a.png"),
            ),
            case(
                "image_source",
                shown(vec![json!({"type": "image"})]),
                &format!("{at}: Field required"),
                fine,
            ),
        ],
    );
}

#[test]
fn the_newer_version_takes_less() {
    let rules = Rules { version: Version::V2026, ..Rules::default() };
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}});
    let cited = |citations: Value| {
        said(json!([user(json!([{"type": "text", "text": "a", "citations": citations}]))]))
    };
    let from_assistant =
        said(json!([user(json!("a")), assistant(json!([document])), user(json!("b"))]));
    let from_user = said(json!([user(json!([document]))]));
    let document_role = "messages.1: `document` blocks can only be in `user` messages";
    let citations = "messages.0.content.0.text.citations: Extra inputs are not permitted";
    let sampling = "temperature: Extra inputs are not permitted";
    hold(
        JUDGE,
        &rules,
        vec![
            case("sampling", request(json!({"temperature": 1.0})), sampling, request(json!({}))),
            case("document_role", from_assistant.clone(), document_role, from_user),
            case(
                "citations_role",
                cited(json!([{"type": "char_location"}])),
                citations,
                cited(json!([])),
            ),
        ],
    );
    for older in [request(json!({"temperature": 1.0})), from_assistant, cited(json!([{}]))] {
        assert!(JUDGE(&older.to_string(), &Rules::default()).is_ok(), "{older}");
    }
}
