//! Random streams, as servers send them.

use proptest::prelude::*;
use ship_message::json::Json;

/// The chunks of one part of a stream, as JSON with `@` in the place of its id.
type Run = Vec<String>;

fn pick(templates: &'static [&'static [&'static str]]) -> BoxedStrategy<Run> {
    prop::sample::select(templates)
        .prop_map(|chunks| chunks.iter().map(|chunk| (*chunk).to_owned()).collect())
        .boxed()
}

fn join(runs: Vec<BoxedStrategy<Run>>) -> BoxedStrategy<Run> {
    runs.prop_map(|runs| runs.concat()).boxed()
}

/// A stream as a server sends it: steps in which texts and calls come interleaved, with results that may come in the
/// step of their call or behind it. In front of the first step, calls of an earlier message are answered.
pub(crate) fn stream() -> impl Strategy<Value = Vec<Json>> {
    let begin = pick(&[
        &[],
        &[r#"{"type":"start"}"#],
        &[r#"{"type":"start","messageId":"a1","messageMetadata":{"m":{"a":1}}}"#],
    ]);
    let answers = pick(&[
        &[],
        &[
            r#"{"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"}"}"#,
            r#"{"type":"tool-output-available","toolCallId":"c2","output":"done"}"#,
            r#"{"type":"tool-output-denied","toolCallId":"c3"}"#,
        ],
        &[
            r#"{"type":"text-start","id":"0"}"#,
            r#"{"type":"text-delta","id":"0","delta":"outside a step"}"#,
            r#"{"type":"text-end","id":"0"}"#,
        ],
    ]);
    let steps = prop::collection::vec(step(), 0..4).prop_map(|steps| steps.concat()).boxed();
    join(vec![begin, answers, steps])
        .prop_map(|chunks| chunks.iter().map(|chunk| Json::parse(chunk).unwrap()).collect())
}

fn step() -> impl Strategy<Value = Run> {
    let order = prop::collection::vec(any::<prop::sample::Index>(), 60);
    let runs = prop::collection::vec((run(), pick(&[&[], LATE_ERROR, LATE_OUTPUT])), 0..5);
    (runs, order, prop::bool::weighted(0.7)).prop_map(|(runs, order, is_finished)| {
        let number = |at: usize, run: Run| -> Run {
            run.into_iter().map(|chunk| chunk.replace('@', &at.to_string())).collect()
        };
        let mut step = vec![r#"{"type":"start-step"}"#.to_owned()];
        let (mut open, late): (Vec<_>, Vec<_>) = runs
            .into_iter()
            .enumerate()
            .map(|(at, (run, late))| (number(at, run).into_iter(), number(at, late)))
            .unzip();
        for index in order {
            if !open.is_empty() {
                step.extend(index.get_mut(&mut open).next());
            }
        }
        step.extend(open.into_iter().flatten());
        if is_finished {
            step.push(r#"{"type":"finish-step"}"#.to_owned());
        }
        step.extend(late.concat());
        step
    })
}

const LATE_ERROR: &[&str] =
    &[r#"{"type":"tool-output-error","toolCallId":"s@","errorText":"late"}"#];
const LATE_OUTPUT: &[&str] = &[
    r#"{"type":"tool-output-available","toolCallId":"s@","output":1,"preliminary":true}"#,
    r#"{"type":"tool-output-available","toolCallId":"s@","output":2,"providerMetadata":{"p":{"r":1}}}"#,
];

fn run() -> BoxedStrategy<Run> {
    let text = join(vec![
        pick(&[
            &[r#"{"type":"text-start","id":"@"}"#],
            &[r#"{"type":"text-start","id":"@","providerMetadata":{"p":{"k":1}}}"#],
        ]),
        pick(&[
            &[],
            &[
                r#"{"type":"text-delta","id":"@","delta":"one \ud83d"}"#,
                r#"{"type":"text-delta","id":"@","delta":"\ude00 two"}"#,
                r#"{"type":"text-delta","id":"@","delta":"","providerMetadata":{"p":{"k":2}}}"#,
            ],
        ]),
        pick(&[
            &[],
            &[r#"{"type":"text-end","id":"@"}"#],
            &[r#"{"type":"text-end","id":"@","providerMetadata":{"p":{"k":3}}}"#],
        ]),
    ]);
    let reasoning = text.clone().prop_map(|chunks| {
        chunks.into_iter().map(|chunk| chunk.replace(r#""text-"#, r#""reasoning-"#)).collect()
    });
    let other = pick(&[
        &[r#"{"type":"file","url":"u","mediaType":"a/b","providerMetadata":{"p":{"k":1}}}"#],
        &[r#"{"type":"source-url","sourceId":"s","url":"u","title":"T"}"#],
        &[
            r#"{"type":"data-x","id":"d@","data":1,"extra":2}"#,
            r#"{"type":"data-x","id":"d@","data":[2]}"#,
            r#"{"type":"data-x","id":"d@","data":3,"transient":true}"#,
        ],
        &[
            r#"{"type":"message-metadata","messageMetadata":{"m":{"b":@}}}"#,
            r#"{"type":"message-metadata","messageMetadata":{"n":["@"]}}"#,
        ],
    ]);
    prop_oneof![2 => text, 2 => reasoning, 2 => other, 4 => call()].boxed()
}

fn call() -> BoxedStrategy<Run> {
    let common = prop::sample::select(
        &[
            "",
            r#","dynamic":true"#,
            r#","title":"T","providerExecuted":true,"toolMetadata":{"m":1}"#,
            r#","dynamic":true,"providerMetadata":{"p":{"k":1}}"#,
            r#","inputEncoding":"text","providerMetadata":{"p":{"k":1}}"#,
        ][..],
    );
    let begin = pick(&[
        &[],
        &[r#"{"type":"tool-input-start","toolCallId":"s@","toolName":"w"$}"#],
        &[
            r#"{"type":"tool-input-start","toolCallId":"s@","toolName":"w"$}"#,
            r#"{"type":"tool-input-delta","toolCallId":"s@","inputTextDelta":"{\"a\":\"\ud83d"}"#,
            r#"{"type":"tool-input-delta","toolCallId":"s@","inputTextDelta":"\ude00\",\"b\":tr"}"#,
            r#"{"type":"tool-input-delta","toolCallId":"s@","inputTextDelta":"ue}"}"#,
        ],
    ]);
    let input = pick(&[
        &[],
        &[r#"{"type":"tool-input-available","toolCallId":"s@","toolName":"w2","input":{"a":1}$}"#],
        &[r#"{"type":"tool-input-available","toolCallId":"s@","toolName":"w","input":null$}"#],
        &[
            r#"{"type":"tool-input-error","toolCallId":"s@","toolName":"w","input":"{","errorText":"bad"$}"#,
            r#"{"type":"tool-output-error","toolCallId":"s@","errorText":"bad"}"#,
        ],
    ]);
    let approval = pick(&[
        &[],
        &[],
        &[r#"{"type":"tool-approval-request","toolCallId":"s@","approvalId":"p@"}"#],
        &[
            r#"{"type":"tool-approval-request","toolCallId":"s@","approvalId":"p@","signature":"s","inputSchemaInput":null,"approvalDescriptor":{}}"#,
        ],
    ]);
    let denial = pick(&[&[], &[], &[r#"{"type":"tool-output-denied","toolCallId":"s@"}"#]]);
    let result = prop_oneof![pick(&[&[], LATE_ERROR, LATE_OUTPUT]), denial].boxed();
    (join(vec![begin, input, approval, result]), common)
        .prop_map(|(run, common)| run.into_iter().map(|chunk| chunk.replace('$', common)).collect())
        .boxed()
}
