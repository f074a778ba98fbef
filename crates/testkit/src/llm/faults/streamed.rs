//! Errors that come after status 200, inside of the stream.

use serde_json::json;

use super::super::sse::{Frame, Kind};
use super::super::{Answer, Exchange, Format, Speech};
use super::{WORDS, steps};

/// An error as the first event, before anything was said.
pub fn error_first() -> Answer {
    steps(|exchange| exchange.stream(&[overloaded(exchange)]))
}

/// An error after the first words, and then the end.
pub fn error_mid_text() -> Answer {
    steps(|exchange| after_words(exchange, overloaded(exchange)))
}

/// An error in the flat shape of older vLLM; from Anthropic, one of a type that nobody knows.
pub fn error_of_another_shape() -> Answer {
    steps(|exchange| {
        let error = match exchange.format {
            Format::OpenAi => {
                json!({"object": "error", "message": "EngineCore encountered an issue.", "type": "InternalServerError", "param": null, "code": 500})
            }
            Format::Anthropic => {
                json!({"type": "error", "error": {"type": "unheard_of_error", "message": "Something"}})
            }
        };
        let event = (exchange.format == Format::Anthropic).then_some("error");
        after_words(exchange, Frame::new(Kind::Error, event, error.to_string()))
    })
}

/// An error beside a choice that ends for it, as OpenRouter sends it; from Anthropic as [`error_mid_text`].
pub fn error_in_choice() -> Answer {
    steps(|exchange| match exchange.format {
        Format::Anthropic => after_words(exchange, overloaded(exchange)),
        Format::OpenAi => {
            let choice = json!({"index": 0, "delta": {"content": ""}, "finish_reason": "error"});
            let error = json!({"code": "server_error", "message": "Provider disconnected"});
            let chunk = json!({"id": "gen-1", "object": "chat.completion.chunk", "error": error, "choices": [choice]});
            after_words(exchange, Frame::new(Kind::Error, None, chunk.to_string()))
        }
    })
}

fn overloaded(exchange: &Exchange<'_>) -> Frame {
    let (event, error) = match exchange.format {
        Format::OpenAi => {
            let message =
                "The server had an error while processing your request. Sorry about that!";
            let error =
                json!({"message": message, "type": "server_error", "param": null, "code": null});
            (None, json!({"error": error}))
        }
        Format::Anthropic => {
            let error = json!({"type": "overloaded_error", "message": "Overloaded"});
            (Some("error"), json!({"type": "error", "error": error}))
        }
    };
    Frame::new(Kind::Error, event, error.to_string())
}

fn after_words(exchange: &Exchange<'_>, error: Frame) -> Vec<super::Step> {
    let mut frames = exchange.frames(&Speech::text(WORDS));
    let words = frames.iter().rposition(|frame| frame.kind == Kind::Text).unwrap_or(0);
    frames.truncate(words / 2 + 1);
    frames.push(error);
    exchange.stream(&frames)
}
