// What the npm package gives for random cases: `node oracle.mjs convert|validate|stream|prune SEED COUNT`.
// Prints one JSON object a line: the case, and the answer of the package.
// `node oracle.mjs assemble` reads streams, `{chunks}` a line, and prints what the package assembles from each.

import { readFileSync } from 'node:fs';
import {
  AbstractChat, DefaultChatTransport, convertToModelMessages, pruneMessages, safeValidateUIMessages,
} from 'ai';
import { messageMaker } from './messages.mjs';
import { streamCase } from './streams.mjs';

class State {
  status = 'ready';
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = message => this.messages.push(message);
  popMessage = () => this.messages.pop();
  replaceMessage = (index, message) => (this.messages[index] = message);
  snapshot = value => structuredClone(value);
}

class Chat extends AbstractChat {}

async function assembled({ chunks, initial }) {
  const lines = chunks.map(chunk => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`);
  const body = lines.join('') + 'data: [DONE]\n\n';
  let finished;
  const chat = new Chat({
    id: 'chat',
    generateId: () => 'gen-id',
    transport: new DefaultChatTransport({ fetch: async () => new Response(body) }),
    onFinish: result => (finished = result),
    state: new State(structuredClone(initial ?? [])),
  });
  await (initial ? chat.sendMessage() : chat.sendMessage({ text: 'hi' }));
  return { message: finished.message, error: finished.isError };
}

async function convertCase(seed) {
  const make = messageMaker(seed);
  const ui = make.messages();
  const options = {};
  if (make.r.chance(0.3)) options.ignoreIncompleteToolCalls = true;
  if (make.r.chance(0.3)) options.tools = make.r.pick([{}, { w: {} }, { w: {}, r: null }]);
  try {
    return { ui, options, model: await convertToModelMessages(structuredClone(ui), options) };
  } catch (error) {
    return { ui, options, error: { name: error.name, message: error.message } };
  }
}

async function validateCase(seed) {
  const make = messageMaker(seed);
  const messages = make.messages();
  const options = {};
  if (make.r.chance(0.2)) options.tools = make.r.pick([{}, { w: {} }]);
  if (make.r.chance(0.1)) options.dataSchemas = {};
  const result = await safeValidateUIMessages({ messages: structuredClone(messages), ...options });
  return { messages, options, valid: result.success, data: result.data };
}

// What conversion gives, pruned by random rules; nothing when the messages cannot be converted.
async function pruneCase(seed) {
  const make = messageMaker(seed);
  const { r } = make;
  let messages;
  try {
    messages = await convertToModelMessages(make.messages().concat(make.messages(), make.messages()));
  } catch {
    messages = [];
  }
  // An id that is an object equals only itself in JavaScript, which no JSON can tell; such ids are left out.
  const plain = (key, value) => (/Id$/.test(key) && typeof value === 'object' ? 'c1' : value);
  messages = JSON.parse(JSON.stringify(messages), plain);
  const scope = () => r.pick(['all', 'before-last-message', 'before-last-0-messages', 'before-last-2-messages']);
  const rule = () => ({ type: scope(), ...(r.chance(0.5) ? { tools: r.many(2, () => r.pick(['w', 'r', 'gone'])) } : {}) });
  const options = {
    reasoning: r.pick(['none', 'all', 'before-last-message']),
    toolCalls: r.many(2, rule),
    emptyMessages: r.pick(['keep', 'remove']),
  };
  return { messages, options, pruned: pruneMessages({ messages: structuredClone(messages), ...options }) };
}

async function streamed(seed) {
  const stream = streamCase(seed);
  return { ...stream, ...(await assembled(stream)) };
}

async function print(object) {
  const line = JSON.stringify(object);
  if (!process.stdout.write(line + '\n')) await new Promise(resume => process.stdout.once('drain', resume));
}

const [kind, first, count] = process.argv.slice(2);
if (kind === 'assemble') {
  const lines = readFileSync(0, 'utf8').split('\n').filter(line => line !== '');
  for (const line of lines) await print(await assembled(JSON.parse(line)));
} else {
  const make = { convert: convertCase, validate: validateCase, stream: streamed, prune: pruneCase }[kind];
  for (let seed = Number(first); seed < Number(first) + Number(count); seed++)
    await print({ name: `${kind}/${seed}`, ...(await make(seed)) });
}
