"""Figures 8 to 10: reference rates, and the parameters of the activity AQM."""
