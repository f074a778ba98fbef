//! A clock that jumps by a year changes the times that are shown, and nothing else.

use ship_agent::ContextOperation;
use ship_context::contexts::RecallMode;
use ship_message::UiMessage;

use super::place::{Place, line};
use crate::harness::chat;

const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

fn new(title: &str) -> ContextOperation {
    ContextOperation::New { title: Some(title.to_owned()), reason: None }
}

fn load(which: &str) -> ContextOperation {
    ContextOperation::Load { which: which.to_owned() }
}

/// What is done, one after the other.
enum Does {
    Says(&'static str),
    Operates(ContextOperation),
    /// The derived files are gone, and another process makes them again.
    LosesIndex,
}

/// Four contexts, left and come back to in many ways.
fn script() -> Vec<Does> {
    use Does::{LosesIndex, Operates, Says};
    let named = |name: &str| ContextOperation::Checkpoint { name: name.to_owned() };
    vec![
        Says("plan the trip"),
        Operates(new("Dinner")),
        Says("soup of the day"),
        Operates(named("soup")),
        Says("bread?"),
        Operates(new("Boat")),
        Says("the mast of the boat"),
        Operates(load("-")),
        Says("and for dessert?"),
        Operates(load("-")),
        Says("the sail"),
        LosesIndex,
        Operates(load("-")),
        Operates(load("-")),
        Operates(ContextOperation::Clear),
        Says("a fresh start of it all"),
        Operates(load("trip")),
        Says("when of all days?"),
        Operates(ContextOperation::Recall { which: "-".to_owned(), mode: RecallMode::Recent }),
        Says("and now?"),
        Operates(ContextOperation::Undo),
        LosesIndex,
        Operates(load("nothing like it")),
        Operates(load("of")),
        Operates(ContextOperation::Fork { at: None, to: None }),
        Says("in a copy"),
        Operates(ContextOperation::Undo),
        Operates(ContextOperation::Undo),
        Says("the end"),
    ]
}

/// A text without the times in it: days in ids and titles, and whole moments.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\n']) {
        match c.is_ascii_digit() || (!digits.is_empty() && "-T:.Z".contains(c)) {
            true => digits.push(c),
            false => {
                let count = digits.chars().filter(char::is_ascii_digit).count();
                out.push_str(if count >= 8 { "TIME" } else { &digits });
                digits.clear();
                out.push(c);
            }
        }
    }
    out
}

/// Plays the script with a clock that jumps so many years before each step, and tells what there was to see after
/// each.
async fn played(years_before: impl Fn(usize) -> i64) -> Vec<String> {
    let mut place = Place::new();
    let mut seen = Vec::new();
    for (nth, does) in script().into_iter().enumerate() {
        place.setup.clock.advance(years_before(nth) * YEAR_MS);
        let told = match does {
            Does::Says(text) => format!("{:?}", place.say(text).await),
            Does::Operates(operation) => format!("{:?}", place.operate(operation).await),
            Does::LosesIndex => {
                let state = place.stored().await;
                state.derived().remove(ship_store::Derived::ContextIndex).await.unwrap();
                place = place.again();
                String::new()
            }
        };
        let titles: Vec<String> = place.archived().await.into_iter().map(|(_, it)| it).collect();
        let look = place.agent.look_at_context(&chat(), "-").await.unwrap();
        let last = look.map(|snapshot| snapshot.title().to_owned());
        let context = place.context().await;
        seen.push(timeless(&format!("{nth}: {told}\n{titles:?}\n{last:?}\n{context:#?}")));
    }
    let shown = |view: &[UiMessage]| view.iter().map(line).collect::<Vec<_>>().join("\n");
    let requests = place.model().requests();
    seen.extend(requests.iter().map(|request| timeless(&shown(&request.view))));
    seen.extend(place.ledger().await.iter().map(|line| timeless(line)));
    seen
}

/// How a test names a clock, and the years that it jumps before each step.
type Jump = (&'static str, fn(usize) -> i64);

#[tokio::test]
async fn jumps_of_a_year_either_way_change_nothing_but_the_times_shown() {
    let undisturbed = played(|_| 0).await;
    let jumps: [Jump; 6] = [
        ("forward and back", |nth| if nth % 2 == 0 { 1 } else { -1 }),
        ("back and forward", |nth| if nth % 2 == 0 { -1 } else { 1 }),
        ("forward before every third step", |nth| i64::from(nth % 3 == 0)),
        ("back before every third step", |nth| -i64::from(nth % 3 == 0)),
        ("forward once", |nth| i64::from(nth == 9)),
        ("back once", |nth| -i64::from(nth == 9)),
    ];
    for (name, years_before) in jumps {
        let jumped = played(years_before).await;
        for (nth, (is, was)) in jumped.iter().zip(&undisturbed).enumerate() {
            assert_eq!(is, was, "{name}, seen at {nth}");
        }
        assert_eq!(jumped.len(), undisturbed.len(), "{name}");
    }
}
