"""The group instancetype.kubevirt.io: instance types and preferences."""
