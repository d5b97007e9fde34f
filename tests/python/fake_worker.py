"""`python fake_worker.py ARGS`: a Dask worker on the stand-in core."""

from __future__ import annotations

import fake_core

fake_core.install()

if __name__ == "__main__":
    from distributed.cli.dask_worker import main

    main()
