"""Storage on this machine: volumes in the data directory, and the work that fills them."""
