"""
Parse and write YAML as kubectl does.

Unquoted scalars are read as in kubectl, not as in YAML 1.2: `y` is true, `0644` is 420, and `1:30` is a string.
"""

from virtshape.api.yaml.documents import Document, YAMLError, read_documents, scan_documents
from virtshape.api.yaml.writer import write_yaml

__all__ = ["Document", "YAMLError", "read_documents", "scan_documents", "write_yaml"]
