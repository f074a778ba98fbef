//! Tells what an answer cost: tokens, time, and money where the prices are set.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use ship_agent::Usage;
use ship_message::json::{Json, Object};
use ship_project::PriceSettings;

use crate::pipe::is_pipe;
use crate::progress_line::format_seconds;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The cost of an answer.
pub(crate) struct AnswerCost {
    usage: Usage,
    /// In the currency of the settings; `None` if no prices are set.
    money: Option<f64>,
}

impl AnswerCost {
    /// Works out the cost with the prices of the project.
    pub(crate) fn new(usage: Usage, session: &Session) -> Self {
        Self { usage, money: money(usage, &session.project.settings().price) }
    }

    /// Prints the cost on a terminal, dim and on standard error. `has_summary` says that tokens of summaries
    /// are among them. What reads the answer from a pipe may show it later, so that the line would stand above it.
    pub(crate) fn print(&self, time: Duration, has_summary: bool) {
        if !std::io::stderr().is_terminal() || is_pipe(std::io::stdout()) {
            return;
        }
        let line = table::wrap_on_stderr(&self.line(time, has_summary), 2);
        // If standard error is gone, there is no reader to inform.
        let _ = writeln!(std::io::stderr(), "{}", Style::of_stderr().dim(&line));
    }

    /// Returns the cost for programs.
    pub(crate) fn to_json(&self) -> Json {
        let mut cost = Object::from([
            ("inputTokens", self.usage.input),
            ("cachedTokens", self.usage.cached),
            ("outputTokens", self.usage.output),
        ]);
        cost.set_or_remove("cost", self.money.map(Json::from));
        cost.into()
    }

    fn line(&self, time: Duration, has_summary: bool) -> String {
        let Usage { input, cached, output } = self.usage;
        let cached = if cached > 0 { format!(" ({cached} cached)") } else { String::new() };
        let summary = if has_summary { " with summary" } else { "" };
        let time = match time.as_secs() {
            0..10 => format!("{:.1} s", time.as_secs_f64()),
            seconds => format_seconds(seconds),
        };
        let money = self.money.map(|money| format!(" · {money:.4}")).unwrap_or_default();
        format!("tokens: {input} in{cached}, {output} out{summary} · {time}{money}")
    }
}

/// Returns the price of the tokens. Cached tokens cost as much as others, unless they have a price of their own.
fn money(usage: Usage, price: &PriceSettings) -> Option<f64> {
    let (input, output) = (price.input?, price.output?);
    let cached = price.cached_input.unwrap_or(input);
    let new = usage.input.saturating_sub(usage.cached);
    let sum = new as f64 * input + usage.cached as f64 * cached + usage.output as f64 * output;
    Some(sum / 1_000_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage { input: 1_000_000, cached: 400_000, output: 10_000 };

    #[test]
    fn money_is_told_where_the_prices_are_set_and_cached_tokens_may_be_cheaper() {
        let price = |input, cached_input, output| PriceSettings { input, cached_input, output };
        assert_eq!(money(USAGE, &price(None, None, None)), None);
        assert_eq!(money(USAGE, &price(Some(2.5), None, None)), None);
        assert_eq!(money(USAGE, &price(Some(2.5), None, Some(10.0))), Some(2.6));
        assert_eq!(money(USAGE, &price(Some(2.5), Some(1.25), Some(10.0))), Some(2.1));
    }

    #[test]
    fn the_line_says_only_what_was_reported() {
        let line = |usage, money, has_summary, millis| {
            AnswerCost { usage, money }.line(Duration::from_millis(millis), has_summary)
        };
        let plain = Usage { cached: 0, ..USAGE };
        assert_eq!(line(plain, None, false, 3_240), "tokens: 1000000 in, 10000 out · 3.2 s");
        assert_eq!(
            line(USAGE, Some(2.1), true, 65_000),
            "tokens: 1000000 in (400000 cached), 10000 out with summary · 1 min 5 s · 2.1000"
        );
    }
}
