//! Parses server-sent events: bytes in, events out.
//!
//! This is a pure parser that accepts pieces of any size. It follows the WHATWG's rules (lines end with LF, CR or
//! CRLF; comments and unknown fields are skipped; several `data` lines are one text). Four differences are needed,
//! which no parser on crates.io has together: an event has a maximal size, bytes that are not UTF-8 become U+FFFD
//! instead of ending the stream, the last event is not lost without its blank line, and a line that begins with `{`
//! is data. Every byte is read once, however the lines are cut.

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The kind of the event; mostly empty.
    pub(crate) name: String,
    /// The data, with its lines joined.
    pub(crate) data: String,
}

/// An event is larger than [`EVENT_BYTES_MAX`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The number of bytes that one event may have. A large tool input in one piece has a few megabytes;
/// no provider sends more.
pub(crate) const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Parses events from bytes.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether the last line ended with CR, so that an LF now belongs to it.
    after_cr: bool,
    event: Event,
    has_data: bool,
    /// Whether an event was returned.
    has_events: bool,
    /// Whether a line came that no event stream has.
    has_foreign_lines: bool,
}

impl Events {
    /// Takes the next bytes, and passes on complete events. `each` returns whether to continue.
    pub(crate) fn push<E: From<TooLarge>>(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(Event) -> Result<bool, E>,
    ) -> Result<bool, E> {
        while !bytes.is_empty() {
            // The two bytes of one line end may come in two pieces.
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() + self.event.data.len() > EVENT_BYTES_MAX {
                return Err(TooLarge.into());
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line()
                && !each(event)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the last event, if the stream ended without a blank line after it.
    pub(crate) fn last_event(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    /// Whether lines came, but none of an event stream.
    pub(crate) fn is_foreign(&self) -> bool {
        self.has_foreign_lines && !self.has_events
    }

    /// Takes the line that has just ended. A blank line ends the event.
    fn end_line(&mut self) -> Option<Event> {
        if self.line.is_empty() {
            return self.end_event();
        }
        let line = std::mem::take(&mut self.line);
        let colon = line.iter().position(|&byte| byte == b':');
        let (field, value) = match colon {
            // No field begins with a brace, so this is data without its field name. Skipping it would leave an
            // invisible hole in the answer.
            _ if line[0] == b'{' => (&b"data"[..], &line[..]),
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
                self.has_data = true;
            }
            b"event" => self.event.name = value.into_owned(),
            b"" | b"id" | b"retry" => {}
            _ => self.has_foreign_lines = true,
        }
        // The buffer of the line is reused.
        self.line = line;
        self.line.clear();
        None
    }

    /// Ends the event. An event without data does not count.
    fn end_event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        let has_data = std::mem::take(&mut self.has_data);
        self.has_events |= has_data;
        has_data.then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (&'static [u8], &'static [(&'static str, &'static str)]);

    /// Returns all events of a text in pieces of `size`, and the tail.
    fn events(bytes: &[u8], size: usize) -> Vec<(String, String)> {
        let mut reader = Events::default();
        let mut all = Vec::new();
        for piece in bytes.chunks(size) {
            let mut each = |event: Event| {
                all.push((event.name, event.data));
                Ok::<_, TooLarge>(true)
            };
            reader.push(piece, &mut each).unwrap();
        }
        all.extend(reader.last_event().map(|event| (event.name, event.data)));
        all
    }

    #[test]
    fn odd_but_legal_streams_are_read_however_they_are_cut() {
        let cases: &[Case] = &[
            (b"data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
            (b"data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]),
            (b"data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
            (b": note\n\n:\n\ndata:a\n\n", &[("", "a")]),
            (b"data: a\ndata:  b\ndata\n\n", &[("", "a\n b\n")]),
            (b"event: ping\nid: 7\nretry: 1\ndata: {}\n\n", &[("ping", "{}")]),
            (b"event: ping\n\ndata: a\n\n", &[("", "a")]),
            ("data: \u{4f60}\u{1F600}\n\n".as_bytes(), &[("", "\u{4f60}\u{1F600}")]),
            (b"data: a\xffb\xe4\xbd\n\n", &[("", "a\u{FFFD}b\u{FFFD}")]),
            (b"data: a\n\ndata: tail", &[("", "a"), ("", "tail")]),
            (b"data: a\n\ndata: tail\n", &[("", "a"), ("", "tail")]),
            (b"\n\n\n", &[]),
            (b"data: a\n\n{\"x\": 1}\n\n", &[("", "a"), ("", "{\"x\": 1}")]),
        ];
        for (bytes, wanted) in cases {
            for size in 1..=bytes.len() {
                let wanted: Vec<_> =
                    wanted.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
                assert_eq!(events(bytes, size), wanted, "{:?}", String::from_utf8_lossy(bytes));
            }
        }
    }

    #[test]
    fn an_event_that_is_too_large_ends_the_reading_before_it_is_held() {
        let mut reader = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        let mut each = |_: Event| Ok::<_, TooLarge>(true);
        assert_eq!(reader.push(b"data: ", &mut each), Ok(true));
        for _ in 0..15 {
            assert_eq!(reader.push(&piece, &mut each), Ok(true));
        }
        assert_eq!(reader.push(&piece, &mut each), Err(TooLarge));
        assert!(reader.line.capacity() <= 2 * EVENT_BYTES_MAX);
    }

    #[test]
    fn lines_of_something_else_are_noticed() {
        let mut reader = Events::default();
        let mut each = |_: Event| Ok::<_, TooLarge>(true);
        reader.push(b"upstream connect error\nreset\n", &mut each).unwrap();
        assert!(reader.is_foreign());
        reader.push(b"data: a\n\n", &mut each).unwrap();
        assert!(!reader.is_foreign());
    }
}
