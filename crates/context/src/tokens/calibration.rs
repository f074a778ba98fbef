//! Learns from providers how many tokens they count for ours.
//!
//! Our vocabulary may not be the model's, and it is unknown how a provider writes tools and turns as tokens. But it
//! reports after every answer what the request took. From that each model gets a rate of reported to counted
//! tokens: that of the last request if it was long enough, or else the running mean of those before. The agent
//! multiplies its own counts by it.
//!
//! Reports can be wrong. A report of zero, or of many times the expected number, is ignored. A report of less than
//! half may mean that a server has silently cut the request to a small window, as Ollama does. Learning from it
//! would let the next requests grow ever longer, so it is ignored too.

use ship_message::json::{Json, Object};

use super::family::Family;

/// The number of models that are remembered; the one with the oldest report is dropped first.
const MODELS_MAX: usize = 8;

/// The number of tokens from which a report is used for the factor. A smaller report mostly measures what a
/// provider adds to every request, and a factor from it would make a long request seem many times too long.
const FACTOR_FROM_TOKENS: u64 = 500;

/// The limits of the factor: no tokenizer in use differs more from another.
const FACTOR_MIN: f64 = 0.5;
const FACTOR_MAX: f64 = 4.0;

/// The multiple of the expected number from which a report is absurd.
const ABSURD_TIMES: u64 = 16;

/// The least weight of a new report: old ones fade, because a chat changes from talk to code.
const WEIGHT_MIN: f64 = 0.25;

/// The learnt rates of models. They are plain data, stored with the chat.
///
/// ```
/// let mut calibration = ship_context::Calibration::default();
/// assert_eq!(calibration.piece_tokens("gpt-4o", 1_000), 1_000);
/// calibration.learn("gpt-4o", 10_000, 14_000);
/// assert_eq!(calibration.rate("gpt-4o"), 1.4, "the model counted 14 tokens for each 10 of ours");
/// assert_eq!(calibration.piece_tokens("gpt-4o", 1_000), 1_400);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// The rates, with the newest report last.
    models: Vec<ModelRate>,
}

#[derive(Clone, Debug, PartialEq)]
struct ModelRate {
    model: String,
    factor: f64,
    /// The number of reports that the factor is the mean of.
    reports: u64,
    anchor: Anchor,
}

/// The last request: our count, and the report.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Anchor {
    counted: u64,
    reported: u64,
}

impl Calibration {
    /// Learns from an answer. `counted` is our own count of everything that was sent; `reported` is the whole input
    /// as the provider counted it, including cached tokens once.
    pub fn learn(&mut self, model: &str, counted: u64, reported: u64) {
        let expected = self.expected(model, counted);
        let absurd = ABSURD_TIMES.saturating_mul(expected.max(FACTOR_FROM_TOKENS));
        if counted == 0 || reported == 0 || reported > absurd {
            return;
        }
        // The server may have silently cut the request.
        if reported < expected / 2 {
            return;
        }
        let anchor = Anchor { counted, reported };
        let mut learnt = self.take_rate(model).unwrap_or_else(|| ModelRate::new(model, anchor));
        learnt.anchor = anchor;
        if counted >= FACTOR_FROM_TOKENS {
            learnt.add(reported as f64 / counted as f64);
        }
        if self.models.len() >= MODELS_MAX {
            self.models.remove(0);
        }
        self.models.push(learnt);
    }

    /// Returns the number with which a report is compared. The next request is mostly the last one with an
    /// addition, so the factor is needed only for the difference.
    fn expected(&self, model: &str, counted: u64) -> u64 {
        let Some(learnt) = self.models.iter().find(|learnt| learnt.model == model) else {
            return (counted as f64 * Family::of_model(model).starting_factor()).round() as u64;
        };
        let Anchor { counted: then, reported } = learnt.anchor;
        if counted >= then {
            let more = (counted - then) as f64 * learnt.factor;
            return reported.saturating_add(more.round() as u64);
        }
        // A removed part took as many tokens in proportion as the whole.
        (reported as f64 * (counted as f64 / then as f64)).round() as u64
    }

    /// Returns the tokens of a piece of a request, such as one message. Pieces are proportional, so that they add
    /// up: the provider's additions to the last request are not counted again for each of them.
    pub fn piece_tokens(&self, model: &str, counted: u64) -> u64 {
        (counted as f64 * self.rate(model)).round() as u64
    }

    /// Returns the tokens of many pieces, like [`Calibration::piece_tokens`]. The rate is looked up once.
    pub fn shares(&self, model: &str, counted: &[u64]) -> Vec<u64> {
        let rate = self.rate(model);
        counted.iter().map(|&counted| (counted as f64 * rate).round() as u64).collect()
    }

    /// Returns how many tokens the provider counts for one of ours: from the last request, or from those before if
    /// it was too short.
    pub fn rate(&self, model: &str) -> f64 {
        match self.models.iter().find(|learnt| learnt.model == model) {
            None => Family::of_model(model).starting_factor(),
            Some(ModelRate { anchor, factor, .. }) if anchor.counted < FACTOR_FROM_TOKENS => {
                *factor
            }
            Some(ModelRate { anchor, .. }) => {
                (anchor.reported as f64 / anchor.counted as f64).clamp(FACTOR_MIN, FACTOR_MAX)
            }
        }
    }

    /// Whether there is a report for the model.
    pub fn has_report(&self, model: &str) -> bool {
        self.models.iter().any(|learnt| learnt.model == model)
    }

    /// Takes over the rates of `older` for models without a report here.
    pub fn merge_older(&mut self, older: Self) {
        let unknown = older.models.into_iter().filter(|learnt| !self.has_report(&learnt.model));
        let mut models: Vec<ModelRate> = unknown.collect();
        models.append(&mut self.models);
        models.drain(..models.len().saturating_sub(MODELS_MAX));
        self.models = models;
    }

    fn take_rate(&mut self, model: &str) -> Option<ModelRate> {
        let at = self.models.iter().position(|learnt| learnt.model == model)?;
        Some(self.models.remove(at))
    }

    /// Returns the data in the form in which it is stored.
    pub fn to_object(&self) -> Object {
        let models = self.models.iter();
        models.map(|learnt| (learnt.model.clone(), learnt.to_json())).collect()
    }

    /// Reads the result of [`Self::to_object`]. Invalid entries are left out, and so learnt again.
    pub fn from_object(object: &Object) -> Self {
        let learnt = object.iter().filter_map(|(model, json)| ModelRate::from_json(model, json));
        let mut models: Vec<ModelRate> = learnt.collect();
        models.drain(..models.len().saturating_sub(MODELS_MAX));
        Self { models }
    }
}

impl ModelRate {
    fn new(model: &str, anchor: Anchor) -> Self {
        let factor = Family::of_model(model).starting_factor();
        Self { model: model.to_owned(), factor, reports: 0, anchor }
    }

    /// Adds a report. The first reports have equal weight, later ones a quarter.
    fn add(&mut self, ratio: f64) {
        self.reports = self.reports.saturating_add(1);
        let weight = (1.0 / self.reports as f64).max(WEIGHT_MIN);
        let factor = self.factor + (ratio - self.factor) * weight;
        // Four digits are more than the estimate needs, and short to store.
        self.factor = (factor.clamp(FACTOR_MIN, FACTOR_MAX) * 10_000.0).round() / 10_000.0;
    }

    fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("factor", Json::from(self.factor)),
            ("reports", self.reports.into()),
            ("counted", self.anchor.counted.into()),
            ("reported", self.anchor.reported.into()),
        ]))
    }

    fn from_json(model: &str, json: &Json) -> Option<Self> {
        let whole = |key| json.get(key).and_then(Json::as_u64).filter(|number| *number > 0);
        let anchor = Anchor { counted: whole("counted")?, reported: whole("reported")? };
        let factor = json.get("factor").and_then(Json::as_number)?;
        let reports = json.get("reports").and_then(Json::as_u64)?;
        let usable = (FACTOR_MIN..=FACTOR_MAX).contains(&factor);
        usable.then(|| Self { model: model.to_owned(), factor, reports, anchor })
    }
}

#[cfg(test)]
mod tests {
    use ship_testkit::random::Random;
    use ship_testkit::texts;

    use super::super::Tokenizer;
    use super::*;

    /// A provider that counts a multiple of our tokens, give or take three percent.
    fn report(random: &mut Random, counted: u64, factor: f64) -> u64 {
        let noise = 0.97 + random.below(601) as f64 / 10_000.0;
        (counted as f64 * factor * noise).round() as u64
    }

    fn is_within(estimate: u64, truth: f64, part: f64) -> bool {
        (estimate as f64 - truth).abs() <= truth * part
    }

    /// Counts of a growing chat in English, Chinese and code.
    fn growing_counts(model: &str, kind: &str) -> Vec<u64> {
        let (_, text) = texts::ordinary(24_000).into_iter().find(|text| text.0 == kind).unwrap();
        let tokenizer = Tokenizer::for_model(model);
        let ends = (1..=6).map(|end| text.floor_char_boundary(end * 4_000));
        ends.map(|end| tokenizer.count(&text[..end])).collect()
    }

    #[test]
    fn three_reports_bring_the_estimate_within_a_twentieth() {
        for kind in ["English", "Chinese", "Rust"] {
            let counts = growing_counts("some-model", kind);
            for seed in 0..200 {
                let mut random = Random::new(seed);
                let mut calibration = Calibration::default();
                for (replies, counted) in counts.iter().copied().enumerate() {
                    let estimate = calibration.piece_tokens("some-model", counted);
                    let is_near = is_within(estimate, counted as f64 * 1.4, 0.05);
                    assert!(replies < 3 || is_near, "{kind}, seed {seed}: {estimate} of {counted}");
                    let reported = report(&mut random, counted, 1.4);
                    calibration.learn("some-model", counted, reported);
                }
            }
        }
    }

    #[test]
    fn each_model_has_a_factor_of_its_own_and_keeps_it() {
        let models = [("gpt-4o", 1.02), ("claude-opus-4-7", 1.55), ("deepseek-chat", 0.9)];
        let mut random = Random::new(7);
        let mut calibration = Calibration::default();
        for round in 1..=3 {
            for (model, factor) in models {
                let counted = 10_000 * round;
                let reported = report(&mut random, counted, factor);
                calibration.learn(model, counted, reported);
            }
        }
        for (model, factor) in models {
            for counted in [10_000, 31_000, 60_000] {
                let estimate = calibration.piece_tokens(model, counted);
                assert!(is_within(estimate, counted as f64 * factor, 0.05), "{model}: {estimate}");
            }
        }
    }

    #[test]
    fn a_model_that_has_not_answered_yet_has_its_familys_factor() {
        let calibration = Calibration::default();
        assert_eq!(calibration.piece_tokens("gpt-4o", 1_000), 1_000);
        assert_eq!(calibration.piece_tokens("claude-sonnet-4-5", 1_000), 1_350);
    }

    #[test]
    fn an_absurd_report_teaches_nothing() {
        let mut calibration = Calibration::default();
        calibration.learn("m", 1_000, 1_100);
        let before = calibration.clone();
        for (counted, reported) in [(1_000, 0), (0, 1_000), (1_000, 110_000), (100, 10_000)] {
            calibration.learn("m", counted, reported);
            assert_eq!(calibration, before, "{reported} for {counted}");
        }
        calibration.learn("m", u64::MAX, u64::MAX);
        assert_ne!(calibration, before, "but no overflow");
        calibration = before.clone();
        calibration.learn("new", u64::MAX, 1);
        assert_eq!(calibration, before);
    }

    #[test]
    fn a_factor_stays_within_what_is_possible() {
        let mut calibration = Calibration::default();
        for _ in 0..10 {
            calibration.learn("m", 1_000, 9_000);
        }
        assert_eq!(calibration.piece_tokens("m", 1_000), 4_000);
        assert_eq!(calibration.expected("m", 11_000), 9_000 + 40_000);
    }

    /// Ollama cuts a request to its window, 4,096 tokens by default, and reports what it kept.
    #[test]
    fn a_request_that_was_cut_silently_teaches_nothing() {
        let mut calibration = Calibration::default();
        calibration.learn("llama3.1:8b", 3_000, 3_100);
        let before = calibration.clone();
        for counted in [9_000, 20_000, 100_000] {
            calibration.learn("llama3.1:8b", counted, 4_096);
            assert_eq!(calibration, before, "{counted}");
        }
    }

    #[test]
    fn what_a_provider_adds_to_a_short_request_is_not_multiplied() {
        let mut calibration = Calibration::default();
        calibration.learn("m", 20, 620);
        assert_eq!(calibration.expected("m", 40), 640);
        assert_eq!(calibration.expected("m", 100_020), 100_620);
    }

    #[test]
    fn a_shorter_request_is_expected_to_take_its_share() {
        let mut calibration = Calibration::default();
        calibration.learn("m", 100_000, 130_000);
        assert_eq!(calibration.expected("m", 10_000), 13_000);
        assert_eq!(calibration.expected("m", 0), 0);
    }

    #[test]
    fn pieces_add_up_to_the_whole_and_short_requests_do_not_multiply() {
        let mut calibration = Calibration::default();
        assert_eq!(calibration.piece_tokens("claude-sonnet-4-5", 1_000), 1_350);
        calibration.learn("m", 20, 620);
        assert_eq!(
            calibration.piece_tokens("m", 10),
            10,
            "too short a request tells nothing of a piece"
        );
        calibration.learn("m", 10_000, 14_000);
        assert_eq!((0..50).map(|_| calibration.piece_tokens("m", 1_000)).sum::<u64>(), 70_000);
        calibration.learn("m", 100, 700);
        assert_eq!(
            calibration.piece_tokens("m", 1_000),
            1_400,
            "what was known before still counts"
        );
    }

    #[test]
    fn what_is_carried_over_fills_gaps_and_replaces_nothing() {
        let (mut now, mut older) = (Calibration::default(), Calibration::default());
        now.learn("a", 1_000, 1_400);
        older.learn("a", 1_000, 1_100);
        older.learn("b", 1_000, 1_800);
        now.merge_older(older);
        assert_eq!((now.piece_tokens("a", 1_000), now.piece_tokens("b", 1_000)), (1_400, 1_800));
        let mut many = Calibration::default();
        for number in 0..MODELS_MAX {
            many.learn(&format!("model-{number}"), 1_000, 1_000);
        }
        now.merge_older(many);
        assert!(now.has_report("a") && now.has_report("b"), "the newest stay");
        assert_eq!(now.to_object().len(), MODELS_MAX);
    }

    #[test]
    fn what_is_stored_is_small_and_read_again() {
        let mut calibration = Calibration::default();
        for number in 0..20 {
            calibration.learn(&format!("model-{number}"), 3_000, 4_001 + number);
        }
        let stored = calibration.to_object();
        assert_eq!(stored.len(), MODELS_MAX);
        assert!(stored.has("model-19") && !stored.has("model-0"));
        assert!(format!("{stored:?}").len() < 1_000, "{stored:?}");
        assert_eq!(Calibration::from_object(&stored), calibration);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let text = r#"{
            "good":{"factor":1.25,"reports":3,"counted":10,"reported":12},
            "a":null,"b":{},"c":{"factor":1e400,"reports":1,"counted":1,"reported":1},
            "d":{"factor":-1,"reports":1,"counted":1,"reported":1},
            "e":{"factor":1,"reports":1,"counted":0,"reported":1},
            "f":{"factor":1,"reports":0.5,"counted":1,"reported":1}
        }"#;
        let Ok(Json::Object(object)) = Json::parse(text) else { panic!("an object") };
        let calibration = Calibration::from_object(&object);
        assert_eq!(calibration.to_object().keys().collect::<Vec<_>>(), ["good"]);
        assert_eq!(calibration.piece_tokens("good", 100), 125);
    }
}
