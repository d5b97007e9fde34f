"""A new adaptation rule in a few lines, compared with built-in ones over a random walk of the throughput.

Every rule meets the same throughput. To try a rule in a network, write it in Rust:
docs/how-to/add-an-adaptation-rule.md.
"""

import evenflow as ef
import numpy as np

LADDER, CHUNK_S, CAPACITY_S = [248e3, 456e3, 928e3, 1632e3, 4256e3], 2.0, 30.0


def careful(buffer_s: float, seen: list[float], last: int) -> int:
    """The highest level within the least of five throughputs; one up at a time, and with ten seconds in hand."""
    fits = [level for level, bps in enumerate(LADDER) if bps <= min(seen[-5:], default=0)]
    return min(max(fits, default=0), last + (buffer_s > 10))


def main() -> None:
    print("rule        mean bitrate  switches  stalled  worth of a chunk (Yin et al. 2015)")
    walk = np.clip(2.5e6 * np.exp(np.cumsum(np.random.default_rng(1).normal(0, 0.3, 150))), 3e5, 8e6)
    for name in ("careful", "rate", "bola", "robust-mpc"):
        rule = None if name == "careful" else ef.mechanism(name)
        levels, seen, buffer_s, stalled_s = [0], [], 0.0, 0.0
        for bps in walk:
            level, room = careful(buffer_s, seen, levels[-1]), {"capacity_s": CAPACITY_S, "buffer_s": buffer_s}
            if rule:
                level = rule.choose(ladder_bps=LADDER, throughputs_bps=seen, last=levels[-1], **room)["level"]
            took_s = LADDER[level] * CHUNK_S / bps
            stalled_s += max(0.0, took_s - buffer_s) if seen else 0.0
            buffer_s = min(max(buffer_s - took_s, 0) + CHUNK_S, CAPACITY_S - CHUNK_S)  # asks when there is room
            levels, seen = [*levels, level], [*seen, float(bps)]
        rates = np.array(LADDER)[levels[1:]]
        worth = ef.qoe.yin_2015(rates.mean(), len(rates), np.abs(np.diff(rates)).sum(), stalled_s, 0) / len(rates)
        mean, changes = rates.mean() / 1e6, np.count_nonzero(np.diff(rates))
        print(f"{name:10}  {mean:5.2f} Mbit/s  {changes:8}  {stalled_s:5.1f} s  {worth:6.0f}")


if __name__ == "__main__":
    main()
