"""
The commands `virtctl`, for users of VMs, and `virtshape`, for operators.

`virtctl.py` and `virtshape.py` list the commands, and each command has a module. The other modules contain flags,
output functions and sessions that commands share.
"""
