"""Figure 3: two users who send Poisson traffic whatever the network does."""
