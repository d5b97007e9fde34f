"""A video evening: what do viewers make of it when others download, and what helps them?

Four users download over ten connections each; twenty watch a video of two minutes. Behind drop-tail each connection
gets the same, less than a video needs: it stalls again and again. It helps if downloads give way by themselves
(LEDBAT), if users share the link, or if all report the losses they meet (ConEx) and a policer lets each have eight a
second.
"""

import evenflow as ef

POLICER = {"kind": "congestion-policer", "per": "user", "rate": "8 packets/s", "depth": "100 packets"}
EXPOSED = {"stages.police": {**POLICER, "harshness": "strict", "charge": "pass"}}
for who in ("groups.heavy", "groups.light"):
    EXPOSED |= {f"{who}.path": ["police", "line"], f"{who}.tcp.conex": {"report": "loss", "unit": "packets"}}
CASES = {
    "drop-tail": {},
    "LEDBAT": {"groups.heavy.tcp.congestion_control": "ledbat"},
    "DRR per user": {"links.line.queue.scheduler": {"kind": "drr", "per": "user"}},
    "ConEx": EXPOSED,
    "no downloads": {"groups.heavy.traffic": {"kind": "bulk", "start": "200 s"}},
}
VIDEO = {"kind": "youtube", "length": "120 s", "start": {"uniform": ["10 s", "40 s"]}}
USERS = {"heavy": (4, {"kind": "bulk", "flows": 10}), "light": (20, VIDEO)}
COMMON = {"path": ["line"], "tcp": {"congestion_control": "cubic", "send_buffer": "2 MB"}}
COMMON["processing"] = {"uniform": ["0 ms", "0.4 ms"]}
LINE = {"rate": "30 Mbit/s", "delay": "25 ms", "queue": {"limit": "250 packets"}}
GROUPS = {name: {"users": n, "traffic": traffic, **COMMON} for name, (n, traffic) in USERS.items()}
print("              starts after  stalls  of      seen to the end  opinion (Hoßfeld)  (Mok)  a downloader gets")
for name, changes in CASES.items():
    evening = ef.Scenario({"duration": "200 s", "links": {"line": LINE}, "groups": GROUPS})
    record = ef.run(evening.with_settings(changes))
    video = "groups.light.video."
    start, length, done = (record.metric(video + of) for of in ("startup_s_mean", "stall_s_mean", "finished"))
    stalls = (record.metric(video + "stalls") or 0) / 20
    hossfeld, mok = (ef.qoe.of(record, "light", model).mean() for model in ("hossfeld-2013", "mok-2011"))
    rate = (record.metric("groups.heavy.goodput_bps") or 0) / 1e6
    print(f"{name:12}  {start:9.2f} s  {stalls:6.1f}  {length or 0:4.2f} s  {done:9.0f} of 20", end="")
    print(f"  {hossfeld:17.2f}  {mok:5.2f}  {rate:10.2f} Mbit/s")
