"""Benchmarks, which compare virtshape with baselines and goals; they are not part of the tests."""
