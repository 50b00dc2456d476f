"""Measurements: never part of the tests, always beside a yardstick in the same run."""
