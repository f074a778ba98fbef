//! Messages and entries go into an empty chat and into one in use.

use ship_agent::{ContextOperation, FileFormat, ImportFailure, ImportWishes, OperationOutcome};

use ship_context::contexts::RecallMode;

use super::place::{Place, talk};
use crate::harness::chat;

const SIX: [&str; 6] = ["soup?", "leek", "fish?", "cod", "wine?", "white"];

async fn done(place: &Place, operation: ContextOperation) {
    let done = place.agent.operate(&chat(), operation, "terminal").await.unwrap();
    assert!(matches!(done, OperationOutcome::Done(_)), "{done:?}");
}

#[tokio::test]
async fn in_an_empty_chat_a_file_is_the_active_context_with_its_newest_messages_live() {
    let place = Place::new();
    let report = place.import(FileFormat::UiMessage, &talk(&SIX)).await;
    assert!(report.contexts[0].is_active);
    let context = place.context().await;
    assert_eq!(context[1..], ["user: wine?", "assistant: white"], "{context:?}");
    assert!(context[0].contains("soup?") && context[0].contains("fish?"), "{context:?}");
    let texts: Vec<String> = place.history().await.iter().map(|message| message.text()).collect();
    assert_eq!(texts, SIX);
    place.say("and cheese?").await;
    let context = place.context().await;
    assert_eq!(context[3..], ["user: and cheese?", "assistant: Aye."], "{context:?}");
    assert_eq!(place.history().await.len(), 8);
    place.agent.undo_compaction(&chat()).await.unwrap();
    assert_eq!(place.context().await.len(), 8, "the originals are back");
}

#[tokio::test]
async fn a_short_file_is_live_as_it_is_and_keeps_ids_and_times() {
    let place = Place::keeping(30);
    place.import(FileFormat::UiMessage, &talk(&SIX)).await;
    let lines: Vec<String> =
        place.history().await.iter().map(|message| message.to_string() + "\n").collect();
    assert_eq!(lines.concat(), talk(&SIX));
    assert_eq!(place.context().await.len(), 6);
    place.say("thanks").await;
    assert_eq!(place.context().await.len(), 8);
}

#[tokio::test]
async fn in_a_chat_in_use_a_file_is_an_archived_context_that_can_be_listed_loaded_and_recalled() {
    let place = Place::new();
    place.say("trip?").await;
    let before = place.context().await;
    let title = Some("Dinner".to_owned());
    let wishes = ImportWishes { title, ..ImportWishes::default() };
    place.try_import(FileFormat::UiMessage, &talk(&SIX), wishes).await.unwrap();
    assert_eq!(place.context().await, before);
    assert_eq!(place.archived().await, [("Dinner".to_owned(), 6)]);
    assert_eq!(place.again().archived().await, [("Dinner".to_owned(), 6)]);
    let recall = ContextOperation::Recall { which: "dinner".to_owned(), mode: RecallMode::Full };
    done(&place, recall).await;
    done(&place, ContextOperation::Load { which: "dinner".to_owned() }).await;
    assert_eq!(place.context().await.len(), 6);
    place.say("more?").await;
    assert_eq!(place.context().await.len(), 8);
    assert_eq!(place.stored().await.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_file_that_ends_with_a_question_starts_no_run() {
    let place = Place::new();
    place.import(FileFormat::UiMessage, &talk(&SIX[..5])).await;
    assert_eq!(place.run().await, None, "nothing waits for an answer");
    place.say("and now?").await;
    assert_eq!(place.context().await.last().unwrap(), "assistant: Aye.");
}

#[tokio::test]
async fn messages_of_openai_become_messages_with_steps_and_results() {
    let place = Place::keeping(30);
    let lines = r#"[
        {"role":"system","content":"Be brief."},
        {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"see","arguments":"{\"at\":[1]}"}},{"id":"c2","type":"function","function":{"name":"see","arguments":"{"}}]},
        {"role":"tool","tool_call_id":"c1","content":"{\"cat\":true}"},
        {"role":"assistant","content":"A cat.","refusal":null,"annotations":[{"url":"x"}]},
        {"role":"tool","tool_call_id":"c9","content":"lost"}
    ]"#;
    let report = place.import(FileFormat::OpenAi, lines).await;
    let context = &report.contexts[0];
    assert_eq!((context.messages, context.unanswered_calls), (3, 1));
    let kept: Vec<(&str, u64)> =
        context.kept_as_data.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(kept, [("annotations", 1), ("result without a call", 1)]);
    let history = place.history().await;
    let answer = history[2].to_string();
    assert!(answer.contains(r#""input":{"at":[1]},"output":{"cat":true}"#), "{answer}");
    assert_eq!(answer.matches("step-start").count(), 2, "{answer}");
    assert!(history[1].to_string().contains("data:image/png"), "the picture is an attachment");
}

#[tokio::test]
async fn entries_keep_their_lines_and_a_compaction_divides_them() {
    let place = Place::keeping(30);
    let lines = [
        r#"{"id":"m001","ts":"2026-01-28T10:00:00Z","type":"msg","role":"user","content":"old"}"#,
        r#"{"id":"m002","ts":"2026-01-28T10:00:01Z","type":"msg","role":"assistant","content":null,"tool_calls":[{"id":"tc1","type":"function","function":{"name":"Skill","arguments":"{}"}}]}"#,
        r#"{"id":"e001","ts":"2026-01-28T10:00:02Z","type":"evt","event":"skill_activated","data":{"skill":"pptx"}}"#,
        r#"{"id":"m003","ts":"2026-01-28T10:00:03Z","type":"msg","role":"tool","tool_call_id":"tc1","tool_name":"Skill","content":"loaded"}"#,
        r#"{"id":"m004","ts":"2026-01-28T10:00:04Z","type":"msg","role":"user","content":"kept"}"#,
        r#"{"id":"e002","ts":"2026-01-28T10:01:00Z","type":"evt","event":"compaction","data":{"from":"m001","to":"m003","summary":"m005"}}"#,
        r#"{"id":"m005","ts":"2026-01-28T10:01:00Z","type":"msg","role":"user","content":"[Summary] old things"}"#,
        r#"{"id":"m001","ts":"2026-01-28T10:00:00Z","type":"msg","role":"user","content":"old","compacted":true}"#,
        r#"{"id":"m002","ts":"2026-01-28T10:00:01Z","type":"msg","role":"assistant","content":null,"tool_calls":[{"id":"tc1","type":"function","function":{"name":"Skill","arguments":"{}"}}],"compacted":true}"#,
        r#"{"id":"m003","ts":"2026-01-28T10:00:03Z","type":"msg","role":"tool","tool_call_id":"tc1","tool_name":"Skill","content":"loaded","compacted":true}"#,
        r#"{"id":"m006","ts":"2026-01-28T10:02:00Z","type":"msg","role":"assistant","content":"new"}"#,
    ];
    place.import(FileFormat::Entries, &lines.join("\n")).await;
    let context = place.context().await;
    assert_eq!(context.len(), 3, "{context:?}");
    assert!(context[0].contains("[Summary] old things"), "{context:?}");
    let ids: Vec<String> =
        place.history().await.iter().filter_map(|it| it.id().map(str::to_owned)).collect();
    assert_eq!(ids, ["m001", "m002", "m004", "m006"]);
}

#[tokio::test]
async fn a_bad_line_is_named_and_nothing_is_imported_unless_it_is_left_out() {
    let place = Place::new();
    let file = talk(&SIX) + "{\"id\":\n" + &talk(&["again"]) + "[1]\n";
    let before = place.files();
    let refused = place.try_import(FileFormat::UiMessage, &file, ImportWishes::default()).await;
    let Err(ImportFailure::BadItems(report)) = &refused else { panic!("{refused:?}") };
    let lines: Vec<u64> = report.bad_items.iter().map(|item| item.line).collect();
    assert_eq!(lines, [7, 8, 9], "{:?}", report.bad_items);
    assert_eq!(report.bad_items[1].reason, "another message has the id `m0`");
    assert_eq!(place.files(), before);
    let wishes = ImportWishes { is_dry_run: true, ..ImportWishes::default() };
    let report = place.try_import(FileFormat::UiMessage, &file, wishes).await.unwrap();
    assert_eq!((report.bad_items.len(), report.contexts[0].messages), (3, 6));
    assert_eq!(place.files(), before, "it only tells");
    let wishes = ImportWishes { skips_bad: true, ..ImportWishes::default() };
    place.try_import(FileFormat::UiMessage, &file, wishes).await.unwrap();
    assert_eq!(place.history().await.len(), 6);
}

#[tokio::test]
async fn a_dry_run_in_a_chat_in_use_tells_what_would_be_done_and_writes_nothing() {
    let place = Place::new();
    place.say("trip?").await;
    let before = place.files();
    let wishes = ImportWishes { is_dry_run: true, ..ImportWishes::default() };
    let told = place.try_import(FileFormat::UiMessage, &talk(&SIX), wishes).await.unwrap();
    assert_eq!(place.files(), before);
    assert_eq!(place.import(FileFormat::UiMessage, &talk(&SIX)).await, told);
}
