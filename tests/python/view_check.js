// What the script of a view works out without a page: node view_check.js PATH/view.js
const v = require(process.argv[2]), assert = require("assert");
assert.deepStrictEqual(v.ticks(0, 60, 7), [0, 10, 20, 30, 40, 50, 60]);
assert.deepStrictEqual(v.ticks(0.1, 0.35, 5), [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]);
const held = { draw: "post", t: [1, 2, 5], v: [10, 20, 30] };
assert.deepStrictEqual([0.5, 1, 1.9, 2, 4, 99].map(t => v.at(held, t)), [null, 10, 10, 20, 20, 30]);
const rate = { draw: "pre", t: { from: 1, every: 1 }, v: [10, 20, 30] };
assert.deepStrictEqual([0.5, 1, 1.5, 3, 3.5].map(t => v.at(rate, t)), [10, 10, 20, 30, null]);
const even = { draw: "even", t: [0, 2, 2, 4], v: [2, 0, 2, 0] };
assert.deepStrictEqual([0, 1, 2, 3, 4].map(t => v.at(even, t)), [2, 1, 2, 1, 0]);
assert.deepStrictEqual(v.range(held, 2.5, 4), [20, 20]);
assert.deepStrictEqual(v.range(held, 0, 0.5), null);
const long = { draw: "line", t: { from: 0, every: 1 }, v: Array.from({ length: 9000 }, (_, n) => n === 4321 ? 99 : n === 77 ? -99 : n % 7) };
const kept = v.thin(long, 0, 9000, 300);
assert(kept.length <= 1200 && kept.includes(4321) && kept.includes(77) && kept[0] === 0 && kept.at(-1) === 8999);
assert.strictEqual(v.path(held, 0, 6, t => t, y => y, 100, 6), "M1 10H2V20H5V30H6");
assert.strictEqual(v.path({ draw: "line", t: [0, 1, 2, 3], v: [1, null, 2, 3] }, 0, 3, t => t, y => y, 100, 3), "M0 1M2 2L3 3");
assert.strictEqual(v.rows(held, '=a "b"', "s", 1.5, 3), `"'=a ""b""","s",2,20\n`);
console.log("well");
