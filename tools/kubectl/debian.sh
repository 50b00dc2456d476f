#!/usr/bin/env bash
# Downloads Debian's kubectl once, outside the tree, and prints its path.
exec bash "$(dirname "$0")/../debian.sh" kubectl kubernetes-client
