//! The system line of an agent.

use ship_store::conversation::{Conversation, NewConversationMessage};

use super::{Ticking, folder, load};

fn systems(chat: &Conversation) -> Vec<(&str, &str)> {
    let messages = chat.llm_messages().into_iter();
    let systems = messages.filter(|message| message.role.name() == "system");
    systems.map(|message| (message.id.as_str(), message.content.as_str().unwrap())).collect()
}

#[test]
fn the_agents_system_line_is_written_once_and_again_under_its_id_when_it_changed() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    chat.write_agent_system("You are a cook.").unwrap();
    chat.append(NewConversationMessage::user("hi")).unwrap();
    drop(chat);
    let mut chat = load(&path);
    chat.write_agent_system("You are a cook.").unwrap();
    chat.write_agent_system("You are a pirate.").unwrap();
    assert_eq!(systems(&chat), [("m001", "You are a pirate.")]);
    assert_eq!(chat.agent_system_id(), Some("m001"));
    let lines = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        lines.lines().collect::<Vec<_>>(),
        [
            r#"{"id":"m001","ts":"2026-01-28T10:00:00.000Z","type":"msg","role":"system","content":"You are a cook.","written_by":"agent"}"#,
            r#"{"id":"m002","ts":"2026-01-28T10:00:01.000Z","type":"msg","role":"user","content":"hi"}"#,
            r#"{"id":"m001","ts":"2026-01-28T10:00:00.000Z","type":"msg","role":"system","content":"You are a pirate.","written_by":"agent"}"#,
        ]
    );
}

#[test]
fn the_system_line_of_another_program_stays_alone() {
    let mut chat = Conversation::in_memory(Ticking::default());
    chat.append(NewConversationMessage::system("Be brief.")).unwrap();
    chat.write_agent_system("You are a cook.").unwrap();
    assert_eq!(systems(&chat), [("m001", "Be brief.")]);
    assert_eq!(chat.agent_system_id(), None);
}

#[test]
fn a_conversation_that_began_without_a_system_line_stays_without() {
    let mut chat = Conversation::in_memory(Ticking::default());
    chat.append(NewConversationMessage::user("hi")).unwrap();
    chat.write_agent_system("You are a cook.").unwrap();
    assert_eq!(systems(&chat), []);
}

/// A program that does not know the mark may have dropped it.
#[test]
fn a_system_line_with_the_agents_text_is_the_agents() {
    let mut chat = Conversation::in_memory(Ticking::default());
    chat.append(NewConversationMessage::system("You are a cook.")).unwrap();
    chat.write_agent_system("You are a cook.").unwrap();
    assert_eq!(systems(&chat), [("m001", "You are a cook.")]);
    assert_eq!(chat.agent_system_id(), Some("m001"));
}
