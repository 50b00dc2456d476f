"""Lint: find everything that is wrong with VMs, instance types, flavors and preferences, without a server."""

from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.finding import Finding, Subject
from virtshape.offline.lint.linter import Linter
from virtshape.offline.lint.rules import LEVELS, RULES, Level, Rule
from virtshape.offline.lint.run import Run

__all__ = ["LEVELS", "RULES", "Finding", "Level", "LintContext", "Linter", "Rule", "Run", "Subject"]
