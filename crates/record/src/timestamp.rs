//! Timestamps in the forms of logs and file names.

use std::fmt;

use ship_message::json::Json;

/// A point in time: milliseconds since 1970, written as ISO 8601 with a `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Makes a timestamp from milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the milliseconds as a JSON number, the form in messages and their metadata.
    pub fn to_json(self) -> Json {
        Json::Number(self.0 as f64)
    }

    /// Reads the form that [`Timestamp::to_json`] writes.
    pub fn from_json(json: &Json) -> Option<Self> {
        json.as_number().map(|millis| Self(millis as i64))
    }

    /// Returns the day as eight digits, `20260205`.
    pub fn date_digits(self) -> String {
        let (year, month, day) = self.date();
        format!("{year:04}{month:02}{day:02}")
    }

    /// Returns the form for file names, `20260205T101500123Z`, which has no colon and sorts by time.
    pub fn file_name(self) -> String {
        let (hour, minute, second, milli) = self.time();
        format!("{}T{hour:02}{minute:02}{second:02}{milli:03}Z", self.date_digits())
    }

    /// Reads the form that [`file_name`](Self::file_name) writes, also without milliseconds.
    pub fn from_file_name(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let (year, month, day) = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
        let (hour, minute, second) = (time.get(..2)?, time.get(2..4)?, time.get(4..6)?);
        let milli = time.get(6..).filter(|milli| !milli.is_empty()).unwrap_or("000");
        Self::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{milli}Z"))
    }

    /// Reads `2026-02-05T10:15:00.123Z`, the form that [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = text.get(from..to)?;
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (23, "Z")];
        if text.len() != 24 || marks.iter().any(|&(at, mark)| text.get(at..at + 1) != Some(mark)) {
            return None;
        }
        let days = days_from_date(number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
        Some(Self((days * 86_400 + seconds) * 1000 + number(20, 23)?))
    }

    fn time(self) -> (i64, i64, i64, i64) {
        let millis = self.0.rem_euclid(86_400_000);
        (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60, millis % 1000)
    }

    /// Returns year, month and day. Years are counted from the first of March: a leap day is then the last day.
    fn date(self) -> (i64, i64, i64) {
        // Howard Hinnant's `civil_from_days`; an era is 400 years, after which the calendar repeats.
        // The number of days from 1 March of the year 0 to 1 January 1970 is 719,468.
        let days = self.0.div_euclid(86_400_000) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (year_of_era + era * 400 + i64::from(month <= 2), month, day)
    }
}

fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    // Howard Hinnant's `days_from_civil`, the inverse of `Timestamp::date`.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let (hour, minute, second, milli) = self.time();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments_are_written_as_iso_8601() {
        for (millis, text, file) in [
            (0, "1970-01-01T00:00:00.000Z", "19700101T000000000Z"),
            (1_770_286_500_123, "2026-02-05T10:15:00.123Z", "20260205T101500123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z", "20000229T000000000Z"),
            (-1, "1969-12-31T23:59:59.999Z", "19691231T235959999Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text);
            assert_eq!(Timestamp(millis).file_name(), file);
        }
    }

    proptest! {
        #[test]
        fn every_moment_reads_back(millis in -60_000_000_000_000_i64..250_000_000_000_000) {
            let moment = Timestamp(millis);
            prop_assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        }
    }
}
