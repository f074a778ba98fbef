// A small seeded source of randomness, so that a failing case can be made again.

export function randomness(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = n => Math.floor(next() * n);
  const chance = p => next() < p;
  const pick = list => list[below(list.length)];
  const many = (max, make) => Array.from({ length: below(max + 1) }, make);
  return { next, below, chance, pick, many };
}
