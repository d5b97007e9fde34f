"""Which TCP for my video server? Two players at home, behind a gateway that does nothing, shapes, or tunes windows.

The homes are those of Ben Ameur et al. (2016): 8 Mbit/s, a round trip of 100 ms that varies, Linux 3.2 in the server.
"""

from itertools import product

import evenflow as ef
import numpy as np
from evenflow_papers.has_shaping import network as net
from evenflow_papers.has_shaping.network import Options

SEEDS = range(1, 4)
USERS = ((net.CLIENT_1, net.TOP), (net.CLIENT_2, net.SECOND))
LADDER = [rate * 1e3 for rate in net.LADDER_KBPS]


def seen(control: str, method: str, seed: int) -> list[float]:
    """Of both clients: mean bitrate in Mbit/s, changes of level; and how long a packet waits, in ms."""
    record = ef.run(net.home(Options(htb="keep"), net.S1, control, method), seed=seed)
    views = [ef.qoe.adaptive(record, name, optimal=level, ladder=LADDER) for name, level in USERS]
    found = [value for view in views for value in (view.bitrate_bps / 1e6, view.switches)]
    return [*found, 1e3 * (record.metric(f"links.{net.LINK}.queue_delay_s_mean") or 0.0)]


def main() -> None:
    print("gateway  TCP        client 1                client 2                a packet waits")
    for method, control in product(net.METHODS, net.CONTROLS):
        one, changes, two, more, wait = np.mean([seen(control, method, seed) for seed in SEEDS], axis=0)
        first, second = (f"{rate:4.2f} Mbit/s, {n:4.1f} changes" for rate, n in ((one, changes), (two, more)))
        print(f"{method:7}  {control:9}  {first}  {second}  {wait:5.1f} ms")


if __name__ == "__main__":
    main()
