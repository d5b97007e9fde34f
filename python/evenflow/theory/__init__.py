"""Fluid theory: what Kelly's model predicts for a network of weighted flows and markers."""
