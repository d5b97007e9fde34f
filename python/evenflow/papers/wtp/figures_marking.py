"""Figures 8 to 10 and the ones beyond them."""
fig08=fig09=fig10=x_rtt=x_lb=x_red=x_bursts=x_periods=data=None
