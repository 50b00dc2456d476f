"""Two-way byte streams: serial consoles, VNC, forwarded ports, and the WebSockets that carry them."""
