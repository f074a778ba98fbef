//! Finds out what a run cost, from the records of its model calls.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_provider::Usage;
use ship_store::Store;

use super::read_records::read_frame;

/// Adds up the usage of a run's model calls, those for summaries among them. `None` if the provider has answered one of
/// them without a count, or none at all. Calls whose records are not among the lines are not counted.
pub(crate) fn usage_of_run(lines: &[Object], run_id: &str) -> Option<Usage> {
    let calls: HashSet<&str> = calls_of_run(lines, run_id).filter_map(|it| it.str("id")).collect();
    let mut sum = None;
    for line in lines.iter().filter(|line| line.str("answers").is_some_and(|id| calls.contains(id)))
    {
        let tokens = |key: &str| line.get(key).and_then(Json::as_u64);
        let usage: &mut Usage = match (tokens("inputTokens"), line.get("error")) {
            (Some(_), _) => sum.get_or_insert_default(),
            // A call that failed costs nothing that is known.
            (None, Some(_)) => continue,
            (None, None) => return None,
        };
        usage.input += tokens("inputTokens").unwrap_or_default();
        usage.cached += tokens("cachedTokens").unwrap_or_default();
        usage.output += tokens("outputTokens").unwrap_or_default();
    }
    sum
}

/// Returns the model that a run has asked for its answer, if the record is still there.
pub(crate) async fn model_of_run(
    store: &dyn Store,
    lines: &[Object],
    run_id: &str,
) -> Option<String> {
    // A record with a message id asked for an answer, and not only for a summary.
    let last = calls_of_run(lines, run_id).filter(|line| line.str("messageId").is_some()).last()?;
    let frame = read_frame(store, last.str("frame")?).await?;
    Some(frame.get("recipe")?.get("model")?.as_str()?.to_owned())
}

fn calls_of_run<'a>(lines: &'a [Object], run_id: &'a str) -> impl Iterator<Item = &'a Object> {
    lines.iter().filter(move |line| line.str("runId") == Some(run_id))
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
        let counted = Usage { input: 30, cached: 14, output: 5 };
        assert_eq!(usage_of_run(&lines, "run_1"), Some(counted));
        assert_eq!(usage_of_run(&lines, "run_3"), None);
    }

    #[test]
    fn a_sum_that_lacks_an_answer_is_none_and_a_failure_costs_nothing() {
        let mut lines = vec![
            r#"{"id":"q_1","runId":"run_1"}"#,
            r#"{"answers":"q_1","error":"busy"}"#,
            r#"{"id":"q_2","runId":"run_1"}"#,
            r#"{"answers":"q_2","finishReason":"stop","inputTokens":10,"cachedTokens":0,"outputTokens":2}"#,
        ];
        let usage = |lines: &[&str]| {
            let read = |line: &&str| Json::parse(line).unwrap().as_object().unwrap().clone();
            usage_of_run(&lines.iter().map(read).collect::<Vec<_>>(), "run_1")
        };
        assert_eq!(usage(&lines), Some(Usage { input: 10, cached: 0, output: 2 }));
        assert_eq!(usage(&lines[..2]), None);
        lines.push(r#"{"id":"q_3","runId":"run_1"}"#);
        lines.push(r#"{"answers":"q_3","finishReason":"stop"}"#);
        assert_eq!(usage(&lines), None);
    }
}
