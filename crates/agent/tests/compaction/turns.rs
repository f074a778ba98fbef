//! Many ordinary turns: how seldom a chat is compacted, and what of each request was sent before.

use ship_agent::{Outcome, Rules};
use ship_message::json::Json;
use ship_store::ContextBody;
use ship_testkit::summary::REQUEST;

use super::grown::{model, ruled};
use super::world::{World, words};
use crate::harness::{Setup, TestAgent, chat};

#[tokio::test]
async fn hundreds_of_turns_are_compacted_seldom_and_never_twice_without_a_word_between() {
    const TURNS: usize = 200;
    let model = model().with_window(8_000);
    let setup = Setup { model: Some(model), ..ruled(Rules::default()) };
    let test = setup.agent();
    let mut compactions: Vec<Compaction> = Vec::new();
    for nth in 0..TURNS {
        let said = format!("{nth:04} {}", words(100 + nth % 7 * 20));
        assert_eq!(test.say(&said).await, Some(Outcome::Done), "{nth}");
        let last = last_compaction(&test).await;
        compactions.extend(last.filter(|last| compactions.last() != Some(last)));
        assert_eq!(setup.model().summaries(), compactions.len(), "turn {nth}: one for a turn");
    }
    assert_eq!(setup.model().asked() - setup.model().summaries(), TURNS);

    let planned = test.agent.plan_compaction(&chat()).await.unwrap().unwrap();
    let (most, least) = (planned.trigger.tokens.unwrap(), planned.floor + 300);
    let before_their_time = compactions.iter().filter(|it| it.before <= most).count();
    assert_eq!(before_their_time, 0, "{compactions:?}");
    let added = added(&compactions, planned.tokens_now);
    let bound = 1.0 + 1.2 * added as f64 / ((most - least) as f64 / 2.0);
    let count = compactions.len();
    assert!(count >= 8 && count as f64 <= bound, "{count} compactions, at most {bound}");
}

/// What the event of a compaction tells.
#[derive(Debug, PartialEq, Eq)]
struct Compaction {
    id: String,
    before: u64,
    after: u64,
}

async fn last_compaction(test: &TestAgent) -> Option<Compaction> {
    let view = test.view().await;
    view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event) if event.event == "compacted" => {
            let number = |key: &str| event.data.get(key).and_then(Json::as_u64).unwrap();
            let (before, after) = (number("tokensBefore"), number("tokensAfter"));
            Some(Compaction { id: event.id.clone(), before, after })
        }
        _ => None,
    })
}

/// The tokens that were added in all: what each request had more than the one after the compaction before it.
fn added(compactions: &[Compaction], at_last: u64) -> u64 {
    let mut after_last = 0;
    let mut added = 0;
    for compaction in compactions {
        added += compaction.before - after_last;
        after_last = compaction.after;
    }
    added + at_last.saturating_sub(after_last)
}

#[tokio::test(flavor = "multi_thread")]
async fn nine_tenths_of_what_is_sent_was_sent_before_to_the_byte() {
    const TURNS: usize = 100;
    let world = World::new(16_000, 1.0, Some(16_000), Rules::default());
    for nth in 0..TURNS {
        let said = format!("{nth:03} {}", words(200));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
    let compactions = world.log.of("compacted").len();
    assert!(compactions >= 2, "{compactions}");
    let (mut same, mut all) = (0, 0);
    let mut before: Vec<String> = Vec::new();
    for request in world.server.requests() {
        let body = Json::parse_bytes(&request.body).unwrap();
        let pieces = pieces(&body);
        if !pieces.iter().any(|piece| piece.contains(REQUEST)) {
            let common = pieces.iter().zip(&before).take_while(|(now, then)| now == then).count();
            same += tokens(&pieces[..common]);
            all += tokens(&pieces);
            before = pieces;
        }
    }
    let share = same as f64 / all as f64;
    assert!(share >= 0.9, "{share:.3} of {all} tokens, with {compactions} compactions");
}

/// What a cache compares, in its order: tools, system, messages.
fn pieces(body: &Json) -> Vec<String> {
    let list = |key: &str| {
        let list = body.get(key).and_then(Json::as_array).unwrap_or_default();
        list.iter().map(Json::to_string).collect::<Vec<_>>()
    };
    let messages = list("messages");
    // In this format the system is the first message.
    list("tools").into_iter().chain(messages).collect()
}

fn tokens(pieces: &[String]) -> u64 {
    let tokenizer = ship_context::Tokenizer::for_model("test-model");
    pieces.iter().map(|piece| tokenizer.count(piece)).sum()
}
