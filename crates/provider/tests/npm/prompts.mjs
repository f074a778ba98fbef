// Random model messages and tools: mostly what a chat holds, often with something that few chats hold, and
// sometimes what none should.

import { randomness } from './random.mjs';

const TEXTS = ['', 'hi', 'héllo 😀', ' 你好 \n', 'a\nb\t"q" \\', '\u0000', '\ufeff x\u0085', '{"a":1}', '\u00a0'];
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA';
const BASE64 = [
  PNG, '/9j/4AA=', 'R0lGODdh', 'UklGRgAAAABXRUJQVlA4', 'UklGRgAAAABXQVZF', 'Qk0=', 'SUkqAA==', 'TU0AKg==',
  'AAAAIGZ0eXBhdmlm', 'AAAAIGZ0eXBoZWlj', 'JVBERi0xLjQ=', 'aGk=', 'aGk', 'aG k=\n', '77u/aGk=', '_-8=', '/w==', 'a', '', '=', 'a===',
  'aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ', 'SUQzBAAAAAAAAAAAAAAA/9j/4AA=', 'SUQzBAAAAAABAgMEBQYH', 'no base64!', 'é', 'ab=c', 'aGk===',
];
const MEDIA = [
  'image/png', 'image/jpeg', 'image/*', 'image/svg+xml', 'application/pdf', 'text/plain', 'text/csv', 'text/*', 'audio/wav',
  'audio/mpeg', 'audio/mp3', 'audio/ogg', 'audio/*', 'video/mp4', 'application/json', 'application/octet-stream', '*/*', '', 'IMAGE/PNG', 'Text/Plain', 'application/PDF',
];
const URLS = [
  'https://x/a.png', 'https://x', 'HTTPS://EXAMPLE.com/a b?q=ü#f', 'http://example.com:80/../a/./b.pdf', 'ftp://x/a.txt', 'file:///etc/hosts',
  'blob:abc', 'C:\\a.txt', 'mailto:a@b', 'https://', 'http://a b/', 'https://ex%41mple.com/', ' https://x/a ', 'https://münchen.de/ä',
];
const DATA_URLS = [
  'data:image/png;base64,AAAA', 'data:text/plain,hi', 'data:,', 'data:', 'data:image/png', 'data:;base64,aGk=', 'DATA:text/plain;base64,aGk=',
  'data:application/pdf;base64,JVBERi0=', 'data:text/plain;charset=utf-8;base64,aGk=', 'data:audio/wav;base64,UklG', 'data:a:b;c,aGk=,more', 'data:text/csv,a,b',
  'data:text/plain;base64,a G k =', 'data:text/plain;base64,aGk=?x#y', 'data:image/png;base64,é', 'data:text/plain,h%69', ' data:text/plain;base64,aGk=\n',
];
const NAMES = [
  'w', 'weather', 'get-weather', 'a.b/c', 'mcp__x', 'text', 'web_search', 'web_fetch', 'code_execution', 'tool_search_tool_regex', 'tool_search_tool_bm25', 'advisor', '', 'constructor', 'toString',
];

export function promptCase(seed) {
  const r = randomness(seed);
  // How often a field is not what it should be, and how often a part is of the rare kinds.
  const wild = r.pick([0, 0, 0, 0.01, 0.1]);
  const rare = r.pick([0.05, 0.3]);
  const maybe = (probability, make) => (r.chance(probability) ? make() : undefined);
  const bool = () => r.chance(0.5);
  const text = () => r.pick(TEXTS);
  const word = () => r.pick(['hi', 'a b', 'ünï', 'x']);

  const json = (depth = 2) => {
    if (depth === 0 || r.chance(0.5))
      return r.pick([null, true, false, 0, -0, 1.5, 1e21, 12345678901234567890, 'x', '', '😀', 1e-7, -347]);
    if (r.chance(0.4)) return r.many(3, () => json(depth - 1));
    const object = {};
    for (const key of r.many(3, () => r.pick(['a', 'b', '2', '1', '10', 'constructor', 'toString', 'id', 'text', 'type', 'é'])))
      object[key] = json(depth - 1);
    return object;
  };
  // Puts fields together, now and then with a strange one, one too few or one too many.
  const object = fields => {
    const result = {};
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined || (key !== 'type' && r.chance(wild / 2))) continue;
      result[key] = r.chance(wild / 2) ? json() : value;
    }
    if (r.chance(0.05)) result.extra = json();
    return result;
  };

  const cache = () => r.pick([{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }, { type: 'ephemeral' }, null, '', 'x', 0, false, true, []]);
  const anthropicOptions = () => object({
    cacheControl: maybe(0.5, cache),
    cache_control: maybe(0.15, cache),
    signature: maybe(0.3, text),
    redactedData: maybe(0.2, text),
    citations: maybe(0.15, () => r.pick([{ enabled: true }, { enabled: false }, [], [{ type: 'char_location' }], null, {}, { enabled: 1 }])),
    title: maybe(0.15, text),
    context: maybe(0.15, text),
    type: maybe(0.25, () => r.pick(['compaction', 'mcp-tool-use', 'tool-reference', 'x', 5])),
    serverName: maybe(0.2, () => r.pick(['srv', '', null, 5])),
    toolsetName: maybe(0.08, () => r.pick(['computer', '', 5, null])),
    toolName: maybe(0.1, () => r.pick(['w', 5, null])),
    caller: maybe(0.15, () => r.pick([
      { type: 'direct' }, { type: 'code_execution_20250825', toolId: 'c1' }, { type: 'code_execution_20250825', toolId: 'c2' },
      { type: 'code_execution_20260120', toolId: 'gone' }, { type: 'code_execution_20260120', toolId: '' }, { type: 'code_execution_20250825', toolId: 5 }, { type: 'x' }, 'direct', null,
    ])),
    effort: maybe(0.08, () => r.pick(['low', 'max', 'none', null])),
    clearAt: maybe(0.08, () => r.pick(['next_user_message', 'never'])),
    toolChanges: maybe(0.08, () => r.pick([[], [{ type: 'tool_addition', toolName: 'w' }], [{ type: 'tool_removal', toolName: 'x', more: 1 }, { type: 'tool_addition', toolName: '' }], [{ type: 'x', toolName: 'w' }], null])),
  });
  const over = () => object({
    cache_control: maybe(0.3, cache), custom: maybe(0.4, json), role: maybe(0.1, word), content: maybe(0.1, json), type: maybe(0.1, word),
    name: maybe(0.1, word), extra_content: maybe(0.1, json), tool_calls: maybe(0.1, json), reasoning_content: maybe(0.1, json), 1: maybe(0.1, json),
  });
  const options = () => {
    if (r.chance(wild / 2)) return json();
    const names = r.many(2, () => r.pick(['anthropic', 'anthropic', 'openaiCompatible', 'google', 'openai', 'constructor']));
    const result = {};
    for (const name of names)
      result[name] = r.chance(wild / 2) ? json()
        : name === 'anthropic' ? anthropicOptions()
        : name === 'openaiCompatible' ? over()
        : name === 'google' ? object({ thoughtSignature: maybe(0.7, () => r.pick(['sig', '', 5, 1.5, true, null, [1, null, [2, 'x']], {}, false])), k: maybe(0.3, json) })
        : { k: json(1) };
    return result;
  };
  const some = () => maybe(0.25, options);

  const data = () => r.pick([() => r.pick(BASE64), () => r.pick(BASE64), () => r.pick(URLS), () => r.pick(DATA_URLS)])();
  const goodData = () => r.pick([PNG, 'aGk=', 'data:image/png;base64,AAAA', 'https://x/a.png', 'data:text/plain;base64,aGk=', 'data:application/pdf;base64,JVBERi0=']);
  const goodMedia = () => r.pick(['image/png', 'image/*', 'text/plain', 'application/pdf']);
  const file = () => {
    const odd = r.chance(rare);
    return object({
      type: 'file', data: odd ? data() : goodData(), mediaType: odd ? r.pick(MEDIA) : goodMedia(), filename: maybe(0.4, text), providerOptions: some(),
    });
  };
  const image = () => object({ type: 'image', image: r.chance(rare) ? data() : goodData(), mediaType: maybe(0.5, () => r.pick(MEDIA)), providerOptions: some() });
  const textPart = () => object({ type: 'text', text: text(), providerOptions: some() });

  const item = () => r.pick([
    () => object({ type: 'text', text: text(), providerOptions: some() }),
    () => object({ type: 'media', data: r.pick(BASE64), mediaType: r.pick(MEDIA), providerOptions: some() }),
    () => object({ type: 'file-data', data: r.pick(BASE64), mediaType: r.pick(MEDIA), filename: maybe(0.3, text), providerOptions: some() }),
    () => object({ type: 'file-url', url: r.chance(0.1) ? r.pick([...URLS, ...DATA_URLS, 'none']) : 'https://x/f.pdf', mediaType: maybe(0.5, () => r.pick(MEDIA)), providerOptions: some() }),
    () => object({ type: 'file-id', fileId: r.pick(['f1', { openai: 'f1' }]), providerOptions: some() }),
    () => object({ type: 'image-data', data: r.pick(BASE64), mediaType: r.pick(MEDIA), providerOptions: some() }),
    () => object({ type: 'image-url', url: r.chance(0.1) ? r.pick([...URLS, ...DATA_URLS, 'none']) : 'https://x', providerOptions: some() }),
    () => object({ type: 'image-file-id', fileId: r.pick(['f1', { openai: 'f1' }, {}]), providerOptions: some() }),
    () => object({ type: 'custom', providerOptions: some() }),
  ])();
  // What tools that the provider runs answer, right and wrong.
  const native = () => {
    const files = kind => r.many(2, () => object({ type: kind, file_id: 'f' }));
    const number = () => r.pick([0, 1, 2.5]);
    const orNull = make => (r.chance(0.3) ? null : make());
    return r.pick([
      () => r.many(2, () => object({ type: 'web_search_result', url: 'https://n', title: orNull(word), pageAge: orNull(word), encryptedContent: 'abc' })),
      () => object({ type: 'web_fetch_result', url: 'https://n', retrievedAt: orNull(word), content: object({ type: 'document', title: orNull(word), citations: maybe(0.3, () => ({ enabled: bool(), more: 1 })),
        source: r.pick([{ type: 'text', mediaType: 'text/plain', data: 'x', more: 1 }, { type: 'base64', mediaType: 'application/pdf', data: 'x' }, { type: 'text', mediaType: 'text/html', data: 'x' }]) }) }),
      () => object({ type: 'code_execution_result', stdout: 'o', stderr: 'e', return_code: number(), content: maybe(0.6, () => files('code_execution_output')) }),
      () => object({ type: 'encrypted_code_execution_result', encrypted_stdout: 'o', stderr: 'e', return_code: number(), content: maybe(0.6, () => files('code_execution_output')) }),
      () => object({ type: 'bash_code_execution_result', stdout: 'o', stderr: 'e', return_code: number(), content: files(r.pick(['bash_code_execution_output', 'bash_code_execution_output', 'x'])) }),
      () => object({ type: r.pick(['bash_code_execution_tool_result_error', 'text_editor_code_execution_tool_result_error']), error_code: 'x' }),
      () => object({ type: 'text_editor_code_execution_view_result', content: 'c', file_type: 't', num_lines: orNull(number), start_line: orNull(number), total_lines: orNull(number) }),
      () => object({ type: 'text_editor_code_execution_create_result', is_file_update: bool() }),
      () => object({ type: 'text_editor_code_execution_str_replace_result', lines: orNull(() => ['a']), new_lines: orNull(number), new_start: orNull(number), old_lines: orNull(number), old_start: orNull(number) }),
      () => object({ type: 'code_execution_tool_result_error', errorCode: maybe(0.6, () => r.pick(['c', null, 5])) }),
      () => object({ type: 'tool_search_tool_result_error', errorCode: maybe(0.6, word) }),
      () => r.many(2, () => object({ type: 'tool_reference', toolName: 'w' })),
      () => object({ type: 'advisor_result', text: 't' }),
      () => object({ type: 'advisor_redacted_result', encryptedContent: 't' }),
      () => object({ type: 'advisor_tool_result_error', errorCode: 't' }),
      () => r.pick(['null', '5', '{"errorCode":"e"}', '{"type":"code_execution_tool_result_error","errorCode":"e"}', '{"__proto__":1,"errorCode":"e"}', '[]', '{"constructor":{"prototype":1},"errorCode":"e"}', 'x']),
      json,
    ])();
  };
  const output = () => r.pick([
    () => object({ type: 'text', value: text(), providerOptions: maybe(0.1, options) }),
    () => object({ type: 'json', value: json(), providerOptions: maybe(0.1, options) }),
    () => object({ type: 'json', value: native() }),
    () => object({ type: 'error-text', value: text(), providerOptions: maybe(0.1, options) }),
    () => object({ type: 'error-json', value: r.pick([json, native])(), providerOptions: maybe(0.1, options) }),
    () => object({ type: 'error-text', value: r.pick(['null', '{"errorCode":"e"}', '{"type":"code_execution_tool_result_error"}', '"x"']) }),
    () => object({ type: 'execution-denied', reason: maybe(0.5, text), providerOptions: maybe(0.1, options) }),
    () => object({ type: 'content', value: r.many(3, item), providerOptions: maybe(0.1, options) }),
  ])();
  // What a tool that the provider runs really answers, more often than not.
  const ownOutput = toolName => {
    const kind = value => (typeof value?.type === 'string' ? value.type : '');
    const fits = value => ({
      web_search: Array.isArray(value) && value.every(hit => kind(hit) === 'web_search_result'),
      web_fetch: kind(value) === 'web_fetch_result',
      code_execution: kind(value).includes('code_execution'),
      advisor: kind(value).startsWith('advisor'),
    }[toolName] ?? (Array.isArray(value) || kind(value).startsWith('tool_search')));
    let value = native();
    for (let i = 0; i < 20 && !fits(value); i++) value = native();
    return object({ type: r.pick(['json', 'json', 'json', 'error-json']), value });
  };
  const name = () => (r.chance(rare) ? r.pick(NAMES) : r.pick(['w', 'weather']));
  const input = () => r.pick([
    () => ({ city: word() }), () => ({ city: word() }), json, () => undefined, () => ({}),
    () => r.pick(['{"a":1}', '{"a":', '[1]', '"x"', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":1}}', '{"constructor":1}', 'null', '{"1":1,"b":2,"0":3}']),
    () => ({ type: r.pick(['bash_code_execution', 'text_editor_code_execution', 'programmatic-tool-call', 'x']), code: 'x' }),
    () => ({ action: r.pick(['click', 'click', 5]), x: 1 }),
  ])();

  let ids = 0;
  const messages = [];
  const add = (role, content) => messages.push(object({ role, content, providerOptions: maybe(0.15, options) }));
  const assistant = () => {
    if (r.chance(0.2)) return add('assistant', text());
    const content = [];
    const results = [];
    for (let i = r.below(5); i > 0; i--)
      r.pick([
        () => content.push(textPart()),
        () => content.push(textPart()),
        () => content.push(object({ type: 'reasoning', text: text(), providerOptions: maybe(0.6, options) })),
        () => content.push(file()),
        () => {
          const toolCallId = r.chance(rare) ? r.pick(['c1', 'c2']) : `call_${++ids}`;
          const providerExecuted = maybe(0.35, bool);
          const toolName = providerExecuted && r.chance(0.5) ? r.pick(NAMES.slice(6, 12)) : name();
          content.push(object({ type: 'tool-call', toolCallId, toolName, input: input(), providerExecuted, providerOptions: some() }));
          const asked = r.chance(0.2);
          if (asked) content.push(object({ type: 'tool-approval-request', approvalId: `ap_${toolCallId}`, toolCallId, signature: maybe(0.2, text), inputSchemaInput: maybe(0.2, json) }));
          if (asked && r.chance(0.7)) results.push(object({ type: 'tool-approval-response', approvalId: r.chance(0.05) ? 'ap_none' : `ap_${toolCallId}`, approved: bool(), reason: maybe(0.3, text), providerExecuted: r.chance(0.2) ? r.pick([1, 'x', null, 0]) : providerExecuted }));
          const result = object({ type: 'tool-result', toolCallId, toolName: r.chance(0.05) ? name() : toolName, output: providerExecuted && r.chance(0.6) ? ownOutput(toolName) : output(), providerOptions: some() });
          if (providerExecuted) {
            if (r.chance(0.8)) content.push(result);
          } else if (r.chance(asked ? 0.5 : 0.95)) results.push(result);
        },
      ])();
    add('assistant', content);
    // Results may be in one message or in several, and now and then after something else.
    while (results.length > 0) add('tool', results.splice(0, 1 + r.below(results.length)));
    if (r.chance(0.03)) add('tool', []);
  };
  for (let i = 1 + r.below(5); i > 0; i--)
    r.pick([
      () => add('system', r.chance(0.1) ? '' : text()),
      () => add('user', text()),
      () => add('user', r.many(3, () => r.pick([textPart, textPart, image, file])())),
      assistant,
      assistant,
      assistant,
    ])();
  if (r.chance(wild)) messages.push(r.pick([{ role: 'data', content: 'x' }, { role: 'user' }, { role: 'tool', content: 'x' }, { role: 'user', content: [textPart(), { type: 'reasoning', text: 'x' }] }, { role: 'system', content: [] }, { role: 'assistant', content: [{ type: 'image', image: 'x' }] }]));
  if (r.chance(wild / 10)) messages.length = 0;
  const system = r.chance(0.15) ? r.pick([() => '', word, () => ({ role: 'system', content: word(), providerOptions: { anthropic: { cacheControl: cache() }, openaiCompatible: { custom: json() } } }), () => [{ role: 'system', content: 'a' }, { role: 'system', content: 'b', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }], () => []])() : null;
  const schema = () => r.pick([
    {}, { type: 'object' }, { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
    { $schema: 'http://json-schema.org/draft-07/schema#', anyOf: [{ type: 'null' }, { $ref: '#/$defs/a' }], $defs: { a: { enum: [1, 'x', null] } } }, { 2: 1, b: [], 1: 0 }, { type: 'string', pattern: '^\\d+$' },
  ]);
  const tools = r.chance(0.4) ? r.many(3, () => ({ name: r.pick(['w', 'weather', 'x-y', 'x7', 'é']), description: maybe(0.7, word), inputSchema: schema() })) : [];
  const unique = tools.filter((tool, i) => tools.findIndex(other => other.name === tool.name) === i);
  return { provider: r.pick(['openai-compatible', 'anthropic']), system, messages, tools: unique };
}
