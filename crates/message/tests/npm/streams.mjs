// Random streams: what a server sends, with a fault now and then.

import { messageMaker } from './messages.mjs';

export function streamCase(seed) {
  const make = messageMaker(seed);
  const { r, json, text, metadata, id, bool, maybe } = make;
  const wild = make.wild / 4;
  const chunks = [];
  const clean = object => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
  const add = object => {
    const chunk = clean(object);
    if (r.chance(wild)) delete chunk[r.pick(Object.keys(chunk))];
    if (r.chance(wild)) chunk[r.pick(Object.keys(chunk))] = json();
    if (r.chance(0.05)) chunk.extra = json();
    chunks.push(chunk);
  };
  const pm = () => maybe(0.2, metadata);
  const common = () => ({
    providerExecuted: maybe(0.2, bool), providerMetadata: pm(),
    toolMetadata: maybe(0.2, () => ({ m: json(1) })), dynamic: maybe(0.3, bool), title: maybe(0.2, text),
  });
  // A text cut anywhere, also inside a character.
  const pieces = whole => {
    const units = [];
    for (let at = 0; at < whole.length; ) {
      const size = 1 + r.below(4);
      units.push(whole.slice(at, at + size));
      at += size;
    }
    return units;
  };
  const textRun = kind => {
    const key = r.pick(['t1', 't2', '__proto__']);
    add({ type: `${kind}-start`, id: key, providerMetadata: pm() });
    for (const delta of pieces(r.pick(['hello 😀 world', '你好😀😀', '', text() + text()])))
      add({ type: `${kind}-delta`, id: key, delta, providerMetadata: pm() });
    if (r.chance(0.9)) add({ type: `${kind}-end`, id: key, providerMetadata: pm() });
  };
  const outcome = toolCallId => {
    if (r.chance(0.3)) add({ type: 'tool-approval-request', toolCallId, approvalId: 'ap', approvalDescriptor: maybe(0.3, json), inputSchemaInput: maybe(0.3, json), signature: maybe(0.3, text) });
    r.pick([
      () => {},
      () => add({ type: 'tool-output-denied', toolCallId }),
      () => add({ type: 'tool-output-error', toolCallId, errorText: text(), ...common() }),
      () => {
        if (r.chance(0.3)) add({ type: 'tool-output-available', toolCallId, output: json(), preliminary: true });
        add({ type: 'tool-output-available', toolCallId, output: json(), preliminary: maybe(0.2, bool), ...common() });
      },
    ])();
  };
  const toolRun = () => {
    const toolCallId = id();
    const toolName = r.pick(['w', 'get-weather', 'a.b']);
    const shared = common();
    if (r.chance(0.7)) {
      add({ type: 'tool-input-start', toolCallId, toolName, inputEncoding: maybe(0.3, () => r.pick(['json', 'text'])), ...shared });
      const input = r.pick([JSON.stringify(json()), '{"a":[1,tru', '{"a":"😀\\u00e9', '{not', '-', '[1,2,{"b":nul', '{"__proto__":1}', '{"k":1.5e', '{"a": "x", ']);
      for (const inputTextDelta of pieces(input)) {
        add({ type: 'tool-input-delta', toolCallId, inputTextDelta });
        if (r.chance(0.03)) add({ type: 'start-step' });
      }
    }
    if (r.chance(0.2)) add({ type: 'tool-input-error', toolCallId, toolName, input: json(), errorText: text(), ...shared });
    else if (r.chance(0.8)) add({ type: 'tool-input-available', toolCallId, toolName, input: json(), ...shared, ...(r.chance(0.1) ? common() : {}) });
    if (r.chance(0.8)) outcome(toolCallId);
  };
  const step = () => {
    add({ type: 'start-step' });
    for (let i = r.below(4); i > 0; i--)
      r.pick([
        () => textRun('text'),
        () => textRun('reasoning'),
        toolRun,
        toolRun,
        () => add({ type: 'file', url: 'u', mediaType: 'a/b', providerMetadata: pm() }),
        () => add({ type: 'source-url', sourceId: 's', url: 'u', title: maybe(0.5, text), providerMetadata: pm() }),
        () => add({ type: 'source-document', sourceId: 's', mediaType: 'm', title: 't', filename: maybe(0.5, text), providerMetadata: pm() }),
        () => add({ type: r.pick(['data-x', 'data-y']), id: maybe(0.6, id), data: json(), transient: maybe(0.2, bool) }),
        () => add({ type: 'message-metadata', messageMetadata: json() }),
      ])();
    if (r.chance(0.9)) add({ type: 'finish-step' });
  };
  if (r.chance(0.9)) add({ type: 'start', messageId: maybe(0.7, () => 'a1'), messageMetadata: maybe(0.4, json) });
  for (let i = r.below(4); i > 0; i--) step();
  if (r.chance(0.1)) add({ type: 'abort', reason: maybe(0.5, text) });
  if (r.chance(0.1)) add({ type: 'error', errorText: 'broken' });
  if (r.chance(0.8)) add({ type: 'finish', finishReason: maybe(0.8, () => r.pick(['stop', 'length', 'tool-calls', 'other'])), messageMetadata: maybe(0.4, json) });
  const initial = maybe(0.3, () => {
    const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] };
    const parts = [{ type: 'step-start' }, ...r.many(3, make.tool).filter(part => typeof part.toolCallId === 'string' && typeof part.type === 'string')];
    return [user, { id: 'a0', role: 'assistant', ...clean({ metadata: maybe(0.5, json) }), parts }];
  });
  return { chunks, initial: initial ?? null };
}
