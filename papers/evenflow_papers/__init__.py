"""Five published papers on sharing a network's capacity, reproduced with Evenflow; each package has a `PAPER`."""
