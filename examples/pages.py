"""What do web pages feel like beside a download? Three ways of running the queue of a home line.

Behind drop-tail every object of a page waits in the download's queue, and a page takes many round trips. FQ-CoDel sends
first what comes in small amounts, and keeps the download's own queue short. HTB guarantees each user half of the line,
lends what one leaves idle, and keeps their queues apart.
"""

import evenflow as ef

HALF = {"rate": "5 Mbit/s", "ceil": "10 Mbit/s", "parent": "line"}
QUEUES = {
    "drop-tail": {"limit": "250 packets"},
    "FQ-CoDel": {"kind": "fq-codel"},
    "HTB": {"scheduler": {"kind": "htb", "per": "user", "classes": {"line": {"rate": "10 Mbit/s"}}, "each": HALF}},
}
OBJECTS = {"objects": {"uniform": [4, 20]}, "object_size": {"lognormal": ["15 kB", 1.5]}}
PAGES = {"kind": "web", "page_size": {"lognormal": ["30 kB", 1]}, **OBJECTS, "think": {"exponential": "3 s"}}


def main() -> None:
    traffic = {"reader": PAGES, "download": {"kind": "bulk"}}
    tcp = {"congestion_control": "cubic"}
    groups = {name: {"users": 1, "path": ["line"], "tcp": tcp, "traffic": sent} for name, sent in traffic.items()}
    line = {"rate": "10.5 Mbit/s", "delay": "20 ms"}
    cases = {"queue": {name: {"links.line.queue": queue} for name, queue in QUEUES.items()}}
    tree = {"duration": "130 s", "warmup": "10 s", "links": {"line": line}, "groups": groups}
    table = ef.study(ef.Scenario({**tree, "sweep": {"replications": 5, "cases": cases}}))
    print("queue      a page takes      1 in 20 takes more than  pages a minute  the download gets")
    for point in table.points():
        mean, late = (table.interval(f"groups.reader.transfers.completion_s_{of}", point) for of in ("mean", "p95"))
        pages = table.interval("groups.reader.transfers.completed", point).mean / 2
        rate = table.interval("groups.download.goodput_bps", point).mean / 1e6
        took = f"{mean.mean:.2f} ± {mean.half_width:.2f} s"
        print(f"{point['queue']:9}  {took:16}  {late.mean:20.2f} s  {pages:14.1f}  {rate:10.2f} Mbit/s")


if __name__ == "__main__":
    main()
