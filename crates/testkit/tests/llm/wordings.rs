//! How each provider says that a request does not fit, seen on a raw socket.

use ship_testkit::llm::Format;
use ship_testkit::llm::overflow::{LOOK_ALIKES, Place, WORDINGS, Wording, named};

use crate::client::{End, ask};

#[test]
fn every_wording_arrives_as_it_is_written() {
    for wording in WORDINGS.iter().chain(LOOK_ALIKES) {
        let reply = ask(named(wording.name), Format::OpenAi);
        assert_eq!(reply.end, End::Whole, "{}", wording.name);
        match wording.place {
            Place::Body(status) => {
                assert_eq!((reply.status, reply.text()), (status, wording.body.to_owned()))
            }
            Place::Amazon(status, kind) => {
                assert_eq!((reply.status, reply.text()), (status, wording.body.to_owned()));
                assert!(reply.head.contains(&format!("x-amzn-errortype: {kind}\r\n")));
            }
            Place::Event => {
                assert_eq!(
                    (reply.status, reply.text()),
                    (200, format!("data: {}\n\n", wording.body))
                );
            }
            Place::Stop => assert!(reply.text().contains("\"model_context_window_exceeded\"")),
            Place::EmptyLength => {
                assert!(reply.words().is_empty() && reply.text().contains("\"length\""));
            }
            Place::Nowhere => assert!(reply.text().contains("\"prompt_tokens\":64")),
        }
    }
}

#[test]
fn every_wording_has_a_name_of_its_own() {
    let all: Vec<&Wording> = WORDINGS.iter().chain(LOOK_ALIKES).collect();
    let names: std::collections::HashSet<&str> = all.iter().map(|wording| wording.name).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn anthropics_reason_to_stop_is_in_its_own_format() {
    let reply = ask(named("anthropic-stop-reason"), Format::Anthropic);
    let end = reply.events().into_iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(end["delta"]["stop_reason"], "model_context_window_exceeded");
}
