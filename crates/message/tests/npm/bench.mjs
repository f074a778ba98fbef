// Times conversion and validation of a file of messages: `node bench.mjs FILE`. Prints medians in ms.

import { readFileSync } from 'node:fs';
import { convertToModelMessages, safeValidateUIMessages } from 'ai';

const messages = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const median = async run => {
  const times = [];
  // The first rounds warm the engine up and do not count.
  for (let i = 0; i < 25; i++) {
    const start = performance.now();
    await run();
    if (i >= 10) times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
};
const convert = await median(() => convertToModelMessages(messages));
const validate = await median(async () => {
  const result = await safeValidateUIMessages({ messages });
  if (!result.success) throw result.error;
});
console.log(JSON.stringify({ convert, validate }));
