"""The flavor.kubevirt.io group."""
