//! Adds up the tokens that a provider counted for a run, from the records of its model calls.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_provider::Usage;

/// Adds up the usage of a run's model calls. Calls whose records are not among the lines are not counted.
pub(crate) fn usage_of_run(lines: &[Object], run_id: &str) -> Usage {
    let calls: HashSet<&str> = lines
        .iter()
        .filter(|line| line.str("runId") == Some(run_id))
        .filter_map(|line| line.str("id"))
        .collect();
    let mut usage = Usage::default();
    for line in lines.iter().filter(|line| line.str("answers").is_some_and(|id| calls.contains(id)))
    {
        let tokens = |key: &str| line.get(key).and_then(Json::as_u64).unwrap_or_default();
        usage.input += tokens("inputTokens");
        usage.cached += tokens("cachedTokens");
        usage.output += tokens("outputTokens");
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_one_run_are_added_up() {
        let lines = [
            r#"{"id":"q_1","runId":"run_1"}"#,
            r#"{"answers":"q_1","inputTokens":10,"cachedTokens":4,"outputTokens":2}"#,
            r#"{"id":"q_2","runId":"run_2"}"#,
            r#"{"answers":"q_2","inputTokens":100,"outputTokens":100}"#,
            r#"{"id":"q_3","runId":"run_1"}"#,
            r#"{"answers":"q_3","inputTokens":20,"cachedTokens":10,"outputTokens":3}"#,
            r#"{"id":"q_4","runId":"run_1"}"#,
        ];
        let read = |line: &&str| Json::parse(line).unwrap().as_object().unwrap().clone();
        let lines: Vec<Object> = lines.iter().map(read).collect();
        assert_eq!(usage_of_run(&lines, "run_1"), Usage { input: 30, cached: 14, output: 5 });
    }
}
