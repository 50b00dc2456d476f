"""The core group: namespaces, pods, nodes, storage and what belongs to them."""
