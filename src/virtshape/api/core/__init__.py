"""The core group: namespaces, pods, nodes, storage and related kinds."""
