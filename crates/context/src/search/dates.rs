//! The dates that a question names, as ranges of days.
//!
//! A date without a year means that date in every year of the chat. What a question calls "yesterday" is not known
//! here: there is no clock.

use std::ops::RangeInclusive;

use ship_record::Timestamp;

/// A date as a question names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedDate {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
}

/// The first days of months, in the form of a date and of languages whose names differ.
const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "janvier", "enero", "gennaio", "janeiro"],
    &["february", "feb", "februar", "février", "febrero", "febbraio", "fevereiro"],
    &["march", "mar", "märz", "mars", "marzo", "março"],
    &["april", "apr", "avril", "abril", "aprile"],
    &["may", "mai", "mayo", "maggio", "maio", "mei"],
    &["june", "jun", "juni", "juin", "junio", "giugno", "junho"],
    &["july", "jul", "juli", "juillet", "julio", "luglio", "julho"],
    &["august", "aug", "août", "agosto", "augustus"],
    &["september", "sep", "sept", "septembre", "septiembre", "settembre", "setembro"],
    &["october", "oct", "oktober", "octobre", "octubre", "ottobre", "outubro"],
    &["november", "nov", "novembre", "noviembre", "novembro"],
    &["december", "dec", "dezember", "décembre", "diciembre", "dicembre", "dezembro"],
];

/// Words behind which a month stands alone: `in May`.
const BEFORE_MONTH: [&str; 21] = [
    "in", "during", "since", "until", "by", "early", "late", "mid", "last", "this", "next", "of",
    "from", "im", "en", "em", "de", "au", "i", "op", "before",
];

/// A piece of a question, as dates are made of.
#[derive(Clone, Debug, PartialEq)]
enum DatePiece {
    Number { value: u32, digits: usize },
    Word(String),
    Sign(char),
}

/// Finds the dates in a normalized question.
pub(super) fn named_dates(question: &str) -> Vec<NamedDate> {
    let pieces = date_pieces(question);
    let mut dates = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        let rest = pieces.get(at..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| pieces.get(before));
        match date_at(rest, before) {
            Some((date, len)) => {
                dates.push(date);
                at += len;
            }
            None => at += 1,
        }
    }
    dates
}

fn date_pieces(question: &str) -> Vec<DatePiece> {
    let mut pieces = Vec::new();
    let mut rest = question;
    while let Some(c) = rest.chars().next() {
        let is_same = |other: char| match c {
            _ if c.is_ascii_digit() => other.is_ascii_digit(),
            _ if is_date_letter(c) => false,
            _ => other.is_alphabetic() && !is_date_letter(other) && c.is_alphabetic(),
        };
        let len =
            rest.char_indices().skip(1).find(|(_, c)| !is_same(*c)).map_or(rest.len(), |it| it.0);
        let (piece, after) = rest.split_at(len);
        match c {
            _ if c.is_ascii_digit() => {
                let value = piece.parse().unwrap_or(u32::MAX);
                pieces.push(DatePiece::Number { value, digits: piece.len() });
            }
            _ if c.is_alphabetic() => pieces.push(DatePiece::Word(piece.to_owned())),
            _ if c.is_whitespace() => {}
            _ => pieces.push(DatePiece::Sign(c)),
        }
        rest = after;
    }
    pieces
}

fn is_date_letter(c: char) -> bool {
    matches!(c, '年' | '月' | '日' | '号' | '號' | '년' | '월' | '일')
}

/// Returns the date at the beginning of the pieces, and the number of its pieces.
fn date_at(pieces: &[DatePiece], before: Option<&DatePiece>) -> Option<(NamedDate, usize)> {
    numeric_date(pieces)
        .or_else(|| eastern_date(pieces))
        .or_else(|| day_and_month(pieces))
        .or_else(|| month_and_day(pieces, before))
        .or_else(|| year_alone(pieces, before))
}

/// Reads `2023-05-08`, `2023/5/8`, `8.5.2023` and `2023-05`.
fn numeric_date(pieces: &[DatePiece]) -> Option<(NamedDate, usize)> {
    let (first, second) = (number(pieces, 0)?, number(pieces, 2)?);
    let sign = sign(pieces, 1).filter(|sign| matches!(sign, '-' | '/' | '.'))?;
    let third = number(pieces, 4).filter(|_| self::sign(pieces, 3) == Some(sign));
    match third {
        Some(day) if is_year(pieces, 0) => Some((NamedDate::of(first, second, Some(day))?, 5)),
        Some(year) if is_year(pieces, 4) && sign == '.' => {
            Some((NamedDate::of(year, second, Some(first))?, 5))
        }
        None if is_year(pieces, 0) && sign == '-' => Some((NamedDate::of(first, second, None)?, 3)),
        _ => None,
    }
}

/// Reads `2023年5月8日`, `5月8号`, `2023년 5월`, `5월 8일`.
fn eastern_date(pieces: &[DatePiece]) -> Option<(NamedDate, usize)> {
    let unit = |at: usize, units: &[&str]| {
        let value = number(pieces, at)?;
        matches!(pieces.get(at + 1), Some(DatePiece::Word(unit)) if units.contains(&unit.as_str()))
            .then_some(value)
    };
    let year = unit(0, &["年", "년"]).filter(|_| is_year(pieces, 0));
    let month_at = if year.is_some() { 2 } else { 0 };
    let month = unit(month_at, &["月", "월"]).filter(|month| (1..=12).contains(month));
    let day = month.and_then(|_| unit(month_at + 2, &["日", "号", "號", "일"]));
    let len = month_at + 2 * usize::from(month.is_some()) + 2 * usize::from(day.is_some());
    (len > 0).then_some((NamedDate { year, month, day }, len))
}

/// Reads `8 May 2023`, `8th of May`, `8. Mai 2023`.
fn day_and_month(pieces: &[DatePiece]) -> Option<(NamedDate, usize)> {
    let day = number(pieces, 0).filter(|day| (1..=31).contains(day))?;
    let mut at = 1;
    while matches!(word(pieces, at), Some("st" | "nd" | "rd" | "th" | "of" | "de"))
        || sign(pieces, at) == Some('.')
    {
        at += 1;
    }
    let month = month_of(word(pieces, at)?)?;
    let (year, len) = year_after(pieces, at + 1);
    Some((NamedDate { year, month: Some(month), day: Some(day) }, len))
}

/// Reads `May 8th, 2023`, `May 2023`, and `May` behind a word such as `in`.
fn month_and_day(pieces: &[DatePiece], before: Option<&DatePiece>) -> Option<(NamedDate, usize)> {
    let month = Some(month_of(word(pieces, 0)?)?);
    if is_year(pieces, 1) || sign(pieces, 1) == Some(',') && is_year(pieces, 2) {
        let (year, len) = year_after(pieces, 1);
        return Some((NamedDate { year, month, day: None }, len));
    }
    if let Some(day) = number(pieces, 1).filter(|day| (1..=31).contains(day)) {
        let ordinal = matches!(word(pieces, 2), Some("st" | "nd" | "rd" | "th"));
        let (year, len) = year_after(pieces, 2 + usize::from(ordinal));
        return Some((NamedDate { year, month, day: Some(day) }, len));
    }
    let is_alone =
        matches!(before, Some(DatePiece::Word(word)) if BEFORE_MONTH.contains(&word.as_str()));
    is_alone.then_some((NamedDate { year: None, month, day: None }, 1))
}

/// Reads `2023`, not as a part of another number.
fn year_alone(pieces: &[DatePiece], before: Option<&DatePiece>) -> Option<(NamedDate, usize)> {
    let joined = |piece: Option<&DatePiece>| matches!(piece, Some(DatePiece::Sign(sign)) if !matches!(sign, '?' | '!' | ',' | ')' | '('));
    let alone = is_year(pieces, 0)
        && !joined(before)
        && !joined(pieces.get(1).filter(|_| pieces.len() > 2));
    alone.then(|| (NamedDate { year: number(pieces, 0), month: None, day: None }, 1))
}

/// Returns the year at a place, maybe behind a comma, and the place behind the date.
fn year_after(pieces: &[DatePiece], at: usize) -> (Option<u32>, usize) {
    let comma = usize::from(sign(pieces, at) == Some(','));
    match is_year(pieces, at + comma) {
        true => (number(pieces, at + comma), at + comma + 1),
        false => (None, at),
    }
}

fn month_of(word: &str) -> Option<u32> {
    let found = MONTHS.iter().position(|names| names.contains(&word))?;
    u32::try_from(found + 1).ok()
}

fn is_year(pieces: &[DatePiece], at: usize) -> bool {
    matches!(pieces.get(at), Some(DatePiece::Number { value: 1900..=2199, digits: 4 }))
}

fn number(pieces: &[DatePiece], at: usize) -> Option<u32> {
    match pieces.get(at)? {
        DatePiece::Number { value, .. } => Some(*value),
        DatePiece::Word(_) | DatePiece::Sign(_) => None,
    }
}

fn word(pieces: &[DatePiece], at: usize) -> Option<&str> {
    match pieces.get(at)? {
        DatePiece::Word(word) => Some(word),
        DatePiece::Number { .. } | DatePiece::Sign(_) => None,
    }
}

fn sign(pieces: &[DatePiece], at: usize) -> Option<char> {
    match pieces.get(at)? {
        DatePiece::Sign(sign) => Some(*sign),
        DatePiece::Number { .. } | DatePiece::Word(_) => None,
    }
}

impl NamedDate {
    fn of(year: u32, month: u32, day: Option<u32>) -> Option<Self> {
        let fits = (1..=12).contains(&month) && day.is_none_or(|day| (1..=31).contains(&day));
        fits.then_some(Self { year: Some(year), month: Some(month), day })
    }

    /// Returns the days that the date means in a chat between two days.
    pub(super) fn ranges(self, chat: &RangeInclusive<i64>) -> Vec<RangeInclusive<i64>> {
        let years = match self.year {
            Some(year) => year..=year,
            None => year_of(*chat.start())..=year_of(*chat.end()),
        };
        // A clock that is far off must not make a list of a million years.
        years.take(200).filter_map(|year| self.range_in(year)).collect()
    }

    fn range_in(self, year: u32) -> Option<RangeInclusive<i64>> {
        let first = day_number(year, self.month.unwrap_or(1), self.day.unwrap_or(1))?;
        let end = match (self.month, self.day) {
            (Some(_), Some(_)) => first + 1,
            (Some(12), None) | (None, _) => day_number(year + 1, 1, 1)?,
            (Some(month), None) => day_number(year, month + 1, 1)?,
        };
        Some(first..=end - 1)
    }
}

fn day_number(year: u32, month: u32, day: u32) -> Option<i64> {
    Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00.000Z")).map(day_of)
}

/// Returns the day of a time, counted from 1970.
pub(super) fn day_of(ts: Timestamp) -> i64 {
    ts.millis().div_euclid(24 * 60 * 60 * 1000)
}

fn year_of(day: i64) -> u32 {
    let digits = Timestamp::from_millis(day * 24 * 60 * 60 * 1000).date_digits();
    digits.get(..4).and_then(|year| year.parse().ok()).unwrap_or(1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(question: &str) -> Vec<(String, String)> {
        let chat = day_number(2022, 11, 1).unwrap()..=day_number(2023, 12, 1).unwrap();
        let digits = |day: i64| Timestamp::from_millis(day * 86_400_000).date_digits();
        let dates = named_dates(question);
        let ranges = dates.into_iter().flat_map(|date| date.ranges(&chat));
        ranges.map(|range| (digits(*range.start()), digits(*range.end()))).collect()
    }

    fn one(first: &str, last: &str) -> Vec<(String, String)> {
        vec![(first.to_owned(), last.to_owned())]
    }

    #[test]
    fn a_date_is_read_in_the_forms_that_people_write() {
        for date in [
            "8 may 2023",
            "may 8th, 2023",
            "may 8 2023",
            "the 8th of may 2023?",
            "2023-05-08",
            "2023/5/8",
            "8.5.2023",
            "8. mai 2023",
            "2023年5月8日",
            "2023年5月8号",
            "2023년 5월 8일",
        ] {
            assert_eq!(days(date), one("20230508", "20230508"), "{date}");
        }
        for month in ["may 2023", "may, 2023", "2023-05", "2023年5月", "2023년 5월"] {
            assert_eq!(days(month), one("20230501", "20230531"), "{month}");
        }
        assert_eq!(days("what did she do in 2023?"), one("20230101", "20231231"));
        assert_eq!(days("in december 2022"), one("20221201", "20221231"));
    }

    #[test]
    fn a_date_without_a_year_is_meant_in_every_year_of_the_chat() {
        assert_eq!(days("in may").len(), 2);
        assert_eq!(days("5月8号")[1], ("20230508".to_owned(), "20230508".to_owned()));
    }

    #[test]
    fn other_numbers_and_words_are_no_dates() {
        for other in [
            "may i come",
            "march on",
            "version 2.2023.1",
            "port 8080",
            "13/13/13",
            "cve-2024-1234",
            "99月",
        ] {
            assert!(days(other).is_empty(), "{other}: {:?}", days(other));
        }
    }
}
