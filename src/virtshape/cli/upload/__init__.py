"""`virtctl image-upload`: create a PVC or DataVolume and upload a disk image to it."""
