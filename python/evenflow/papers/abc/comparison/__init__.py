"""Figures 14 to 16: the fair activity meter, and core-stateless fair queueing."""
