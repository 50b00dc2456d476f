"""The group instancetype.kubevirt.io: what VMs get, and what their guests like."""
