//! Searches in chats as a model and a program make them.

mod hostile;
mod life;

use ship_agent::{
    Agent, ChatKey, ContextOperation, HitPlace, Inbound, MessageSearch, SearchQuery, Stop,
};
use ship_message::json::Json;
use ship_message::{UiMessage, UiPart};
use ship_store::FileStore;

fn chat(name: &str) -> ChatKey {
    name.parse().unwrap()
}

/// An agent with the offline model, and a search in its chats.
fn agent_and_search() -> (Agent, MessageSearch) {
    let store = std::sync::Arc::new(FileStore::in_memory(Default::default()));
    let agent = Agent::builder().shared_store(store.clone()).build();
    (agent, MessageSearch::new(store))
}

/// The output of a call that the model is told to make.
async fn call(agent: &Agent, chat: &ChatKey, input: &str) -> Json {
    let line = format!("/tool chat_history_search {input}");
    let reply = agent.send(chat, line.as_str()).await.unwrap();
    let mut outputs =
        reply.messages.iter().flat_map(UiMessage::parts).filter_map(|part| match part {
            UiPart::Tool(tool) => {
                tool.output().cloned().or_else(|| tool.error_text().map(Json::from))
            }
            _ => None,
        });
    outputs.next_back().unwrap()
}

fn field(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_model_finds_what_was_said_in_its_own_chat_and_in_no_other() {
    let (agent, _) = agent_and_search();
    for name in ["api:one", "api:two"] {
        agent.send(&chat(name), format!("the zebra of {name}")).await.unwrap();
        let new = ContextOperation::New { title: None, reason: None };
        agent.operate(&chat(name), new, "").await.unwrap();
    }
    let output = call(&agent, &chat("api:two"), r#"{"query":"zebra","role":"user"}"#).await;
    let hits = output.get("hits").unwrap().as_array().unwrap();
    let said: Vec<String> = hits.iter().map(|hit| field(hit, "snippet")).collect();
    assert_eq!(said[0], "the zebra of api:two");
    assert!(!said.iter().any(|text| text.contains("api:one")), "{said:?}");
    assert!(hits.iter().all(|hit| field(hit, "chatKey") == "api:two"));
    let none = call(&agent, &chat("api:two"), r#"{"query":"unicorn","until":"2001-01-01"}"#).await;
    assert!(field(&none, "note").starts_with("Nothing was found"), "{none}");
    let refused = call(&agent, &chat("api:two"), r#"{"query":"zebra","since":"soon"}"#).await;
    assert!(refused.as_str().unwrap().starts_with("`since` must be a date"), "{refused}");
}

#[tokio::test]
async fn a_model_gets_the_originals_around_a_hit() {
    let (agent, _) = agent_and_search();
    for text in ["one", "the zebra", "three"] {
        agent.send(&chat("api:a"), text).await.unwrap();
    }
    let found = call(&agent, &chat("api:a"), r#"{"query":"zebra","role":"user"}"#).await;
    let id = field(&found.get("hits").unwrap().as_array().unwrap()[0], "messageId");
    let input = format!(r#"{{"query":"","around":"{id}"}}"#);
    let output = call(&agent, &chat("api:a"), &input).await;
    let messages = output.get("messages").unwrap().as_array().unwrap();
    let text =
        |message: &Json| field(&message.get("parts").unwrap().as_array().unwrap()[0], "text");
    assert_eq!((field(&messages[0], "role"), text(&messages[0])), ("user".into(), "one".into()));
    assert!(
        messages.iter().any(|message| field(message, "id") == id && text(message) == "the zebra")
    );
    let refused = call(&agent, &chat("api:a"), r#"{"query":"","around":"u_999"}"#).await;
    assert!(refused.as_str().unwrap().starts_with("there is no message `u_999`"), "{refused}");
}

#[tokio::test]
async fn talk_that_is_never_promoted_and_what_waits_is_found_in_the_ledger_once() {
    let (agent, search) = agent_and_search();
    let group = chat("group:g");
    let talk = |text: &str| Inbound { observed: true, ..Inbound::from(text) };
    agent.send(&group, "who steers?").await.unwrap();
    agent.accept(&group, talk("Bob saw a zebra")).await.unwrap();
    agent.accept(&group, Inbound::from("is the zebra tame?")).await.unwrap();
    let found = search.search(&group, &SearchQuery::new("zebra")).await.unwrap().unwrap();
    let places: Vec<HitPlace> =
        found.hits.iter().filter(|hit| !hit.marks.is_empty()).map(|hit| hit.place).collect();
    assert_eq!(places, [HitPlace::Ledger, HitPlace::Ledger]);
    agent.run(&group, &Stop::default()).await.unwrap();
    let found = search.search(&group, &SearchQuery::new("is it tame")).await.unwrap().unwrap();
    let tame = found.hits.iter().filter(|hit| hit.snippet.starts_with("is the zebra tame"));
    assert_eq!(tame.map(|hit| hit.place).collect::<Vec<_>>(), [HitPlace::Live]);
}
