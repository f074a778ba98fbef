//! What a message is said to take, beside the tokens of what is made of it for a model.

use ship_context::Tokenizer;
use ship_message::json::{Json, Object};
use ship_message::{ConvertOptions, Role, ToolPart, UiMessage, UiPart, convert_to_model_messages};
use ship_testkit::random::Random;
use ship_testkit::texts;

/// Pieces of everyday texts, some of which become a chat.
struct Writer {
    random: Random,
    texts: Vec<String>,
}

impl Writer {
    fn new(seed: u64, kinds: &[&str]) -> Self {
        let texts = texts::ordinary(60_000).into_iter();
        let texts = texts.filter(|(name, _)| kinds.contains(name)).map(|(_, text)| text).collect();
        Self { random: Random::new(seed), texts }
    }

    /// A piece of about `bytes`, from anywhere.
    fn piece(&mut self, bytes: usize) -> String {
        let kind = self.random.below(self.texts.len());
        let text = &self.texts[kind];
        let from = text.floor_char_boundary(self.random.below(text.len() - bytes));
        text[from..text.floor_char_boundary(from + bytes)].to_owned()
    }

    fn question(&mut self) -> UiMessage {
        let bytes = 60 + self.random.below(600);
        UiMessage::new("u", Role::User, vec![UiPart::text(self.piece(bytes))])
    }

    /// An answer with some calls before it.
    fn answer(&mut self, calls: usize) -> UiMessage {
        let mut parts = Vec::new();
        for number in 0..calls {
            parts.push(step());
            let path = Object::from([("path", format!("src/part{number}/file.rs"))]);
            let mut call = ToolPart::new("read_file", format!("call_{number}"), path.into());
            let bytes = 200 + self.random.below(4_000);
            call.set_output(Json::from(self.piece(bytes)));
            parts.push(UiPart::Tool(call));
        }
        parts.push(step());
        let bytes = 200 + self.random.below(2_000);
        parts.push(UiPart::text(self.piece(bytes)));
        UiMessage::new("a", Role::Assistant, parts)
    }

    fn chat(&mut self, turns: usize, calls: usize) -> Vec<UiMessage> {
        (0..turns).flat_map(|_| [self.question(), self.answer(calls)]).collect()
    }
}

fn step() -> UiPart {
    UiPart::from_json(Object::from([("type", "step-start")]).into())
}

/// The tokens of the messages for a model, as JSON.
fn converted_tokens(messages: &[UiMessage]) -> u64 {
    let Ok(model) = convert_to_model_messages(messages, &ConvertOptions::default()) else {
        panic!("these messages can be converted");
    };
    model.iter().map(|message| Tokenizer::default().count(&message.to_string())).sum()
}

#[test]
fn ordinary_histories_take_what_their_json_takes_within_fifteen_in_a_hundred() {
    let tokenizer = Tokenizer::for_model("gpt-4o");
    for kinds in [&["English"][..], &["Chinese"], &["English", "Chinese", "Rust"]] {
        for seed in 0..6 {
            for calls in [0, 1, 4] {
                let chat = Writer::new(seed, kinds).chat(10, calls);
                let ours: u64 = chat.iter().map(|message| tokenizer.message_tokens(message)).sum();
                let json = converted_tokens(&chat);
                let ratio = ours as f64 / json as f64;
                assert!(
                    (0.85..=1.15).contains(&ratio),
                    "{kinds:?}, seed {seed}, {calls} calls: {ratio}"
                );
            }
        }
    }
}

#[test]
fn a_chat_of_calls_only_is_not_free() {
    let mut chat = Writer::new(1, &["English"]).chat(5, 3);
    for message in &mut chat {
        message.parts_mut().retain(|part| !matches!(part, UiPart::Text(_)));
    }
    let tokenizer = Tokenizer::for_model("gpt-4o");
    let ours: u64 = chat.iter().map(|message| tokenizer.message_tokens(message)).sum();
    assert!(ours as f64 > 0.8 * converted_tokens(&chat) as f64);
}
