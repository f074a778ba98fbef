// Random messages: mostly what a chat holds, sometimes what no chat should.

import { randomness } from './random.mjs';

const TEXTS = ['', 'hi', 'héllo 😀', '你好', 'a\nb\t"q" \\', '\u0000', '\ud83d', '\ude00x', '[object Object]'];
const STATES = [
  'input-streaming', 'input-available', 'approval-requested', 'approval-responded',
  'output-available', 'output-error', 'output-denied',
];

export function messageMaker(seed) {
  const r = randomness(seed);
  // How often a field is not what it should be.
  const wild = r.pick([0, 0, 0.02, 0.15]);

  const json = (depth = 2) => {
    const leaf = () =>
      r.pick([null, true, false, 0, -0, 1.5, 1e21, 12345678901234567890, 'x', '', '😀', '\udc00', 1e-7]);
    if (depth === 0 || r.chance(0.5)) return leaf();
    if (r.chance(0.4)) return r.many(3, () => json(depth - 1));
    const object = {};
    for (const key of r.many(3, () => r.pick(['a', 'b', '2', '1', 'constructor', 'toString', 'id', 'text', 'é'])))
      object[key] = json(depth - 1);
    return object;
  };
  const text = () => r.pick(TEXTS);
  const metadata = () => {
    if (r.chance(wild)) return json();
    const object = {};
    for (const name of r.many(2, () => r.pick(['openai', 'anthropic', 'google'])))
      object[name] = r.chance(wild) ? json() : { [r.pick(['k', 'signature', 'constructor'])]: json(1) };
    return object;
  };
  const bool = () => r.chance(0.5);
  const id = () => r.pick(['c1', 'c2', 'c3', 'id', '']);
  const approval = state => {
    const object = { id: id() };
    const answered = ['approval-responded', 'output-available', 'output-error', 'output-denied'].includes(state);
    if (answered !== r.chance(wild)) object.approved = state === 'output-denied' ? false : state === 'approval-responded' ? bool() : true;
    if (answered && r.chance(0.4)) object.reason = text();
    if (r.chance(0.2)) object.descriptor = json();
    if (r.chance(0.2)) object.signature = text();
    if (r.chance(0.2)) object.inputSchemaInput = json();
    if (r.chance(0.1)) object.extra = 1;
    if (r.chance(wild)) object[r.pick(Object.keys(object))] = json();
    return r.chance(wild) ? json() : object;
  };

  // Puts fields together in any order, now and then without one, with a strange one, or with one too many.
  const object = fields => {
    const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
    const order = r.chance(0.3) ? r.shuffled(entries) : entries;
    const result = {};
    for (const [key, value] of order) {
      if (key !== 'type' && r.chance(wild / 2)) continue;
      result[key] = r.chance(wild / 2) ? json() : value;
    }
    // The package writes such an error out as JSON, and a lone half of a pair as an escape; we have none.
    if (typeof result.errorText === 'object') result.errorText = JSON.parse(JSON.stringify(result.errorText).replaceAll('\\udc00', '?'));
    if (r.chance(0.1)) result[r.pick(['extra', 'title', 'transient', 'content'])] = json();
    return result;
  };
  const maybe = (probability, make) => (r.chance(probability) ? make() : undefined);

  const tool = () => {
    const dynamic = r.chance(0.4);
    const state = r.pick(STATES);
    const output = state === 'output-available';
    const failed = state === 'output-error';
    const mayHaveApproval = output || failed;
    const mustHaveApproval = state.startsWith('approval') || state === 'output-denied';
    const name = r.pick(['w', 'r', 'get-weather', 'a.b/c', '', 'constructor', 'invocation']);
    return object({
      type: dynamic ? 'dynamic-tool' : `tool-${name}`,
      toolName: dynamic || r.chance(wild) ? name : undefined,
      toolCallId: id(),
      state: r.chance(wild) ? r.pick(['done', 'result', 'partial-call']) : state,
      input: failed || state === 'input-streaming' ? maybe(0.6, json) : r.chance(0.1) ? {} : json(),
      rawInput: state === 'input-streaming' ? maybe(0.4, text) : failed ? maybe(0.4, json) : maybe(wild, json),
      inputEncoding: state === 'input-streaming' ? maybe(0.3, () => r.pick(['json', 'text'])) : undefined,
      output: output ? r.pick([text, json])() : maybe(wild, json),
      errorText: failed ? text() : maybe(wild, text),
      approval: mustHaveApproval ? approval(state) : maybe(mayHaveApproval ? 0.3 : wild, () => approval(state)),
      providerExecuted: maybe(0.3, bool),
      preliminary: output ? maybe(0.3, bool) : maybe(wild, bool),
      dynamic: dynamic ? maybe(0.3, () => (r.chance(wild) ? true : false)) : undefined,
      title: maybe(0.1, text),
      toolMetadata: maybe(0.2, () => (r.chance(wild) ? json() : { a: json() })),
      callProviderMetadata: maybe(0.3, metadata),
      resultProviderMetadata: maybe(output || failed ? 0.3 : wild, metadata),
    });
  };
  const state = () => maybe(0.6, () => (r.chance(wild) ? 'half' : r.pick(['streaming', 'done'])));
  const part = () => {
    if (r.chance(wild / 3)) return r.pick([null, 5, 'text', [], {}, { type: 5 }, { type: null }, { type: 'unheard-of', x: 1 }]);
    return r.pick([
      () => object({ type: 'text', text: text(), state: state(), providerMetadata: maybe(0.3, metadata) }),
      () => object({ type: 'text', text: text(), state: state(), providerMetadata: maybe(0.3, metadata) }),
      () => object({ type: 'reasoning', text: text(), id: maybe(0.3, id), state: state(), providerMetadata: maybe(0.3, metadata) }),
      () => object({ type: 'file', mediaType: 'image/png', url: r.pick(['https://x/a.png', 'data:image/png;base64,AA==']), filename: maybe(0.4, text), providerMetadata: maybe(0.3, metadata) }),
      () => object({ type: 'source-url', sourceId: 's', url: 'https://x', title: maybe(0.5, text), providerMetadata: maybe(0.2, metadata) }),
      () => object({ type: 'source-document', sourceId: 's', mediaType: 'a/b', title: 't', filename: maybe(0.5, text), providerMetadata: maybe(0.2, metadata) }),
      () => ({ type: 'step-start' }),
      () => object({ type: r.pick(['data-x', 'data-', 'data-a-b', 'data-toString']), id: maybe(0.5, id), data: json() }),
      tool,
      tool,
      tool,
    ])();
  };
  const message = () => {
    const role = r.chance(wild / 2) ? r.pick(['tool', 'developer', null, 5, ['a', 1], { toString: 1 }, [{ a: 1 }]]) : r.pick(['user', 'assistant', 'assistant', 'assistant', 'system']);
    const parts = r.many(6, part);
    if (role === 'user' || role === 'system') parts.unshift({ type: 'text', text: text() });
    return object({ id: id(), role, metadata: maybe(0.4, json), parts: r.chance(wild / 3) ? r.pick([null, 'ab', '', 5, {}, undefined]) : parts });
  };
  const messages = () => (r.chance(wild / 5) ? r.pick([[], null, {}, 'x']) : [message(), ...r.many(3, message)]);
  return { r, json, text, metadata, messages, message, tool, id, bool, maybe, wild };
}
