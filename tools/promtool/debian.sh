#!/usr/bin/env bash
# Downloads Debian's promtool once, outside the tree, and prints its path.
exec bash "$(dirname "$0")/../debian.sh" promtool prometheus
