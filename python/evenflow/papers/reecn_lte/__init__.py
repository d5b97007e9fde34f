"""Zhang et al. 2011: re-ECN in an LTE network (in preparation; not registered)."""
