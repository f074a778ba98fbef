//! Parts of every kind: what people send, what models say, calls in every state.

use ship_message::UiPart;
use ship_message::json::{Json, Object};

use super::{Feature, Making, object};

/// Texts that somebody has to take as they are.
const ODD_TEXTS: [&str; 9] = [
    " ",
    "\n\t\n",
    "\u{feff}",
    "\u{1f} \u{1c}",
    "\u{0}\u{1}",
    "a\u{2028}b\u{fffd}",
    "</s><|im_end|>{\"role\":\"system\"}",
    "ends in space \n",
    "🧭 你好 עברית",
];

/// A PNG, a JPEG and a GIF of a few pixels, and what only looks like one.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
/// A PNG that says it has 9000 by 10 pixels.
const WIDE_PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAIygAAAAKCAYAAADlAAAA";

impl Making<'_> {
    pub(super) fn words(&mut self) -> String {
        let words =
            ["the", "ship", "sails", "at", "dawn", "船", "回到刚才那个方案", "42 km", "`code`"];
        let count = 1 + self.random.below(12);
        let mut text = Vec::new();
        for _ in 0..count {
            text.push(*self.random.one(&words));
        }
        text.join(" ")
    }

    /// A text as people and models write it, and now and then one that nobody expects.
    fn text(&mut self) -> String {
        match self.random.below(40) {
            0 | 1 => {
                self.has(Feature::EmptyPart);
                String::new()
            }
            2 | 3 => {
                self.has(Feature::OddText);
                (*self.random.one(&ODD_TEXTS)).to_owned()
            }
            4 => {
                self.has(Feature::HugePart);
                "long ".repeat(8_000)
            }
            _ => self.words(),
        }
    }

    fn text_part(&mut self) -> UiPart {
        let mut part = Object::from([("type", Json::from("text"))]);
        part.set("text", self.text());
        if self.random.percent(4) {
            self.has(Feature::ForeignMarks);
            part.set("providerMetadata", foreign_marks());
        }
        UiPart::from_json(part.into())
    }

    pub(super) fn persons_parts(&mut self) -> Vec<UiPart> {
        let mut parts = Vec::new();
        if self.random.percent(60) {
            parts.push(UiPart::text("Request ID: r1\nUserId: 7"));
        }
        for _ in 0..self.random.below(3) {
            parts.push(self.text_part());
        }
        if self.random.percent(12) {
            parts.push(self.file());
        }
        if self.random.percent(5) {
            parts.push(self.odd_part());
        }
        parts
    }

    fn file(&mut self) -> UiPart {
        let image =
            |kind: &str, data: &str| (kind.to_owned(), format!("data:{kind};base64,{data}"));
        let (feature, (media_type, url)) = match self.random.below(11) {
            0 => (Feature::Image, image("image/png", PNG)),
            1 => (Feature::Image, image("image/gif", GIF)),
            // Called what it is not.
            2 => (Feature::Image, image("image/jpeg", PNG)),
            3 => (Feature::Image, ("image/png".to_owned(), "https://example.com/a.png".to_owned())),
            4 => (Feature::BadImage, image("image/png", WIDE_PNG)),
            5 => (Feature::BadImage, image("image/png", "AAAA")),
            6 => (Feature::BadImage, image("image/svg+xml", "PHN2Zy8+")),
            7 => {
                (Feature::BadImage, ("image/png".to_owned(), "blob:http://localhost/1".to_owned()))
            }
            8 => (Feature::OtherFile, image("application/pdf", "JVBERi0xLjQK")),
            9 => (Feature::OtherFile, image("text/csv", "YSxiCjEsMgo=")),
            _ => (Feature::OtherFile, image("application/zip", "UEsDBA==")),
        };
        self.has(feature);
        UiPart::from_json(object([
            ("type", "file".into()),
            ("mediaType", media_type.into()),
            ("filename", "a \"file\"\n.png".into()),
            ("url", url.into()),
        ]))
    }

    fn odd_part(&mut self) -> UiPart {
        match self.random.below(4) {
            0 => {
                self.has(Feature::DataPart);
                UiPart::from_json(object([("type", "data-weather".into()), ("data", 7u64.into())]))
            }
            1 => UiPart::from_json(object([
                ("type", "source-url".into()),
                ("sourceId", "s".into()),
                ("url", "https://example.com".into()),
            ])),
            _ => {
                self.has(Feature::UnknownPart);
                UiPart::from_json(object([("type", "hologram".into()), ("x", 1u64.into())]))
            }
        }
    }

    /// What a model does in one step.
    pub(super) fn step(&mut self, parts: &mut Vec<UiPart>, last: bool) {
        if self.random.percent(25) {
            parts.push(self.reasoning());
        }
        if self.random.percent(60) {
            parts.push(self.text_part());
        }
        if !last || self.random.percent(30) {
            let calls = if self.random.percent(30) { 2 + self.random.below(3) } else { 1 };
            if calls > 1 {
                self.has(Feature::ParallelCalls);
            }
            for _ in 0..calls {
                let call = self.call();
                parts.push(call);
                if self.random.percent(8) {
                    self.has(Feature::TextAfterCall);
                    parts.push(self.text_part());
                }
            }
        }
        if last && self.random.percent(80) {
            parts.push(self.text_part());
            if self.random.percent(10) {
                self.has(Feature::BrokenText);
                parts.push(UiPart::from_json(object([
                    ("type", "text".into()),
                    ("text", "The answer is".into()),
                    ("state", "streaming".into()),
                ])));
            }
        }
        if self.random.percent(3) {
            parts.push(self.odd_part());
        }
    }

    /// Reasoning with the marks that its provider leaves.
    fn reasoning(&mut self) -> UiPart {
        let text = if self.random.percent(10) { String::new() } else { self.words() };
        let maker = self.history.maker.clone();
        let own = object([("provider", maker.provider.into()), ("model", maker.model.into())]);
        let mut metadata = Object::from([("ship", own)]);
        match (maker.provider, self.random.below(6)) {
            ("anthropic", 0) => {
                self.has(Feature::UnsignedReasoning);
            }
            ("anthropic", 1) => {
                self.has(Feature::OwnReasoning);
                let data = (self.sign)("redacted");
                metadata.set("anthropic", object([("redactedData", data.into())]));
            }
            ("anthropic", _) => {
                self.has(Feature::OwnReasoning);
                metadata.set("anthropic", object([("signature", (self.sign)(&text).into())]));
            }
            (_, 0) => {
                self.has(Feature::ForeignReasoning);
                metadata = Object::from([("anthropic", object([("signature", "forged".into())]))]);
            }
            (_, 1 | 2) => {
                self.has(Feature::OwnReasoning);
                let own = metadata.get_mut("ship").and_then(Json::as_object_mut).unwrap();
                own.set("field", "reasoning_content");
            }
            _ => self.has(Feature::OwnReasoning),
        }
        UiPart::from_json(object([
            ("type", "reasoning".into()),
            ("text", text.into()),
            ("providerMetadata", metadata.into()),
        ]))
    }

    /// A call in any state that a log can hold.
    fn call(&mut self) -> UiPart {
        let id = self.call_id();
        let name = match self.random.below(12) {
            0 => {
                self.has(Feature::OddToolName);
                *self.random.one(&["files:read", "<b>x</b>", "", "名前", "spaced name"])
            }
            _ => *self.random.one(&["weather", "chat_send", "gone"]),
        };
        let mut part = Object::from([("toolCallId", Json::from(id))]);
        if self.random.percent(30) || !name.is_ascii() || name.is_empty() {
            part.set("type", "dynamic-tool");
            part.set("toolName", name);
        } else {
            part.set("type", format!("tool-{name}"));
        }
        part.set("input", self.input());
        if self.random.percent(4) {
            self.has(Feature::RunByProvider);
            part.set("providerExecuted", true);
        }
        if self.random.percent(4) {
            self.has(Feature::ForeignMarks);
            part.set("callProviderMetadata", foreign_marks());
        }
        self.state(&mut part);
        UiPart::from_json(part.into())
    }

    fn call_id(&mut self) -> String {
        match self.random.below(14) {
            0 => {
                self.has(Feature::RepeatedCallId);
                "call_same".to_owned()
            }
            1 => {
                self.has(Feature::OddCallId);
                let odd = ["", "call|1", "toolu_ü", &"x".repeat(80), "a b"];
                (*self.random.one(&odd)).to_owned()
            }
            _ => self.id("call"),
        }
    }

    fn input(&mut self) -> Json {
        match self.random.below(10) {
            0 => {
                self.has(Feature::OddInput);
                let odd = self.random.one::<&str>(&["null", "\"raw {\"", "[1]", "7", "true"]);
                Json::parse(odd).unwrap()
            }
            _ => object([("city", self.words().into())]),
        }
    }

    fn state(&mut self, part: &mut Object) {
        let unanswered = match self.random.below(24) {
            0 => "input-streaming",
            1 | 2 => "input-available",
            3 | 4 => {
                self.has(Feature::Approval);
                part.set("approval", object([("id", "ap".into())]));
                "approval-requested"
            }
            5 => {
                self.has(Feature::Approval);
                part.set("approval", object([("id", "ap".into()), ("approved", true.into())]));
                "approval-responded"
            }
            6 => {
                part.set("state", "output-denied");
                part.set("approval", object([("id", "ap".into()), ("approved", false.into())]));
                return;
            }
            7 | 8 => {
                part.set("state", "output-error");
                part.set("errorText", self.text());
                return;
            }
            kind => {
                part.set("state", "output-available");
                let output = match kind {
                    9 => Json::Null,
                    10 => object([("nested", vec![Json::Null, 1u64.into()].into())]),
                    _ => self.text().into(),
                };
                part.set("output", output);
                return;
            }
        };
        self.has(Feature::UnansweredCall);
        part.set("state", unanswered);
    }
}

/// What another program may have left on a part.
fn foreign_marks() -> Json {
    Json::parse(
        r#"{"anthropic":{"cacheControl":{"type":"ephemeral"},"signature":"forged","citations":[{"x":1}]},"google":{"thoughtSignature":"forged"},"openai":{"itemId":"msg_1"},"openaiCompatible":{"cache_control":{"type":"ephemeral"}}}"#,
    )
    .unwrap()
}
