"""Compare the model of `make_vectors.py` with ns-2 itself, where it is installed.

    python tests/conformance/compare_ns2.py

The same packets go through the RED of ns-2 and through the model: with thresholds that nothing reaches, in packets and
in bytes, so that the averages tell whether queue lengths and idle times are read alike; with thresholds so close that
nothing is left to chance, so that every drop must agree; and with a short buffer. ns-2 prints six digits.
"""

from __future__ import annotations

import copy
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from make_vectors import DELAY_NS, MIXED, RATE, Ns2, Packet, arrivals, through

SCRIPT = """
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
Queue/RED set bytes_ {in_bytes}
Queue/RED set queue_in_bytes_ {in_bytes}
Queue/RED set use_mark_p_ false
Queue/RED set gentle_ {gentle}
Queue/RED set thresh_ {low}
Queue/RED set maxthresh_ {high}
Queue/RED set q_weight_ 0.05
$ns simplex-link $a $b {rate} {delay} RED
$ns queue-limit $a $b {limit}
set queue [[$ns link $a $b] queue]
set out [open {out} w]
$queue trace ave_
$queue attach $out
set drops [open {out}.drops w]
$ns trace-queue $a $b $drops
set source [new Agent/UDP]
$source set packetSize_ 2000
$ns attach-agent $a $source
set sink [new Agent/Null]
$ns attach-agent $b $sink
$ns connect $source $sink
{sends}
$ns at {end} "close $out; close $drops; exit 0"
$ns run
"""


def ns2(packets: list[Packet], folder: Path, **how: str) -> tuple[list[tuple[float, float]], int]:
    """The averages by time that ns-2 prints, and how many packets it drops."""
    sends = "\n".join(f'$ns at {p.at / 1e9:.9f} "$source send {p.size}"' for p in packets)
    out = folder / "average"
    end = packets[-1].at / 1e9 + 1
    text = SCRIPT.format(rate=f"{RATE / 1e6}Mb", delay=f"{DELAY_NS / 1e6}ms", out=out, sends=sends, end=end, **how)
    script = folder / "red.tcl"
    script.write_text(text)
    subprocess.run(["ns", script], check=True, cwd=folder)
    rows = [line.split() for line in out.read_text().splitlines()]
    drops = sum(line.startswith("d ") for line in (folder / "average.drops").read_text().splitlines())
    return [(float(row[1]), float(row[2])) for row in rows if row[0] == "a"], drops


def compare(name: str, rule: Ns2, limit: int, **how: str) -> bool:
    """One case; says how far the two are apart."""
    packets = list(arrivals(77, 400, sizes=MIXED, load=1.6, ecn=("not-capable",)))
    events = through(rule, iter(copy.deepcopy(packets)), limit)
    with tempfile.TemporaryDirectory() as folder:
        averages, drops = ns2(packets, Path(folder), limit=str(limit), **how)
    worst, last, at = 0.0, 0.0, 0
    for event in events:
        # ns-2 prints an average only where it changes.
        while at < len(averages) and averages[at][0] <= event["at_ns"] / 1e9 + 5e-7:
            last, at = averages[at][1], at + 1
        ours = event["expect"]["average"]
        worst = max(worst, abs(ours - last) / max(1.0, ours))
    ours = sum(event["expect"]["verdict"] == "drop" for event in events)
    good = worst < 1e-5 and ours == drops
    print(f"{name}: averages within {worst:.1e}, {ours} drops, ns-2 {drops}: {'equal' if good else 'DIFFERENT'}")
    return good


def main() -> None:
    if not shutil.which("ns"):
        sys.exit("ns-2 is not installed; on Debian and Ubuntu: apt-get install ns2")
    w = Fraction(1, 20)
    wide = {"low": "500", "high": "1000", "gentle": "true"}
    narrow = {"low": "5", "high": "5.000001", "gentle": "false"}
    in_bytes = Ns2(1, 500 * 500, 1000 * 500, "0.1", w)
    in_bytes.in_bytes = True
    forced = Ns2(1, 5, Fraction("5.000001"), "0.1", w)
    forced.gentle = False
    good = [
        compare("packets", Ns2(1, 500, 1000, "0.1", w), 4000, in_bytes="false", **wide),
        compare("bytes", in_bytes, 4000, in_bytes="true", **wide),
        compare("all forced", forced, 4000, in_bytes="false", **narrow),
        compare("a short buffer", Ns2(1, 500, 1000, "0.1", w), 6, in_bytes="false", **wide),
    ]
    if not all(good):
        sys.exit(1)


if __name__ == "__main__":
    main()
