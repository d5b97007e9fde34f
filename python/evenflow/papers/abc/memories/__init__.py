"""Figures 11 to 13: what the memories of meters and averager do: uploads, fairness, one TCP flow alone."""
