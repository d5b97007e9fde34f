"""Which cheat does which audit catch? Goodput of a cheating ConEx user and an honest twin; docs/conex/audits.md."""

from pathlib import Path

import evenflow as ef

FILE = Path(__file__).resolve().parent / "scenarios" / "catching-a-cheat.toml"
SHORT = ("and gone", "a flow")  # ends of the names of short flows, whose twin may get nothing: the ratio has no bound


def mbps(table: ef.Table, who: str, cheat: str, audit: str) -> list[float]:
    return [rate / 1e6 for rate in table.values(f"groups.{who}.goodput_bps", cheat=cheat, audit=audit)]


def gain(table: ef.Table, cheat: str, audit: str) -> ef.stats.Interval:
    mine, twins = mbps(table, "cheat", cheat, audit), mbps(table, "twin", cheat, audit)
    if cheat.endswith(SHORT):
        return ef.stats.mean_interval([a - b for a, b in zip(mine, twins, strict=True)])
    return ef.stats.ratio_of_means(mine, twins)


def others(table: ef.Table, cheat: str, audit: str) -> ef.stats.Interval:
    return ef.stats.ratio_of_means(mbps(table, "others", cheat, audit), mbps(table, "others", "honest", audit))


def main() -> None:
    table = ef.study(FILE)
    audits, cheats = ([str(value) for value in table.label_values(name)] for name in ("audit", "cheat"))
    lasting, short = ([cheat for cheat in cheats if cheat.endswith(SHORT) == so] for so in (False, True))
    titles = ("goodput / honest twin", "goodput - honest twin (Mbit/s)", "others / no cheat")
    for title, rows in zip(titles, (lasting, short, cheats), strict=True):
        print(f"{title:30}", *(f"{audit:>13}" for audit in audits))
        for cheat in rows:
            found = [(others if rows is cheats else gain)(table, cheat, audit) for audit in audits]
            print(f"{cheat:30}", *(f"{f'{it.mean:.2f} ± {it.half_width:.2f}':>13}" for it in found))
        print()


if __name__ == "__main__":
    main()
