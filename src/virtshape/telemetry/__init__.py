"""Histograms of durations, which the metrics endpoint reads."""
