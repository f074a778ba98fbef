//! Sessions of other programs are continued: providers take the next request made of each of their contexts.

use std::io::Cursor;

use ship_agent::{
    ContextOperation, FileFormat, ImportWishes, OperationOutcome, read_conversations,
};
use ship_testkit::llm::{Answer, Format};

use super::world::{BOTH, World};
use crate::harness::chat;

/// A file of each format, in its publicly known shape.
const FILES: [(FileFormat, &str); 5] = [
    (FileFormat::ClaudeCode, include_str!("../fixtures/claude-code.jsonl")),
    (FileFormat::Codex, include_str!("../fixtures/codex.jsonl")),
    (FileFormat::ChatGpt, include_str!("../fixtures/chatgpt.json")),
    (FileFormat::OpenAi, include_str!("../fixtures/openai.json")),
    (FileFormat::Entries, include_str!("../fixtures/entries.jsonl")),
];

/// Imports a file and continues each of its contexts. Returns the number of contexts.
async fn continues(world: &World, format: FileFormat, file: &str) -> usize {
    let source = Box::new(Cursor::new(file.as_bytes().to_vec()));
    let file = read_conversations(source, format, &mut |_| {}).unwrap();
    let agent = world.agent();
    let report = agent.import(&chat(), file, ImportWishes::default()).await.unwrap();
    // The active one is the last, and it is left for the others.
    for context in report.contexts.iter().rev() {
        if !context.is_active {
            let load = ContextOperation::Load { which: context.context.to_string() };
            let loaded = agent.operate(&chat(), load, "terminal").await.unwrap();
            assert!(matches!(loaded, OperationOutcome::Done(_)), "{loaded:?}");
        }
        assert_eq!(world.answer("And now?").await, "Aye.", "{format:?} {}", context.context);
        let refused = world.server.requests().into_iter().filter_map(|request| request.refused);
        assert_eq!(refused.count(), 0, "{format:?} {}", context.context);
    }
    report.contexts.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_request_of_each_imported_context_is_one_that_providers_take() {
    for format in BOTH {
        let mut contexts = 0;
        for (file_format, file) in FILES {
            for is_used in [false, true] {
                let world = World::new(format);
                world.server.otherwise(Answer::text("Aye."));
                if is_used {
                    assert_eq!(world.answer("Hello.").await, "Aye.");
                }
                contexts += continues(&world, file_format, file).await;
            }
        }
        assert_eq!(contexts, 2 * (3 + 2 + 3 + 1 + 1), "{format:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_picture_and_the_calls_of_a_session_are_sent() {
    for format in [Format::OpenAi, Format::Anthropic] {
        let world = World::new(format);
        world.server.otherwise(Answer::text("Aye."));
        let (file_format, file) = FILES[1];
        continues(&world, file_format, file).await;
        let requests = world.server.requests();
        let mut bodies = requests.iter().map(|one| String::from_utf8_lossy(&one.body).into_owned());
        let aside = bodies.next_back().unwrap();
        for part in ["iVBORw0KGgo", "apply_patch", "exit_code", "It is red now."] {
            assert!(aside.contains(part), "{part}: {aside}");
        }
        assert!(!aside.contains("environment_context"), "nobody typed it: {aside}");
    }
}
