"""What does a call feel like beside eight downloads? Five ways of running the queue of a home line.

A deep drop-tail buffer makes the call wait; CoDel and PIE keep the wait short for everybody, and drop from the call as
well; FQ-CoDel and SFQ serve the call in its turn, and only FQ-CoDel keeps the downloads' own wait short too.
"""

import evenflow as ef

QUEUES = {
    "drop-tail": {"limit": "250 packets"},
    "CoDel": {"kind": "codel", "limit": "250 packets"},
    "PIE": {"kind": "pie", "limit": "250 packets"},
    "SFQ": {"limit": "250 packets", "scheduler": {"kind": "sfq"}},
    "FQ-CoDel": {"kind": "fq-codel"},
}
DOWNLOADS = {"kind": "bulk", "flows": 8, "start": {"uniform": ["0 s", "2 s"]}, "tcp": {"congestion_control": "cubic"}}
CALL = {"kind": "cbr", "rate": "80 kbit/s", "packet": "200 B"}


def main() -> None:
    groups = {"downloads": {"traffic": DOWNLOADS}, "call": {"class": "voice", "traffic": CALL}}
    line = {"rate": "10 Mbit/s", "delay": "20 ms"}
    groups = {name: {"users": 1, "path": ["line"], **group} for name, group in groups.items()}
    cases = {"queue": {name: {"links.line.queue": queue} for name, queue in QUEUES.items()}}
    tree = {"duration": "60 s", "warmup": "10 s", "links": {"line": line}, "groups": groups}
    table = ef.study(ef.Scenario({**tree, "sweep": {"replications": 5, "cases": cases}}))
    print("queue      a call's packet waits  a download's  the call loses  downloads, together")
    for point in table.points():
        waits = [table.interval(f"links.line.classes.{name}.queue_delay_s_mean", point) for name in ("voice", "be")]
        call, download = (f"{1e3 * wait.mean:.1f} ± {1e3 * wait.half_width:.1f} ms" for wait in waits)
        lost = table.interval("groups.call.loss_ratio", point).mean
        rate = table.interval("groups.downloads.goodput_bps", point).mean / 1e6
        print(f"{point['queue']:9}  {call:>21}  {download:>14}  {lost:12.2%}  {rate:12.2f} Mbit/s")


if __name__ == "__main__":
    main()
