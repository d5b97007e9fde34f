"""A video evening: what do viewers make of it when others download, and what helps them?

Four users download over ten connections each; twenty others watch a video of two minutes. Behind drop-tail each
connection gets the same, which is less than a video needs: it stalls again and again. It helps if downloads give way by
themselves (LEDBAT), if the link is shared by users, or if everybody reports the losses that he meets (ConEx) and a
policer lets each user have eight of them a second: downloads exceed that, videos do not.
"""

import evenflow as ef

POLICER = {"kind": "congestion-policer", "rate": "8 packets/s", "depth": "100 packets", "harshness": "strict"}
EXPOSED = {
    "stages.police": {**POLICER, "charge": "pass", "per": "user"},
    **{f"groups.{name}.path": ["police", "line"] for name in ("heavy", "light")},
    **{f"groups.{name}.tcp.conex": {"report": "loss", "unit": "packets"} for name in ("heavy", "light")},
}
CASES = {
    "drop-tail": {},
    "LEDBAT": {"groups.heavy.tcp.congestion_control": "ledbat"},
    "DRR per user": {"links.line.queue.scheduler": {"kind": "drr", "per": "user"}},
    "ConEx": EXPOSED,
    "no downloads": {"groups.heavy.traffic": {"kind": "bulk", "start": "200 s"}},
}
TCP = {"congestion_control": "cubic", "send_buffer": "2 MB"}
VIDEO = {"kind": "youtube", "length": "120 s", "start": {"uniform": ["10 s", "40 s"]}}


def main() -> None:
    users = {"heavy": (4, {"kind": "bulk", "flows": 10}), "light": (20, VIDEO)}
    common = {"path": ["line"], "tcp": TCP, "processing": {"uniform": ["0 ms", "0.4 ms"]}}
    groups = {name: {"users": n, "traffic": traffic, **common} for name, (n, traffic) in users.items()}
    line = {"rate": "30 Mbit/s", "delay": "25 ms", "queue": {"limit": "250 packets"}}
    evening = ef.Scenario({"duration": "200 s", "links": {"line": line}, "groups": groups})
    print("              starts after  stalls  of      seen to the end  opinion (Hoßfeld)  (Mok)  a downloader gets")
    for name, changes in CASES.items():
        record = ef.run(evening.with_settings(changes))
        of = "groups.light.video."
        start, length, done = (record.metric(of + name) for name in ("startup_s_mean", "stall_s_mean", "finished"))
        stalls = (record.metric(of + "stalls") or 0) / 20
        hossfeld, mok = (ef.qoe.of(record, "light", model).mean() for model in ("hossfeld-2013", "mok-2011"))
        rate = (record.metric("groups.heavy.goodput_bps") or 0) / 1e6
        print(f"{name:12}  {start:9.2f} s  {stalls:6.1f}  {length or 0:4.2f} s  {done:9.0f} of 20", end="")
        print(f"  {hossfeld:17.2f}  {mok:5.2f}  {rate:10.2f} Mbit/s")


if __name__ == "__main__":
    main()
