"""Storage in the data directory: volumes, and the jobs that populate them."""
