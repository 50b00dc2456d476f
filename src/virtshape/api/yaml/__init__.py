"""
Parse and write YAML as kubectl does.

Unquoted scalars follow kubectl and not the YAML 1.2 standard: `y` is true, `0644` is 420, `1:30` is a string.
"""

from virtshape.api.yaml.documents import Document, YAMLError, read_documents, scan_documents
from virtshape.api.yaml.writer import write_yaml

__all__ = ["Document", "YAMLError", "read_documents", "scan_documents", "write_yaml"]
