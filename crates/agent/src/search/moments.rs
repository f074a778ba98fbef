//! Reads the times between which a search looks.

use ship_store::Timestamp;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The end of a day that is meant by a date alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DayEdge {
    Begin,
    End,
}

/// Reads a time, or a date in UTC, such as a model writes it: `2026-02-05T10:15:00Z`, `2026-02-05`.
pub(crate) fn read_moment(text: &str, edge: DayEdge) -> Option<Timestamp> {
    let text = text.trim();
    let date = Timestamp::parse(&format!("{text}T00:00:00.000Z"));
    if let Some(begin) = date {
        let shift = if edge == DayEdge::End { DAY_MILLIS } else { 0 };
        return Some(Timestamp::from_millis(begin.millis() + shift));
    }
    let time = text.strip_suffix('Z').unwrap_or(text);
    [time.to_owned(), format!("{time}.000"), format!("{time}:00.000")]
        .iter()
        .find_map(|time| Timestamp::parse(&format!("{time}Z")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_its_whole_day_and_a_time_may_be_short() {
        let read = |text: &str, edge| read_moment(text, edge).map(|moment| moment.to_string());
        for (text, begin, end) in [
            ("2026-02-05", "2026-02-05T00:00:00.000Z", "2026-02-06T00:00:00.000Z"),
            ("2026-02-05T10:15", "2026-02-05T10:15:00.000Z", "2026-02-05T10:15:00.000Z"),
            ("2026-02-05T10:15:07Z", "2026-02-05T10:15:07.000Z", "2026-02-05T10:15:07.000Z"),
        ] {
            assert_eq!(read(text, DayEdge::Begin).as_deref(), Some(begin));
            assert_eq!(read(text, DayEdge::End).as_deref(), Some(end));
        }
        assert_eq!(read_moment("yesterday", DayEdge::Begin), None);
    }
}
