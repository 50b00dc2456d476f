"""The commands `virtctl`, for users of VMs, and `virtshape`, for operators."""
