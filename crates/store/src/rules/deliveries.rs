//! Follows the deliveries of a ledger until they are done.
//!
//! The head of a ledger repeats those that were open when the ledger before it was sealed, so no older ledger is read
//! for them. Their long texts stay in their blobs; only the places of the references change.

use std::collections::BTreeMap;

use ship_message::json::{Array, Json, Object};

use super::blob_texts::restore_texts;
use crate::line::{HEAD, LineKind, RawLine, UnnumberedLine};
use crate::{BlobError, ChatKey, Delivery, FORMAT_VERSION, LedgerSeq, StorageError, Timestamp};

/// The field in the head of a ledger with the last number of the ledger sealed before it.
const ARCHIVED_TO: &str = "archivedTo";

/// The deliveries that are not done, by entry and id.
#[derive(Debug, Clone, Default)]
pub struct OpenDeliveries {
    open: BTreeMap<(LedgerSeq, String), OpenDelivery>,
}

/// A message for the platform that is not delivered yet.
#[derive(Debug, Clone)]
struct OpenDelivery {
    delivery: Delivery,
    /// The blobs of its long strings, by JSON pointer into its body.
    blobs: Vec<(String, Json)>,
}

impl OpenDeliveries {
    /// Applies a line of the ledger; entries change nothing.
    pub fn apply(&mut self, line: &RawLine) {
        match line.event() {
            Some("delivery") => self.apply_body(&line.body, line, ""),
            Some(HEAD) => {
                let open = line.body.get("data").and_then(|data| data.get("open")?.as_array());
                for (place, body) in open.unwrap_or_default().iter().enumerate() {
                    if let Some(body) = body.as_object() {
                        self.apply_body(body, line, &format!("/data/open/{place}"));
                    }
                }
            }
            Some(_) | None => {}
        }
    }

    /// Applies a delivery that stands at `pointer` in a line.
    fn apply_body(&mut self, body: &Object, line: &RawLine, pointer: &str) {
        let Some(delivery) = Delivery::from_body(body) else { return };
        let name = (delivery.entry, delivery.id.clone());
        if !delivery.state.is_open() {
            self.open.remove(&name);
            return;
        }
        let own = |(at, blob): (&str, &Json)| {
            let at = at.strip_prefix(pointer).filter(|at| at.starts_with('/'))?;
            Some((at.to_owned(), blob.clone()))
        };
        let blobs = line.blobs.iter().flat_map(|blobs| blobs.iter()).filter_map(own).collect();
        self.open.insert(name, OpenDelivery { delivery, blobs });
    }

    /// Returns the deliveries in order, with their whole texts. `read` gives the bytes of a blob by its digest; without
    /// its blob, a text stays a preview.
    pub fn restore(
        self,
        mut read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
    ) -> Result<Vec<Delivery>, StorageError> {
        let mut whole = Vec::with_capacity(self.open.len());
        for OpenDelivery { delivery, blobs } in self.open.into_values() {
            if blobs.is_empty() {
                whole.push(delivery);
                continue;
            }
            let blobs = Some(blobs.into_iter().collect());
            // Only the body and its blobs are used; a line is their form.
            let (seq, rev, crc, inbox, batch) = (0, 0, 0, None, None);
            let (kind, body) = (LineKind::Event, delivery.to_body());
            let mut line = RawLine { seq, kind, rev, inbox, batch, blobs, crc, body };
            restore_texts(&mut line, &mut read)?;
            whole.extend(Delivery::from_body(&line.body));
        }
        Ok(whole)
    }
}

/// The head of a ledger, as far as it counts ledgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerHead {
    /// The number of ledgers that were sealed before this one.
    pub archives: u64,
    /// The last number that the ledger sealed before it has given.
    pub archived_to: Option<u64>,
}

impl LedgerHead {
    /// Makes the first line of a ledger, with the number `first`.
    pub fn to_line(
        self,
        chat: &ChatKey,
        open: &OpenDeliveries,
        first: LedgerSeq,
        now: Timestamp,
    ) -> UnnumberedLine {
        let mut data = Object::new();
        data.set("v", FORMAT_VERSION);
        data.set("chatKey", chat.as_str());
        data.set("archives", self.archives);
        data.set_or_remove(ARCHIVED_TO, self.archived_to.map(Json::from));
        let open = open.open.values();
        let mut blobs = Object::new();
        for (place, open) in open.clone().enumerate() {
            for (at, blob) in &open.blobs {
                blobs.set(format!("/data/open/{place}{at}"), blob.clone());
            }
        }
        data.set("open", open.map(|open| open.delivery.to_body().into()).collect::<Array>());
        let mut body = Object::new();
        body.set("id", format!("l{first}"));
        body.set("ts", now.to_string());
        body.set("event", HEAD);
        body.set("data", data);
        let blobs = (!blobs.is_empty()).then(|| Json::from(blobs).to_string());
        UnnumberedLine { blobs, ..UnnumberedLine::new(LineKind::Event, body) }
    }

    /// Reads the first line of a ledger; `None` if it is no head of a ledger.
    pub fn read(first: &RawLine) -> Option<Self> {
        let data = first.body.get("data").filter(|_| first.event() == Some(HEAD))?;
        let number = |key: &str| data.get(key)?.as_u64();
        Some(Self { archives: number("archives")?, archived_to: number(ARCHIVED_TO) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeliveryState;
    use crate::rules::content::prepare_body;
    use crate::rules::test_lines::{chat, numbered};

    const NOW: Timestamp = Timestamp::from_millis(1_770_286_500_000);

    fn delivery(id: &str, state: DeliveryState, text: &str) -> Delivery {
        let data = Object::from([("text", text)]);
        Delivery { entry: LedgerSeq::new(2), id: id.to_owned(), ts: NOW, state, data }
    }

    /// The line of a delivery, and its long texts.
    fn line(delivery: &Delivery) -> RawLine {
        let prepared = prepare_body(LineKind::Event, delivery.to_body(), &delivery.id, 1_000_000);
        numbered(&prepared.expect("a delivery").0, 3)
    }

    #[test]
    fn a_delivery_is_open_until_it_is_done() {
        let mut open = OpenDeliveries::default();
        open.apply(&line(&delivery("p1", DeliveryState::Planned, "a")));
        open.apply(&line(&delivery("p2", DeliveryState::Planned, "b")));
        let sending = delivery("p2", DeliveryState::Sending, "b");
        open.apply(&line(&sending));
        open.apply(&line(&delivery("p1", DeliveryState::Sent, "a")));
        let none = |digest: &str| Err(BlobError::Missing(digest.to_owned()));
        assert_eq!(open.restore(none).expect("deliveries"), [sending]);
    }

    #[test]
    fn a_head_carries_open_deliveries_and_their_texts_into_the_next_ledger() {
        let long = "漢字 ".repeat(9000);
        let planned = delivery("p2", DeliveryState::Planned, &long);
        let mut open = OpenDeliveries::default();
        open.apply(&line(&delivery("p1", DeliveryState::Planned, "short")));
        open.apply(&line(&planned));
        for archives in 1..3 {
            let head = LedgerHead { archives, archived_to: Some(9) };
            let first = numbered(&head.to_line(&chat(), &open, LedgerSeq::new(10), NOW), 10);
            assert_eq!(LedgerHead::read(&first), Some(head));
            open = OpenDeliveries::default();
            open.apply(&first);
        }
        let whole = open.restore(|_| Ok(long.clone().into_bytes())).expect("deliveries");
        assert_eq!((whole.len(), &whole[1]), (2, &planned));
    }
}
