#!/usr/bin/env bash
# Builds the version of Helm in go.mod once, outside the tree, and prints its path. Needs Go and its module proxy.
here=$(dirname "$0")
exec bash "$here/../gotool.sh" helm "$here"
