"""The group flavor.kubevirt.io: flavors and their preferences."""
