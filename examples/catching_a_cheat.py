"""Which cheat does which audit catch? Goodput of a ConEx user who cheats, relative to an honest twin, and of others,
relative to when nobody cheats; docs/conex.md."""

from pathlib import Path

import evenflow as ef

FILE = Path(__file__).resolve().parent / "scenarios" / "catching-a-cheat.toml"


def goodput(table: ef.Table, who: str, cheat: str, audit: str) -> list[float]:
    return table.values(f"groups.{who}.goodput_bps", cheat=cheat, audit=audit)


def main() -> None:
    table = ef.study(FILE)
    audits = table.label_values("audit")
    for title, who, beside in (("goodput / honest twin", "cheat", "twin"), ("others / nobody cheats", "others", "")):
        print(f"{title:30}", *(f"{audit:>13}" for audit in audits))
        for cheat in table.label_values("cheat"):
            cells = []
            for audit in audits:
                to = goodput(table, beside, cheat, audit) if beside else goodput(table, who, "honest", audit)
                gain = ef.stats.ratio_of_means(goodput(table, who, cheat, audit), to)
                cells.append(f"{f'{gain.mean:.2f} ± {gain.half_width:.2f}':>13}")
            print(f"{cheat:30}", *cells)
        print()


if __name__ == "__main__":
    main()
