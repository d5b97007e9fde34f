"""The sources, the network, the meter and the AQM, before any fairness is shown."""
