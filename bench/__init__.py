"""Benchmarks: not part of the tests, each compared with a baseline in the same run."""
