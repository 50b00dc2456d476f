"""Commands for running guests: lifecycle, console, VNC, ports, SSH and the guest agent."""
