"""The fluid model: what a scenario of weighted windows and marking links comes to, before it is run.

`ef.theory(scenario)` gives a `Prediction` (module `prediction`). Its parts stand alone: `model` reads a scenario,
`markers` has prices in closed form, `curves` measured ones, `equilibrium` solves for prices and rates, `dynamics` and
`stability` say how it gets there. docs/theory.md says what is modelled and what is not.

Nothing heavy is imported until something is predicted.
"""

from __future__ import annotations

from .prediction import Prediction

__all__ = ["Prediction"]
