// The parts of a view's script that need no page: node view_check.js PATH/view.js
const v = require(process.argv[2]), assert = require("assert");
const held = v.drawn({ draw: "post", t: [1, 2, 5], v: [10, 20, 30] }, 6);
assert.deepStrictEqual([held.t, held.v], [[1, 2, 5, 6], [10, 20, 30, 30]]);
assert.deepStrictEqual([0.5, 1, 1.9, 2, 4, 6, 99].map(t => v.at(held, t)), [null, 10, 10, 20, 20, 30, null]);
const rate = v.drawn({ draw: "pre", t: { from: 1, every: 1 }, v: [10, 20, 30] }, 6);
assert.deepStrictEqual([rate.t, rate.v], [[0, 1, 2, 3], [10, 10, 20, 30]]);
assert.deepStrictEqual([0, 0.5, 1, 1.5, 3, 3.5].map(t => v.at(rate, t)), [10, 10, 10, 20, 30, null]);
const even = v.drawn({ draw: "even", t: [0, 2, 2.000000001, 4], v: [2, 0, 2, 0] }, 4);
assert.deepStrictEqual([0, 1, 3, 4].map(t => Number(v.at(even, t).toFixed(6))), [2, 1, 1, 0]);
const gap = v.drawn({ draw: "line", t: [0, 1, 2], v: [1, null, 3] }, 2);
assert.deepStrictEqual([0.5, 1, 1.5, 2].map(t => v.at(gap, t)), [1, null, null, 3]);
assert.deepStrictEqual(v.range(held, 2.5, 4), [20, 20]);
assert.deepStrictEqual(v.range(held, 1.5, 5), [10, 30]);
assert.deepStrictEqual(v.range(held, 0, 0.5), null);
assert.deepStrictEqual(v.range(rate, 1, 2), [20, 20]);
assert.deepStrictEqual(v.range(rate, 0.5, 2.5), [10, 30]);
assert.deepStrictEqual(v.samples({ spans: [[1, 2], [3, 4]] }), { t: [1, 2, 3, 4], v: [1, 0, 1, 0] });
assert.strictEqual(v.rows(v.samples({ t: [1, 2, 5], v: [10, 20, 30] }), '=a "b"', "s", 1.5, 3), `"'=a ""b""","s",2,20\n`);
assert.deepStrictEqual([null, 0, 12.3456, 1234567, 0.00012345].map(v.number), ["–", "0", "12.35", "1.235e+6", "1.234e-4"]);
const told = t => ({ t, text: "why" }), bare = t => ({ t, text: "" });
assert.deepStrictEqual(v.clicked([bare(1), told(1.4)], 1, 1), told(1.4)); // hardly farther
assert.deepStrictEqual(v.clicked([bare(1), told(1.9)], 1, 1), bare(1));
assert.deepStrictEqual(v.clicked([bare(1), bare(1.1), bare(1.2), told(1.9)], 1, 1), told(1.9)); // nothing can be aimed at
assert.strictEqual(v.clicked([], 1, 1), null);
console.log("well");
