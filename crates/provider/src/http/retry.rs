//! Decides when a failed request is sent again.
//!
//! The longest wait grows from half a second to eight, and each wait is a random part of it, so that many clients
//! that failed together do not return together. If the provider asks for a wait, it is never shorter. A wait beyond
//! the budget is not begun: the person learns at once what the provider asks for.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use tokio::time::Instant;

/// The longest wait after the first failure; it doubles with each failure.
const FIRST_WAIT_MAX: Duration = Duration::from_millis(500);

/// The longest wait that we choose ourselves.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The time and randomness of retries. Tests bring their own.
pub trait Pace: Send + Sync {
    /// Returns the time since a fixed moment.
    fn now(&self) -> Duration;

    /// Returns a random number.
    fn random(&self) -> u64;

    /// Waits for a duration.
    fn wait(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The real time and real randomness.
#[derive(Debug)]
pub struct SystemPace(Instant);

impl SystemPace {
    /// Begins to count at this moment.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for SystemPace {
    fn default() -> Self {
        Self::new()
    }
}

impl Pace for SystemPace {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn random(&self) -> u64 {
        // Without randomness no connection could be encrypted either.
        getrandom::u64().expect("the system gives random numbers")
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where a retry waits")]
    fn wait(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The headers of an answer about another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// The value of `x-should-retry`.
    pub(crate) should_retry: Option<bool>,
    /// The value of `retry-after-ms`, or of `retry-after` in seconds or as a date.
    pub(crate) retry_after: Option<Duration>,
}

impl Hints {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let should_retry = match text("x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let millis = text("retry-after-ms").and_then(|text| seconds(text, 1000.0));
        let after = text("retry-after");
        let retry_after = millis
            .or_else(|| seconds(after?, 1.0))
            // The date is in the sender's time, which the answer gives too; our clock may be wrong.
            .or_else(|| {
                Some(date(after?)?.duration_since(date(text("date")?)?).unwrap_or_default())
            });
        Self { should_retry, retry_after }
    }
}

fn seconds(text: &str, per_second: f64) -> Option<Duration> {
    let number = text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0)?;
    Some(Duration::try_from_secs_f64(number / per_second).unwrap_or(Duration::MAX))
}

fn date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text.trim()).ok()
}

/// The attempts at one answer.
pub(crate) struct Attempts<'a> {
    pace: &'a dyn Pace,
    retries: u32,
    end: Duration,
    /// The number of failed attempts.
    pub(crate) failures: u32,
}

/// The decision after a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Wait for this time, and try again.
    Wait(Duration),
    /// The provider asks for a wait that is beyond the budget.
    TooLong(Duration),
    /// There were enough attempts.
    GiveUp,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(pace: &'a dyn Pace, retries: u32, budget: Duration) -> Self {
        Self { pace, retries, end: pace.now().saturating_add(budget), failures: 0 }
    }

    /// Counts a temporary failure, and decides what to do.
    pub(crate) fn after_failure(&mut self, retry_after: Option<Duration>) -> RetryDecision {
        self.failures += 1;
        if self.failures > self.retries {
            return RetryDecision::GiveUp;
        }
        // The shift stays within the bits of the number, whatever number of retries the settings allow.
        let doubled = FIRST_WAIT_MAX.saturating_mul(1 << (self.failures - 1).min(16));
        let longest = doubled.min(WAIT_MAX);
        // A double has 53 bits, so the upper 53 bits of the number give an even fraction from 0 to 1.
        let part = (self.pace.random() >> 11) as f64 / (1_u64 << 53) as f64;
        let chosen = longest.mul_f64(part);
        let left = self.end.saturating_sub(self.pace.now());
        match retry_after {
            Some(retry_after) if retry_after > left => RetryDecision::TooLong(retry_after),
            Some(retry_after) => RetryDecision::Wait(retry_after.saturating_add(chosen).min(left)),
            None if chosen > left || left.is_zero() => RetryDecision::GiveUp,
            None => RetryDecision::Wait(chosen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pace with a clock that stands still and a draw that is always the same.
    struct Still {
        now: Duration,
        draw: u64,
    }

    impl Pace for Still {
        fn now(&self) -> Duration {
            self.now
        }

        fn random(&self) -> u64 {
            self.draw
        }

        fn wait(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(std::future::ready(()))
        }
    }

    const MINUTES: Duration = Duration::from_secs(180);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn waits_double_from_half_a_second_to_eight_at_most() {
        let pace = Still { now: Duration::ZERO, draw: u64::MAX };
        let mut attempts = Attempts::new(&pace, 6, MINUTES);
        let waits: Vec<u128> = (0..6)
            .map(|_| match attempts.after_failure(None) {
                // The draw is just below one.
                RetryDecision::Wait(wait) => (wait + Duration::from_nanos(10)).as_millis(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000]);
        assert_eq!(attempts.after_failure(None), RetryDecision::GiveUp);
    }

    #[test]
    fn a_draw_of_nothing_is_no_wait_unless_the_provider_asks_for_one() {
        let pace = Still { now: Duration::ZERO, draw: 0 };
        let mut attempts = Attempts::new(&pace, 4, MINUTES);
        assert_eq!(attempts.after_failure(None), RetryDecision::Wait(Duration::ZERO));
        let retry_after = Duration::from_secs(30);
        assert_eq!(attempts.after_failure(Some(retry_after)), RetryDecision::Wait(retry_after));
        let retry_after = Duration::from_secs(181);
        assert_eq!(attempts.after_failure(Some(retry_after)), RetryDecision::TooLong(retry_after));
    }

    #[test]
    fn hints_are_read_in_milliseconds_seconds_and_dates_of_the_senders_clock() {
        let retry_after = |pairs: &[(&'static str, &str)]| Hints::read(&headers(pairs)).retry_after;
        assert_eq!(retry_after(&[("retry-after-ms", "1500")]), Some(Duration::from_millis(1500)));
        assert_eq!(
            retry_after(&[("retry-after-ms", "20"), ("retry-after", "9")]),
            Some(Duration::from_millis(20))
        );
        assert_eq!(retry_after(&[("retry-after", " 7 ")]), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(retry_after(&[("retry-after", "1e300")]), Some(Duration::MAX));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(retry_after(&[date, later]), Some(Duration::from_secs(60)));
        assert_eq!(
            retry_after(&[("date", later.1), ("retry-after", date.1)]),
            Some(Duration::ZERO)
        );
        for nonsense in ["", "soon", "-5", "NaN", "inf"] {
            let wanted = (nonsense == "inf").then_some(Duration::MAX);
            assert_eq!(retry_after(&[("retry-after", nonsense)]), wanted, "{nonsense}");
        }
        assert_eq!(retry_after(&[later]), None);
    }

    #[test]
    fn should_retry_is_true_false_or_not_said() {
        let read = |value: &str| Hints::read(&headers(&[("x-should-retry", value)])).should_retry;
        assert_eq!((read("true"), read("false"), read("maybe")), (Some(true), Some(false), None));
    }
}
