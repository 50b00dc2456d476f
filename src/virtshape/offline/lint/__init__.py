"""Lint: find errors in VMs, instance types, flavors and preferences, without a server."""

from virtshape.offline.lint.baseline import format_baseline
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.finding import FileFindings, Finding, Subject
from virtshape.offline.lint.fix import format_diff
from virtshape.offline.lint.linter import Linter
from virtshape.offline.lint.rules import RULES, Level, Rule
from virtshape.offline.lint.run import Run
from virtshape.offline.lint.settings import Settings, SettingsError, get_settings, read_settings
from virtshape.offline.lint.targets import TARGETS

__all__ = [
    "RULES",
    "TARGETS",
    "FileFindings",
    "Finding",
    "Level",
    "LintContext",
    "Linter",
    "Rule",
    "Run",
    "Settings",
    "SettingsError",
    "Subject",
    "format_baseline",
    "format_diff",
    "get_settings",
    "read_settings",
]
