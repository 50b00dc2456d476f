"""Media types of patches and metrics."""

from typing import Final

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
METRICS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The text format of Prometheus."""
