"""
Lint: everything that is wrong with VMs, instance types, flavors and preferences, found without a server.

Decides what the findings are; how they are shown is somebody else's.
"""

from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.finding import Finding, Subject
from virtshape.offline.lint.linter import Linter
from virtshape.offline.lint.rules import LEVELS, RULES, Level, Rule
from virtshape.offline.lint.run import Run

__all__ = ["LEVELS", "RULES", "Finding", "Level", "LintContext", "Linter", "Rule", "Run", "Subject"]
