//! Leaving a context and coming back, as a model sees it; and the same with histories of every kind.

use ship_context::contexts::{
    ArchiveNote, Candidate, ContextFacts, ContextMatch, Index, IndexItem, RecallMode,
    ReferenceBudget, ReferenceOrigin, Snapshot, SnapshotLimits, UtteranceLimits, VisibleEntries,
    find_context, has_other_messages, listing_json, message_left_behind, own_messages,
    recall_reference,
};
use ship_context::{ShowRules, open_request, shown_to_model};
use ship_message::json::{Json, Object};
use ship_message::{Role, ToolPart, UiMessage, UiPart};
use ship_record::{ContextId, NewMetadata, Timestamp};
use ship_testkit::histories::History;

const LIMITS: SnapshotLimits = SnapshotLimits {
    utterances: UtteranceLimits { utterances_max: 120, chars_max: 48_000 },
    search_text_chars_max: 12_000,
};
const RECENT: UtteranceLimits = UtteranceLimits { utterances_max: 80, chars_max: 24_000 };

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

fn id(text: &str) -> ContextId {
    text.parse().expect("the id of a context")
}

fn said(id: &str, text: &str) -> UiMessage {
    let role = if id.starts_with('u') { Role::User } else { Role::Assistant };
    UiMessage::new(id, role, vec![UiPart::text(text)])
}

fn calling(id: &str, tool: &str) -> UiMessage {
    let call = ToolPart::new(tool, "c1", Json::Object(Object::new()));
    UiMessage::new(id, Role::Assistant, vec![UiPart::text("One moment."), UiPart::Tool(call)])
}

fn archive(context: &ContextId, messages: &[UiMessage], at: i64) -> Snapshot {
    let known = ContextFacts { context, created_at: Timestamp::from_millis(0), title: None };
    let left = ArchiveNote { at: Timestamp::from_millis(at), reason: "new", sealed: None };
    Snapshot::of_archived(messages, known, left, LIMITS)
}

/// What a model sees: a line for each message, `|` between its parts.
fn seen(messages: &[UiMessage]) -> String {
    let shown =
        shown_to_model(messages, ShowRules { tool_output_chars: 12_000, has_request_facts: true });
    let part = |part: &UiPart| match part {
        UiPart::Text(text) => text.text().lines().next().unwrap_or_default().to_owned(),
        UiPart::Tool(tool) => format!("{}()", tool.name().unwrap_or_default()),
        _ => String::new(),
    };
    let line = |message: &UiMessage| {
        let parts: Vec<String> =
            message.parts().iter().map(part).filter(|text| !text.is_empty()).collect();
        format!("{}: {}\n", message.role().name().unwrap_or_default(), parts.join(" | "))
    };
    shown.iter().filter(|message| !message.parts().is_empty()).map(line).collect()
}

/// What a run leaves that has come so far and switches.
fn left_behind(messages: &[UiMessage], so_far: &UiMessage) -> UiMessage {
    let open = open_request(messages, "run", None);
    let moved: Vec<&str> = open.into_iter().filter_map(|at| messages[at].id()).collect();
    message_left_behind(so_far, NewMetadata::default(), &moved)
}

/// The background is a mess: the model begins anew, and later comes back to where it was.
#[test]
fn a_context_is_left_and_come_back_to() {
    let plan = id("c_20260205_a");
    let mut first = vec![
        said("u1", "Let us plan the migration of the database."),
        said("a1", "First a backup, then the schema."),
        said("u2", "What shall we eat tonight?"),
    ];
    assert!(!has_other_messages(&first[2..], &["u2"]), "a second new would be refused");
    first.push(left_behind(&first, &calling("a2", "chat_context_new")));
    let snapshot = archive(&plan, &first, 10);
    assert_eq!(snapshot.title(), "Let us plan the migration of the database");
    assert_eq!(snapshot.checkpoint().unwrap().preview, "One moment.");
    assert!(!snapshot.search_text().contains("eat"), "that was taken along");

    let mut second = vec![said("u2", "What shall we eat tonight?"), said("a3", "Noodles.")];
    second.push(said("u3", "Back to the database plan."));
    let candidates: Vec<Candidate<'_>> =
        [&snapshot].into_iter().filter_map(Candidate::from_snapshot).collect();
    assert_eq!(find_context("database plan", &candidates), ContextMatch::One(plan.clone()));
    let loaded: Vec<UiMessage> = own_messages(&first).into_iter().cloned().collect();
    assert_eq!(
        seen(&loaded),
        "user: Let us plan the migration of the database.\n\
         assistant: First a backup, then the schema.\n\
         assistant: One moment. | chat_context_new()\n"
    );
    second.push(left_behind(&second, &calling("a4", "chat_context_load")));
    assert_eq!(archive(&id("c_20260205_b"), &second, 20).title(), "What shall we eat tonight?");
}

/// Something old would help, and the person brings it in: it stands at the head of the next message.
#[test]
fn a_context_is_looked_into_without_being_entered() {
    let old = [said("u1", "The port is 8080."), said("a1", "Noted.")];
    let snapshot = archive(&id("c_20260205_a"), &old, 10);
    let room = ReferenceBudget { tokens: 10_000, count: &chars };
    let reference = recall_reference(&snapshot, RecallMode::Full, RECENT, room).unwrap();
    let at = Timestamp::from_millis(5);
    let fetched = ReferenceOrigin { id: "r1", for_message: "", at, place: None };
    let messages = [
        said("u8", "hello"),
        said("a8", "hello"),
        reference.into_message(fetched),
        said("u9", "Which port?"),
    ];
    assert_eq!(
        seen(&messages),
        "user: hello\n\
         assistant: hello\n\
         user: 以下是历史归档 context（仅供参考，可能与当前问题不一致）： | Which port?\n"
    );
    let later = archive(&id("c_20260205_b"), &messages, 20);
    assert!(!later.search_text().contains("8080"), "a reference is not what was said here");
}

#[test]
fn the_list_shows_the_active_context_apart_from_those_that_were_left() {
    let active = id("c_20260205_b");
    let known = ContextFacts {
        context: &active,
        created_at: Timestamp::from_millis(1),
        title: Some("Now"),
    };
    let active = Snapshot::of_active(&[said("u1", "hi")], known, RECENT);
    let left = archive(&id("c_20260205_a"), &[said("u1", "Plan the trip.")], 10);
    let mut index = Index::default();
    assert_eq!(IndexItem::from_snapshot(&active), None, "it was not left");
    index.add(IndexItem::from_snapshot(&left).expect("it was left"));
    assert_eq!(
        listing_json(&active, &index, None).to_string(),
        r#"{"active":{"contextId":"c_20260205_b","title":"Now","createdAt":1,"updatedAt":1,"messageCount":1},"items":[{"contextId":"c_20260205_a","title":"Plan the trip","createdAt":0,"archivedAt":10,"messageCount":1,"summaryPreview":"Asked first: Plan the trip."}]}"#
    );
}

/// Histories hold whatever years of forks, crashes and imports leave; none of them is too odd.
#[test]
fn whatever_a_history_holds_it_can_be_left_found_and_recalled() {
    let context = id("c_20260205_a");
    for seed in 0..400 {
        let messages = History::of_seed(seed, &|_| "signed".to_owned()).messages;
        let small = SnapshotLimits {
            utterances: UtteranceLimits { utterances_max: 5, chars_max: 300 },
            search_text_chars_max: 200,
        };
        let known =
            ContextFacts { context: &context, created_at: Timestamp::from_millis(0), title: None };
        let left = ArchiveNote { at: Timestamp::from_millis(9), reason: "new", sealed: None };
        let snapshot = Snapshot::of_archived(&messages, known, left, small);
        assert!(!snapshot.title().is_empty(), "seed {seed}");
        assert!(snapshot.search_text().chars().count() <= 200, "seed {seed}");
        let object = Json::parse(&Json::Object(snapshot.to_object().clone()).to_string()).unwrap();
        let read = Snapshot::read(object.as_object().unwrap().clone());
        assert_eq!(read.as_ref(), Some(&snapshot), "seed {seed}");
        for mode in [RecallMode::Summary, RecallMode::Recent, RecallMode::Full] {
            let room = ReferenceBudget { tokens: 900, count: &chars };
            let reference = recall_reference(&snapshot, mode, small.utterances, room).unwrap();
            assert!(chars(&reference.text) <= 900, "seed {seed}");
        }
        let candidates: Vec<Candidate<'_>> =
            Candidate::from_snapshot(&snapshot).into_iter().collect();
        assert_eq!(
            find_context(snapshot.title(), &candidates),
            ContextMatch::One(context.clone()),
            "seed {seed}"
        );
        VisibleEntries::in_messages(&messages, []);
        let so_far = calling("x", "chat_context_new");
        let left = left_behind(&messages, &so_far);
        let moved = open_request(&messages, "run", None).len();
        let own = own_messages(&[messages.clone(), vec![left]].concat()).len();
        assert!(own + moved > messages.len(), "seed {seed}: nothing is lost but what was moved");
    }
}
