//! A picture that the model refuses does not stop the chat.

use ship_message::DataUrl;
use ship_message::json::Json;
use ship_store::{FileStore, Store as _, StoreOptions};
use ship_testkit::llm::{Answer, Status};

use crate::world::{World, assert_says, both, wait};

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Puts a question with a picture, and an answer, into the chat, as a client with pictures would.
pub(crate) fn show_picture(world: &World) {
    let message = |text: String| match Json::parse(&text).expect("JSON") {
        Json::Object(message) => message,
        other => panic!("{other}"),
    };
    let question = message(format!(
        r#"{{"id":"u_picture","role":"user","parts":[{{"type":"text","text":"Look."}},{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{PICTURE}"}}]}}"#
    ));
    let answer = message(
        r#"{"id":"a_picture","role":"assistant","parts":[{"type":"text","text":"I see."}]}"#
            .to_owned(),
    );
    wait(async {
        let store = FileStore::new(&world.ship.root(), StoreOptions::default()).expect("a store");
        let key = "terminal:main".parse().expect("a key");
        let chat = store.open(&key).await.expect("it can be opened").expect("it is there");
        let view = chat.log().view().await.expect("it can be read").expect("it has begun");
        let lane = chat.lane("a test").await.expect("nobody has it");
        lane.append(vec![question.into(), answer.into()], view.position).await.expect("written");
    });
}

pub(crate) fn no_pictures() -> Answer {
    let body = br#"{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support image input."}}"#;
    let status = Status { status: 400, headers: Vec::new(), body: body.to_vec() };
    Answer::Status(status.header("content-type", "application/json"))
}

#[test]
fn a_model_that_takes_no_pictures_is_asked_again_without() {
    both(|format| {
        let world = World::new(format);
        world.server.otherwise(Answer::text("All is well."));
        assert_eq!(world.answer("Hello."), "All is well.");
        show_picture(&world);
        world.server.then(no_pictures());
        world.server.then(Answer::text("I cannot see it."));
        assert_eq!(world.answer("What is in the picture?"), "I cannot see it.");
        let requests = world.server.requests();
        assert_eq!(requests.len(), 3);
        let has_picture = |at: usize| String::from_utf8_lossy(&requests[at].body).contains(PICTURE);
        assert!(has_picture(1) && !has_picture(2));
        assert_says(
            &String::from_utf8_lossy(&requests[2].body),
            &["Look.", "What is in the picture?"],
        );
        world.assert_goes_on();
    });
}

#[test]
fn an_attached_picture_and_an_attached_text_are_sent_to_the_model() {
    both(|format| {
        let world = World::new(format);
        world.server.otherwise(Answer::text("A dot."));
        let url = format!("data:image/png;base64,{PICTURE}");
        let bytes = DataUrl::parse(&url).and_then(|data| data.bytes()).expect("base64");
        std::fs::write(world.ship.root().join("dot.png"), bytes).expect("written");
        world.ship.write("notes.txt", "It is small.");
        let ran = world.ship.run(&["send", "-f", "dot.png", "-f", "notes.txt", "What is it?"]);
        assert_eq!(ran.text(), "A dot.\n");
        let body = String::from_utf8_lossy(&world.server.requests()[0].body).into_owned();
        assert_says(&body, &["What is it?", PICTURE, "notes.txt", "It is small."]);
    });
}

#[test]
fn a_refusal_that_is_about_pictures_in_vain_is_told_after_one_request() {
    both(|format| {
        let world = World::new(format);
        world.server.then(no_pictures());
        let sentence = world.sentence("What is in the picture?");
        assert_says(&sentence, &["does not support image input", "What you wrote is kept."]);
        assert_eq!(world.asked(), 1, "without a picture there is nothing to leave out");
        world.assert_goes_on();
    });
}
