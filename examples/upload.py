"""An idle user starts an upload through a busy link: how much has arrived after 1, 2, 5, 10 and 50 seconds?"""

from pathlib import Path

import evenflow as ef
import numpy as np

HERE = Path(__file__).resolve().parent
START, LATER = 115.0, (1, 2, 5, 10, 50)
SERIES = "groups.upload.users[0].flows[0].received_bytes"


def scenario(queue: dict) -> ef.Scenario:
    tree = ef.load(HERE / "scenarios" / "abc-default.toml").tree
    upload = {"users": 1, "path": tree["groups"]["light"]["path"], "tcp": tree["groups"]["light"]["tcp"]}
    upload["traffic"] = {"kind": "upload", "size": "20 MB", "start": f"{START} s"}
    tree["groups"] = {"background": tree["groups"]["light"], "upload": upload}
    tree["links"]["bottleneck"]["queue"] = queue
    tree["record"] = {"series": [{"of": SERIES, "every": "10 ms"}]}
    return ef.Scenario(tree)


def main() -> None:
    figure, (ax,) = ef.plots.figure()
    print("kB received after", *(f"{t:>5} s" for t in LATER))
    for name, kind in (("drop-tail", "droptail"), ("ABC", "activity-aqm")):
        runs = [scenario({"kind": kind, "limit": "24 packets"}).run(seed).arrays(SERIES) for seed in range(1, 6)]
        since = runs[0][0] - START
        received = np.mean([np.cumsum(increase) for _, increase in runs], axis=0) / 1e3
        print(f"{name:>17}", *(f"{np.interp(t, since, received):7.0f}" for t in LATER))
        ax.loglog(since[since >= 0.1], received[since >= 0.1], label=name)
    ef.plots.name_axes(ax, "time since the upload began (s)", "received (kB)", zero=False)
    print("figure:", ef.plots.save(figure, Path("out/examples/upload.svg")))


if __name__ == "__main__":
    main()
