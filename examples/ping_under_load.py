"""How long does a ping take on a line that is idle, and on one that a bulk transfer fills? Three queues.

The request goes up the path with the data, the reply comes back with the acknowledgements. A deep drop-tail queue adds
its whole length; FQ-CoDel nearly nothing.
"""

import evenflow as ef

QUEUES = {"drop-tail": {"limit": "250 packets"}, "CoDel": {"kind": "codel"}, "FQ-CoDel": {"kind": "fq-codel"}}
LOADS = {"idle": "59 s", "busy": {"uniform": ["0 s", "2 s"]}}


def main() -> None:
    ping = {"users": 1, "path": ["line"], "traffic": {"kind": "ping", "interval": {"uniform": ["50 ms", "150 ms"]}}}
    load = {"users": 1, "path": ["line"], "traffic": {"kind": "bulk"}, "tcp": {"congestion_control": "cubic"}}
    line = {"rate": "10 Mbit/s", "delay": "10 ms"}
    tree = {"duration": "59 s", "warmup": "10 s", "links": {"line": line}, "groups": {"load": load, "ping": ping}}
    queues = {name: {"links.line.queue": queue} for name, queue in QUEUES.items()}
    loads = {name: {"groups.load.traffic.start": start} for name, start in LOADS.items()}
    sweep = {"replications": 5, "cases": {"queue": queues, "line": loads}}
    table = ef.study(ef.Scenario({**tree, "sweep": sweep}))
    print("queue      line  an echo takes     half of them  1 in 100 takes more than  lost")
    for point in table.points():
        mean, half, late = (
            table.interval(f"groups.ping.transfers.completion_s_{of}", point) for of in ("mean", "p50", "p99")
        )
        lost = table.interval("groups.ping.transfers.failed", point).mean
        took = f"{1e3 * mean.mean:.1f} ± {1e3 * mean.half_width:.1f} ms"
        print(
            f"{point['queue']:9}  {point['line']:4}  {took:16}  {1e3 * half.mean:9.1f} ms"
            f"  {1e3 * late.mean:21.1f} ms  {lost:4.1f}"
        )


if __name__ == "__main__":
    main()
