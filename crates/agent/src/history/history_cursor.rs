//! A place in the history of a chat, for the next page.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use ship_store::SealedName;

use super::found_messages::HistoryPlace;

/// The place before a message of the history. As a text, it can be handed out and taken back by any process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCursor {
    pub(super) place: HistoryPlace,
    /// The sealed log behind those that the next page needs, if it needs none of the newer ones.
    pub(super) newer_log: Option<SealedName>,
    /// The id of the message.
    pub(super) id: String,
}

impl Display for HistoryCursor {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { place, newer_log, id } = self;
        let log = newer_log.as_ref().map_or("", SealedName::as_str);
        write!(f, "{}~{}~{log}~{id}", place.entry, u8::from(place.is_behind))
    }
}

/// The text is no cursor of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no place in a history; use the one of a page")]
pub struct HistoryCursorError;

impl FromStr for HistoryCursor {
    type Err = HistoryCursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut fields = text.splitn(4, '~');
        let mut next = || fields.next().ok_or(HistoryCursorError);
        let entry = next()?.parse().map_err(|_| HistoryCursorError)?;
        let is_behind = match next()? {
            "0" => false,
            "1" => true,
            _ => return Err(HistoryCursorError),
        };
        let newer_log = match next()? {
            "" => None,
            log => Some(SealedName::parse(log).ok_or(HistoryCursorError)?),
        };
        let id = next()?.to_owned();
        Ok(Self { place: HistoryPlace { entry, is_behind }, newer_log, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_from_its_text_and_other_texts_are_refused() {
        let log = SealedName::parse("20260205T101500123Z-1-42");
        let place = HistoryPlace { entry: 7, is_behind: true };
        for cursor in [
            HistoryCursor { place, newer_log: log, id: "a_1~2".to_owned() },
            HistoryCursor { place: HistoryPlace::default(), newer_log: None, id: String::new() },
        ] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in ["", "7", "x~0~~a", "7~2~~a", "7~0~../log~a", "7~0~"] {
            assert_eq!(text.parse::<HistoryCursor>(), Err(HistoryCursorError), "{text}");
        }
    }
}
