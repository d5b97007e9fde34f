"""What datagrams.py does, for a kernel that polices: told and answered in the same way.

A user-mode kernel needs other modules for it, and /proc, from which tc takes the tick in which it counts a policer's
burst (/proc/net/psched).
"""

from __future__ import annotations

from datagrams import do_job, modules_of, run

MODULES = {"sch_ingress", "cls_matchall", "act_police"}


if __name__ == "__main__":
    do_job(run, lambda job: modules_of(job) | MODULES)
