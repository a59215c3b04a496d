"""Many runs at once: sweeps over grids, tuning, fleets."""

from imbrex.sweeps.cells import Cell
from imbrex.sweeps.fleets import Fleet, Kind, fleet
from imbrex.sweeps.grid import Grid
from imbrex.sweeps.sweeping import Sweep, sweep
from imbrex.sweeps.tuning import Between, Trial, Tuning, tune

__all__ = ["Between", "Cell", "Fleet", "Grid", "Kind", "Sweep", "Trial", "Tuning", "fleet", "sweep", "tune"]
