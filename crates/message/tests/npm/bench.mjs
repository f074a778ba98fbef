// Times conversion and validation of a file of messages: `node bench.mjs FILE`. Prints the best times in ms.

import { readFileSync } from 'node:fs';
import { convertToModelMessages, safeValidateUIMessages } from 'ai';

const messages = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const best = async run => {
  const times = [];
  // The first rounds warm the engine up and do not count.
  for (let i = 0; i < 35; i++) {
    const start = performance.now();
    await run();
    if (i >= 10) times.push(performance.now() - start);
  }
  return Math.min(...times);
};
const convert = await best(() => convertToModelMessages(messages));
const validate = await best(async () => {
  const result = await safeValidateUIMessages({ messages });
  if (!result.success) throw result.error;
});
console.log(JSON.stringify({ convert, validate }));
