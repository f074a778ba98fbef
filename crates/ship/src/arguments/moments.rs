//! Reads times as a person writes them, in the time zone of the person.

use jiff::civil;
use jiff::tz::TimeZone;
use ship_store::Timestamp;

/// The end of a day that is meant by a date alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalDayEdge {
    Begin,
    End,
}

/// Reads the time from which on something is wanted.
pub(super) fn parse_since(text: &str) -> Result<Timestamp, &'static str> {
    parse_moment(text, LocalDayEdge::Begin).ok_or(NO_MOMENT)
}

/// Reads the time before which something is wanted. A date includes its day.
pub(super) fn parse_until(text: &str) -> Result<Timestamp, &'static str> {
    parse_moment(text, LocalDayEdge::End).ok_or(NO_MOMENT)
}

const NO_MOMENT: &str =
    "it must be a date, such as 2026-02-05, or a time, such as 2026-02-05T10:15";

fn parse_moment(text: &str, edge: LocalDayEdge) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp::from_millis(instant.as_millisecond()));
    }
    let local = local_time(text, edge)?;
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    let instant = zone.to_timestamp(local).ok()?;
    Some(Timestamp::from_millis(instant.as_millisecond()))
}

fn local_time(text: &str, edge: LocalDayEdge) -> Option<civil::DateTime> {
    let is_date = text.len() == "2026-02-05".len();
    match text.parse::<civil::Date>().ok().filter(|_| is_date) {
        Some(day) if edge == LocalDayEdge::End => Some(day.tomorrow().ok()?.at(0, 0, 0, 0)),
        Some(day) => Some(day.at(0, 0, 0, 0)),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_means_its_whole_day_and_a_zone_is_heeded() {
        let zoned = |text| parse_moment(text, LocalDayEdge::Begin).map(|moment| moment.to_string());
        let (begin, end) = (LocalDayEdge::Begin, LocalDayEdge::End);
        assert_eq!(zoned("2026-02-05T10:15:00+01:00").as_deref(), Some("2026-02-05T09:15:00.000Z"));
        for (text, edge, local) in [
            ("2026-02-05", begin, "2026-02-05T00:00:00"),
            ("2026-02-05", end, "2026-02-06T00:00:00"),
            ("2026-02-05T10:15", end, "2026-02-05T10:15:00"),
            ("2026-02-05 10:15", begin, "2026-02-05T10:15:00"),
        ] {
            assert_eq!(local_time(text, edge).map(|time| time.to_string()).as_deref(), Some(local));
        }
        assert_eq!(parse_moment("soon", begin), None);
    }
}
