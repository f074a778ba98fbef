//! A provider that fails as it is told, a project that asks it, and the real `ship` between them.

use std::io::Read as _;
use std::sync::Mutex;

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Auth, Exchange, Format, LlmServer, Received, Rules};

use crate::harness::{Ran, Running, TestShip, array, text};

/// The key of every project here. Providers quote it in their errors, and nobody may ever read it.
pub(crate) const KEY: &str = "sk-planted-7Kq2Zr9xW4vT";

/// The model that is asked.
pub(crate) const MODEL: &str = "model-of-tests";

/// Both formats, for faults that both have.
pub(crate) const BOTH: [Format; 2] = [Format::OpenAi, Format::Anthropic];

/// A provider and a project that asks it.
pub(crate) struct World {
    pub(crate) server: LlmServer,
    pub(crate) ship: TestShip,
    /// What the person has read of answers that failed, and the sentence that it ended with.
    failures: Mutex<Vec<(String, String)>>,
}

impl World {
    /// A provider that is as strict as the strictest, asked once and not again.
    pub(crate) fn new(format: Format) -> Self {
        Self::with(format, r#""retries": 0"#)
    }

    /// One with further settings of `llm`.
    pub(crate) fn with(format: Format, llm: &str) -> Self {
        Self::of(format, llm, "")
    }

    /// One with further settings of `llm`, and others behind it.
    pub(crate) fn of(format: Format, llm: &str, others: &str) -> Self {
        let server = LlmServer::with(strict());
        let ship = TestShip::with_settings(&settings(&server, format, llm, others));
        Self { server, ship, failures: Mutex::default() }
    }

    /// The same with a variable in the environment of `ship`.
    pub(crate) fn env(self, name: &str, value: &str) -> Self {
        Self { ship: self.ship.env(name, value), ..self }
    }

    /// The settings of a project that asks this provider.
    pub(crate) fn settings(&self, format: Format, llm: &str, others: &str) -> String {
        settings(&self.server, format, llm, others)
    }

    /// Asks somebody else from now on.
    pub(crate) fn switch(&self, format: Format, llm: &str) {
        self.ship.write("ship.json", &settings(&self.server, format, llm, ""));
    }

    pub(crate) fn send(&self, words: &str) -> Ran {
        let ran = self.ship.run(&["send", words]);
        assert_clean("what is printed", &format!("{}{}", ran.out(), ran.err()));
        ran
    }

    /// Sends a message that is answered, and gives the answer.
    #[track_caller]
    pub(crate) fn answer(&self, words: &str) -> String {
        self.send(words).text().trim_end().to_owned()
    }

    /// Sends a message that cannot be answered, and gives what the person reads. That the message which is
    /// kept says the same is seen in [`Self::assert_sound`].
    #[track_caller]
    pub(crate) fn sentence(&self, words: &str) -> String {
        let ran = self.send(words);
        assert_eq!(ran.code(), 1, "stdout: {}\nstderr: {}", ran.out(), ran.err());
        let (said, told) = (ran.out().trim().to_owned(), ran.err());
        let sentence = told.lines().find_map(|line| line.strip_prefix("ship: "));
        let sentence = sentence.unwrap_or_else(|| panic!("no sentence in {told}")).to_owned();
        let read = format!("{said}\n{sentence}").trim_start().to_owned();
        self.failures.lock().unwrap().push((read.clone(), sentence));
        read
    }

    /// The newest message of the chat.
    #[track_caller]
    pub(crate) fn last_message(&self) -> Json {
        let mut lines = self.ship.run(&["history", "--json", "--last", "1"]).json_lines();
        lines.pop().expect("something was said")
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> usize {
        self.server.requests().len()
    }

    /// The newest request.
    #[track_caller]
    pub(crate) fn last_request(&self) -> Received {
        self.server.requests().pop().expect("something was asked")
    }

    /// Waits until so many requests have come.
    pub(crate) fn wait_for(&self, count: usize) {
        wait(async {
            self.server.wait_for(count).await;
        });
    }

    /// What `chat_send` has delivered, as the ledger knows it.
    #[track_caller]
    pub(crate) fn sent_by_tool(&self) -> Vec<String> {
        let lines = self.ledger();
        let by_tool =
            |line: &&Json| line.get("meta").is_some_and(|meta| text(meta, "via") == "tool");
        lines.iter().filter(by_tool).map(|line| text(line, "text")).collect()
    }

    /// What the person was told by answers, as the ledger knows it.
    #[track_caller]
    pub(crate) fn told(&self) -> Vec<String> {
        let lines = self.ledger();
        let told = lines.iter().filter(|line| text(line, "role") == "assistant");
        let by_tool = |line: &&Json| line.get("meta").is_some_and(|meta| meta.get("via").is_some());
        told.filter(|line| !by_tool(line)).map(|line| text(line, "text")).collect()
    }

    #[track_caller]
    fn ledger(&self) -> Vec<Json> {
        self.ship.run(&["history", "--ledger", "--json", "--last", "1000"]).json_lines()
    }

    /// The chat goes on as if nothing had been: no lane is held, the next message is answered at once, no
    /// request was refused, the files are whole, and the key is in none of them but the settings.
    #[track_caller]
    pub(crate) fn assert_goes_on(&self) {
        self.server.otherwise(Answer::text("All is well."));
        let left = self.server.answers_left();
        assert_eq!(left, 0, "{left} answers of the script were never asked for");
        let before = self.asked();
        assert_eq!(self.answer("And now?"), "All is well.");
        assert_eq!(self.asked(), before + 1, "one message is one request");
        self.assert_sound();
    }

    /// Nothing was refused, nothing is damaged, nothing is told twice.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        let refused: Vec<_> =
            self.server.requests().into_iter().filter(|one| one.refused.is_some()).collect();
        if let Some(one) = refused.first() {
            let body = String::from_utf8_lossy(&one.body);
            panic!("request {} was refused by `{:?}`: {body}", one.number, one.refused);
        }
        let said = self.ship.run(&["history", "--json", "--last", "1000"]).json_lines();
        for (at, message) in said.iter().enumerate() {
            let wanted = if at % 2 == 0 { "user" } else { "assistant" };
            assert_eq!(text(message, "role"), wanted, "each question has one answer: {message}");
        }
        let failed = said.iter().filter_map(|message| {
            let error = text(message.get("metadata")?, "error");
            let told = told_by(message);
            assert!(told.ends_with(&error), "the error is what the person read: {message}");
            (!error.is_empty()).then_some((told, error))
        });
        let failed: Vec<(String, String)> = failed.collect();
        for read in self.failures.lock().unwrap().iter() {
            assert!(failed.contains(read), "no message is kept that says {read:?}: {failed:?}");
        }
        assert_eq!(self.ship.run(&["verify"]).text(), "1 chat, nothing wrong.\n");
        assert_clean("the files", &self.ship.contents(".ship"));
    }
}

/// Rules that the strictest host has, with the project's key.
pub(crate) fn strict() -> Rules {
    let extra_message_fields = vec!["reasoning_content".to_owned()];
    Rules { auth: Auth::Key(KEY.to_owned()), extra_message_fields, ..Rules::strict() }
}

fn settings(server: &LlmServer, format: Format, llm: &str, others: &str) -> String {
    let (provider, url) = match format {
        Format::OpenAi => ("openai", server.url_v1()),
        Format::Anthropic => ("anthropic", server.url()),
    };
    settings_at(provider, &url, llm, others)
}

/// The settings of a project that asks this address.
pub(crate) fn settings_at(provider: &str, url: &str, llm: &str, others: &str) -> String {
    // A test may ask for a model of its own, and a key stands in a file once.
    let model =
        if llm.contains("\"model\"") { String::new() } else { format!(r#""model": "{MODEL}","#) };
    format!(
        r#"{{ "llm": {{ "provider": "{provider}", "baseUrl": "{url}", {model} "apiKey": "{KEY}", {llm} }} {others} }}"#
    )
}

/// The same answer, with the key in the error's message.
pub(crate) fn planted(answer: Answer) -> Answer {
    Answer::judge(move |exchange| match settled(&answer, exchange) {
        Answer::Status(mut status) => {
            let body = String::from_utf8_lossy(&status.body).into_owned();
            let with_key = format!(r#""message":"Bearer {KEY} "#);
            status.body = body.replace(r#""message":""#, &with_key).into_bytes();
            Answer::Status(status)
        }
        other => other,
    })
}

fn settled(answer: &Answer, exchange: &Exchange<'_>) -> Answer {
    match answer {
        Answer::Judge(decide) => settled(&decide(exchange), exchange),
        other => other.clone(),
    }
}

/// Waits for something of the server's.
pub(crate) fn wait<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(what)
}

/// Reads a line that a process writes to its standard error.
#[track_caller]
pub(crate) fn error_line(process: &mut Running) -> String {
    let mut line = Vec::new();
    let stderr = process.child.stderr.as_mut().unwrap();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "it ended");
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// No part of the key that could be told from chance is in a text.
#[track_caller]
pub(crate) fn assert_clean(what: &str, shown: &str) {
    for part in [KEY, &KEY[11..], &KEY[..18]] {
        assert!(!shown.contains(part), "{part} is in {what}:\n{shown}");
    }
}

/// Every piece is in a text.
#[track_caller]
pub(crate) fn assert_says(shown: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(shown.contains(piece), "no {piece:?} in: {shown}");
    }
}

/// What a message tells a person: its texts and what `chat_send` delivered, without the thoughts between them.
pub(crate) fn told_by(message: &Json) -> String {
    let told = |part: &Json| match (text(part, "type").as_str(), text(part, "state").as_str()) {
        ("text", _) => Some(text(part, "text")),
        ("tool-chat_send", "output-available") => Some(text(part.get("input")?, "text")),
        _ => None,
    };
    let texts: Vec<String> = array(message, "parts").iter().filter_map(told).collect();
    texts.join("\n").trim().to_owned()
}

/// Shows something for both formats at once.
pub(crate) fn both(show: impl Fn(Format) + Sync) {
    let show = &show;
    std::thread::scope(|scope| {
        for format in [Format::OpenAi, Format::Anthropic] {
            scope.spawn(move || show(format));
        }
    });
}
