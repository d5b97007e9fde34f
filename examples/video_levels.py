"""Which adaptation rule for two players behind one line? The levels come from an MPEG-DASH manifest.

Two viewers watch the film of scenarios/film.mpd over 8 Mbit/s; for forty seconds somebody downloads. BOLA changes its
level most often here. Rules that plan ahead get the highest bitrate, and stall when the download begins.
"""

from pathlib import Path

import evenflow as ef

HOME = Path(__file__).resolve().parent / "scenarios" / "two-players.toml"
RULES = ["aggressive-rate", "rate", "bba-0", "bola", "dynamic", "mpc", "robust-mpc"]
NAMES = ["startup_s", "stall_s", "bitrate_bps", "switches", "instability", "off_share"]


def main() -> None:
    home = ef.load(HOME)
    print("levels of the manifest:", ", ".join(home.written_out().get("groups.viewers.traffic.ladder")))
    print("rule             starts after  stalls for  mean bitrate  switches  instability  chunks behind a long pause")
    for rule in RULES:
        record = home.set("groups.viewers.traffic.adaptation", rule).run(seed=1)
        seen = [ef.qoe.adaptive(record, "viewers", user) for user in range(2)]
        start, stall, rate, switches, changes, off = (sum(getattr(one, n) or 0 for one in seen) / 2 for n in NAMES)
        print(f"{rule:15}  {start:10.2f} s  {stall:8.2f} s  {rate / 1e6:5.2f} Mbit/s  {switches:8.1f}", end="")
        print(f"  {changes:9.2f} %  {100 * off:24.0f} %")


if __name__ == "__main__":
    main()
