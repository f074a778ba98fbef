//! A line of a log as JSON: its own fields, and those of its body behind them.

use ship_message::UiMessage;
use ship_message::json::{Json, Object};

use crate::{ContextBody, ContextEvent, Delivery, LedgerBody, LedgerEntry, LedgerSeq, NewMessage};

/// The fields of a line, which no body may have.
const OWN: [&str; 4] = ["seq", "type", "rev", "in"];

/// The fields of a line, apart from its body.
#[derive(Default)]
pub(super) struct LineFields {
    pub(super) seq: Option<u64>,
    pub(super) kind: Option<LineForm>,
    pub(super) rev: u64,
    pub(super) inbox: Option<LedgerSeq>,
    pub(super) body: Object,
}

/// Tells messages from events; the `type` of a line.
#[derive(Debug, Clone, Copy)]
pub(super) enum LineForm {
    Message,
    Event,
}

ship_message::names!(LineForm { Message = "msg", Event = "evt" });

impl LineFields {
    /// Writes the line; `None` if the body has a field of the line, as the store refuses it.
    pub(super) fn write(self) -> Option<Json> {
        if OWN.iter().any(|field| self.body.has(field)) {
            return None;
        }
        let mut line = Object::new();
        line.set_or_remove("seq", self.seq.map(Json::from));
        line.set_or_remove("type", self.kind.map(|kind| kind.name().into()));
        line.set_or_remove("rev", (self.rev > 0).then(|| self.rev.into()));
        line.set_or_remove("in", self.inbox.map(|inbox| inbox.get().into()));
        Some(
            line.into_entries()
                .into_iter()
                .chain(self.body.into_entries())
                .collect::<Object>()
                .into(),
        )
    }

    /// Reads a line; `None` if one of its own fields is invalid.
    pub(super) fn read(json: Json) -> Option<Self> {
        let Json::Object(mut body) = json else { return None };
        let mut number = |field: &str| match body.remove(field) {
            Some(number) => number.as_u64().map(Some),
            None => Some(None),
        };
        let (seq, rev, inbox) = (number("seq")?, number("rev")?, number("in")?);
        let kind = match body.remove("type") {
            Some(kind) => Some(LineForm::named(kind.as_str()?)?),
            None => None,
        };
        let inbox = inbox.map(LedgerSeq::new);
        Some(Self { seq, kind, rev: rev.unwrap_or_default(), inbox, body })
    }

    pub(super) fn of_entry(entry: &LedgerEntry) -> Option<Self> {
        if entry.entry.has("key") {
            return None;
        }
        let key = Object::from([("key", entry.key.as_str())]).into_entries();
        let body = key.into_iter().chain(entry.entry.clone().into_entries()).collect();
        Some(Self { body, ..Self::default() })
    }

    pub(super) fn into_entry(mut self) -> Option<LedgerEntry> {
        let key = self.body.remove("key")?.as_str()?.to_owned();
        Some(LedgerEntry { key, entry: self.body })
    }

    pub(super) fn of_ledger(body: &LedgerBody) -> Option<Self> {
        match body {
            LedgerBody::Entry(entry) => {
                Some(Self { kind: Some(LineForm::Message), ..Self::of_entry(entry)? })
            }
            LedgerBody::Delivery(delivery) => {
                let (kind, body) = (Some(LineForm::Event), delivery.to_body());
                Some(Self { kind, body, ..Self::default() })
            }
        }
    }

    pub(super) fn into_ledger(self) -> Option<LedgerBody> {
        match self.kind? {
            LineForm::Message => self.into_entry().map(LedgerBody::Entry),
            LineForm::Event => Delivery::from_body(&self.body).map(LedgerBody::Delivery),
        }
    }

    pub(super) fn of_event(event: &ContextEvent) -> Self {
        Self { inbox: event.inbox, body: event.clone().into_body(), ..Self::default() }
    }

    pub(super) fn into_event(self) -> Option<ContextEvent> {
        Some(ContextEvent { inbox: self.inbox, ..ContextEvent::from_body(&self.body)? })
    }

    pub(super) fn of_new_message(new: &NewMessage) -> Self {
        let (rev, inbox, body) = (new.rev, new.inbox, new.message.clone());
        Self { rev, inbox, body, ..Self::default() }
    }

    pub(super) fn into_new_message(self) -> NewMessage {
        NewMessage { message: self.body, rev: self.rev, inbox: self.inbox }
    }

    pub(super) fn of_context(body: &ContextBody) -> Self {
        match body {
            ContextBody::Message(message) => {
                let (kind, body) = (Some(LineForm::Message), message.clone().into_object());
                Self { kind, body, ..Self::default() }
            }
            ContextBody::Event(event) => {
                Self { kind: Some(LineForm::Event), ..Self::of_event(event) }
            }
        }
    }

    pub(super) fn into_context(self) -> Option<ContextBody> {
        match self.kind? {
            LineForm::Message => Some(ContextBody::Message(UiMessage::from_object(self.body))),
            LineForm::Event => self.into_event().map(ContextBody::Event),
        }
    }
}
