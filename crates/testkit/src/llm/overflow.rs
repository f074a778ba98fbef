//! How each provider says that a request does not fit, word for word, and what only looks like it.
//!
//! The numbers vary in real life and stand still here. Some say it in the body of a refusal, some inside of a
//! stream, some as the reason to stop, and some not at all.

use super::exchange::EVENT_STREAM;
use super::script::{Answer, Speech, Status, Step, Stop};
use super::sse::{Frame, Kind};
use super::{Exchange, Format};

mod catalogue;

pub use catalogue::{LOOK_ALIKES, WORDINGS};

/// One way of saying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wording {
    /// A name for it.
    pub name: &'static str,
    /// Where it is said.
    pub place: Place,
    /// The body, or the data of the event.
    pub body: &'static str,
}

/// Where a provider says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the body of a response with this status.
    Body(u16),
    /// In the body of a response with this status, its error's name being in `x-amzn-errortype`.
    Amazon(u16, &'static str),
    /// In an event of a stream, after status 200.
    Event,
    /// In the reason to stop of an answer that has some words.
    Stop,
    /// In the reason to stop `length` of an answer without words.
    EmptyLength,
    /// Nowhere: the prompt is cut, and only a count of tokens tells.
    Nowhere,
}

impl Wording {
    /// Returns the answer that says so.
    pub fn answer(self) -> Answer {
        Answer::judge(move |exchange| match self.place {
            Place::Body(status) => Answer::Status(self.status(status)),
            Place::Amazon(status, kind) => {
                Answer::Status(self.status(status).header("x-amzn-errortype", kind))
            }
            Place::Event => Answer::Raw(self.event(exchange)),
            Place::Stop => Speech::text("So far").stop(Stop::Window).into(),
            Place::EmptyLength => {
                let usage = super::Usage { output: 0, ..exchange.counted };
                Speech::new([]).stop(Stop::Length).usage(usage).into()
            }
            Place::Nowhere => {
                let usage = super::Usage { input: 64, output: 3, ..super::Usage::default() };
                Speech::text("Yes?").usage(usage).into()
            }
        })
    }

    fn status(self, status: u16) -> Status {
        let body = self.body.as_bytes().to_vec();
        Status { status, headers: Vec::new(), body }.header("content-type", "application/json")
    }

    fn event(self, exchange: &Exchange<'_>) -> Vec<Step> {
        let event = (exchange.format == Format::Anthropic).then_some("error");
        let frame = Frame::new(Kind::Error, event, self.body);
        exchange.stream_bytes(EVENT_STREAM, vec![frame.encode().into_bytes()])
    }
}

/// Returns the answer of this name.
///
/// # Panics
///
/// Panics when there is none, which only a typing mistake in a test can cause.
pub fn named(name: &str) -> Answer {
    let all = WORDINGS.iter().chain(LOOK_ALIKES);
    let found = all.copied().find(|wording| wording.name == name);
    found.unwrap_or_else(|| panic!("no overflow is called {name}; see `WORDINGS`")).answer()
}
