"""Which cheat does which audit catch? Goodput of a ConEx user who cheats, relative to an honest twin; docs/conex.md."""

from pathlib import Path

import evenflow as ef

FILE = Path(__file__).resolve().parent / "scenarios" / "catching-a-cheat.toml"


def main() -> None:
    table = ef.study(FILE)
    audits = table.label_values("audit")
    print(f"{'goodput / honest twin':30}", *(f"{audit:>13}" for audit in audits))
    for cheat in table.label_values("cheat"):
        cells = []
        for audit in audits:
            rates = [table.values(f"groups.{who}.goodput_bps", cheat=cheat, audit=audit) for who in ("cheat", "twin")]
            gain = ef.stats.ratio_of_means(*rates)
            cells.append(f"{f'{gain.mean:.2f} ± {gain.half_width:.2f}':>13}")
        print(f"{cheat:30}", *cells)


if __name__ == "__main__":
    main()
