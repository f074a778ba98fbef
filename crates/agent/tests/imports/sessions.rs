//! Sessions of other programs, with sub-agents, retries, pictures and compactions.

use ship_agent::{FileFormat, ImportReport};

use super::place::Place;

const CLAUDE_CODE: &str = include_str!("../fixtures/claude-code.jsonl");
const CODEX: &str = include_str!("../fixtures/codex.jsonl");
const CHATGPT: &str = include_str!("../fixtures/chatgpt.json");

/// Each context of a report: its title, its messages and what is kept as data.
fn told(report: &ImportReport) -> Vec<String> {
    let contexts = report.contexts.iter().map(|context| {
        let kept = context.kept_as_data.iter().map(|(kind, count)| format!(" {count}×{kind}"));
        let title = context.title.as_deref().unwrap_or("-");
        let open = context.unanswered_calls;
        format!("{title}: {} messages, {open} open;{}", context.messages, kept.collect::<String>())
    });
    contexts.collect()
}

#[tokio::test]
async fn a_session_of_claude_code_has_a_main_line_a_retry_and_a_sub_agent() {
    let place = Place::keeping(30);
    place.say("hello").await;
    let report = place.import(FileFormat::ClaudeCode, CLAUDE_CODE).await;
    assert_eq!(
        told(&report),
        [
            "Sub-agent a1b2c3: 2 messages, 0 open;",
            "Shop page with an open tag (retried 1): 4 messages, 0 open; 1×file-history-snapshot 1×text that was not typed 2×toolUseResult",
            "Shop page with an open tag: 7 messages, 1 open; 1×file-history-snapshot 1×summary 1×system 1×text that was not typed 2×toolUseResult",
        ]
    );
    assert_eq!(place.archived().await.len(), 3);
    let history = place.history().await;
    let texts: Vec<String> = history.iter().map(|message| message.text()).collect();
    for said in ["Find the bug.", "Which one?", "Close it, please.", "Now publish it."] {
        assert_eq!(texts.iter().filter(|text| text.contains(said)).count(), 1, "{said}: {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains("is being continued")), "no summary was said");
}

#[tokio::test]
async fn a_session_of_codex_has_what_was_taken_back_beside_it() {
    let place = Place::keeping(30);
    let report = place.import(FileFormat::Codex, CODEX).await;
    let told = told(&report);
    assert!(told[0].starts_with("Taken back 1: 5 messages, 0 open;"), "{told:?}");
    assert!(told[1].starts_with("-: 8 messages, 1 open;"), "{told:?}");
    let context = place.context().await;
    assert!(context[0].contains("painted blue"), "the summary begins the live log: {context:?}");
    assert!(context[1].contains("And the door?"), "{context:?}");
}

#[tokio::test]
async fn an_export_of_chatgpt_has_its_conversations_and_their_branches() {
    let place = Place::keeping(30);
    let report = place.import(FileFormat::ChatGpt, CHATGPT).await;
    assert_eq!(
        told(&report),
        [
            "Legs (branch 1): 2 messages, 0 open; 1×attachments 1×image_asset_pointer",
            "Legs: 3 messages, 0 open; 1×attachments 1×image_asset_pointer",
            "Dinner: 2 messages, 0 open;",
        ]
    );
    assert_eq!(place.context().await, ["user: Soup?", "assistant: Leek."]);
    assert!(place.import(FileFormat::ChatGpt, CHATGPT).await.changes_nothing());
}

#[tokio::test]
async fn a_session_that_was_cut_is_imported_without_its_tail_and_then_grows() {
    let place = Place::keeping(30);
    place.say("hello").await;
    let cut = CLAUDE_CODE.len() - 700;
    let whole = CLAUDE_CODE[..cut].rfind('\n').unwrap();
    place.import(FileFormat::ClaudeCode, &CLAUDE_CODE[..whole]).await;
    let report = place.import(FileFormat::ClaudeCode, CLAUDE_CODE).await;
    let fates: Vec<_> = report.contexts.iter().map(|context| context.fate).collect();
    use ship_agent::ContextFate::{Grown, Unchanged};
    assert_eq!(fates, [Unchanged, Unchanged, Grown]);
    assert_eq!(place.archived().await.len(), 3);
}
