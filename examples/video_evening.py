"""A video evening: what do viewers make of it when others download, and what helps them?

Four users download over ten connections each; twenty others watch a video of two minutes. Behind drop-tail each connection gets the
same, which is less than a video needs: it stalls again and again. It helps if downloads give way by themselves (LEDBAT), or if
the link shares by users.
"""

import numpy as np

import evenflow as ef

SHARED = {"scheduler": {"kind": "drr", "per": "user"}}
CASES = {
    "drop-tail": {},
    "LEDBAT": {"groups.heavy.tcp.congestion_control": "ledbat"},
    "DRR per user": {"links.bottleneck.queue": {"limit": "250 packets", **SHARED}},
    "no downloads": {"groups.heavy.traffic": {"kind": "bulk", "start": "200 s"}},
}
TREE = {
    "duration": "200 s",
    "links": {
        "access": {"rate": "1 Gbit/s", "delay": "2 ms", "per": "user"},
        "bottleneck": {"rate": "30 Mbit/s", "delay": "23 ms", "queue": {"limit": "250 packets"}},
    },
    "groups": {
        "heavy": {
            "users": 4,
            "path": ["access", "bottleneck"],
            "traffic": {"kind": "bulk", "flows": 10},
            "processing": {"uniform": ["0 ms", "0.4 ms"]},
            "tcp": {"congestion_control": "cubic"},
        },
        "light": {
            "users": 20,
            "path": ["access", "bottleneck"],
            "traffic": {"kind": "youtube", "length": "120 s", "start": {"uniform": ["10 s", "40 s"]}},
            "tcp": {"congestion_control": "cubic", "send_buffer": "2 MB"},
        },
    },
}


def main() -> None:
    print("                start after   stalls   of        shown whole   opinion (Hoßfeld)   (Mok)   a download gets")
    for name, changes in CASES.items():
        record = ef.run(ef.Scenario(TREE).with_settings(changes))
        seen = ef.qoe.viewings(record, "light")
        stalls = sum(one.stalls for one in seen)
        length = sum(one.stall_s for one in seen) / stalls if stalls else 0.0
        hossfeld, mok = (np.nanmean(ef.qoe.of(record, "light", model)) for model in ("hossfeld-2013", "mok-2011"))
        whole = sum(one.finished for one in seen)
        start = np.mean([one.startup_s for one in seen if one.startup_s is not None])
        rate = (record.metric("groups.heavy.goodput_bps") or 0.0) / 1e6
        print(
            f"{name:14}  {start:9.2f} s  {stalls / len(seen):7.1f}  {length:5.2f} s  {whole:8} of {len(seen)}"
            f"  {hossfeld:17.2f}  {mok:6.2f}  {rate:10.2f} Mbit/s"
        )


if __name__ == "__main__":
    main()
