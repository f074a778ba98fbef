// What the npm packages send for random cases: `node oracle.mjs SEED COUNT`, or for the cases in a file:
// `node oracle.mjs FILE`. Prints one JSON object a line: the case, and the body or the error.

import { readFileSync } from 'node:fs';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema } from 'ai';
import { promptCase } from './prompts.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;
console.warn = () => {};

// The tool of which recorded cases give only the name.
const WEATHER = {
  name: 'weather',
  description: 'Get weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
};

class Sent extends Error {}

let body;
const fetch = async (_, request) => {
  body = JSON.parse(request.body);
  throw new Sent();
};
const models = {
  'openai-compatible': createOpenAICompatible({ name: 'test', baseURL: 'http://wire.invalid/v1', fetch })('test-model'),
  anthropic: createAnthropic({ baseURL: 'http://wire.invalid/v1', apiKey: 'k', fetch })('claude-test'),
};

// There are two letters at every address.
const download = async files =>
  files.map(file => (file.isUrlSupportedByModel ? null : { data: new TextEncoder().encode('hi'), mediaType: 'text/plain' }));

// A call without input has one that is undefined: so conversion makes it, and JSON cannot say it.
const withInputs = messages =>
  messages.map(message => ({
    ...message,
    content: Array.isArray(message.content)
      ? message.content.map(part => (part?.type === 'tool-call' && !('input' in part) ? { ...part, input: undefined } : part))
      : message.content,
  }));

async function answer({ provider, system, messages, tools }) {
  body = undefined;
  try {
    await generateText({
      model: models[provider],
      system: system ?? undefined,
      messages: withInputs(structuredClone(messages)),
      tools: tools.length === 0 ? undefined : Object.fromEntries(tools.map(tool => [tool.name, { description: tool.description, inputSchema: jsonSchema(tool.inputSchema) }])),
      maxRetries: 0,
      experimental_download: download,
    });
  } catch (error) {
    if (body === undefined) return { error: { name: error.name, message: error.message } };
  }
  return { body };
}

const print = async (name, testCase) => {
  // Through JSON, so that both sides see the same messages.
  const plain = JSON.parse(JSON.stringify(testCase));
  const line = JSON.stringify({ name, ...plain, ...(await answer(plain)) });
  if (!process.stdout.write(line + '\n')) await new Promise(resume => process.stdout.once('drain', resume));
};

const [first, count] = process.argv.slice(2);
if (count === undefined)
  for (const line of readFileSync(first, 'utf8').split('\n').filter(line => line !== '')) {
    const { name, provider, system, messages, tools } = JSON.parse(line);
    await print(name, { provider, system, messages, tools: tools.map(tool => (tool === 'weather' ? WEATHER : tool)) });
  }
else for (let seed = Number(first); seed < Number(first) + Number(count); seed++) await print(`wire/${seed}`, promptCase(seed));
