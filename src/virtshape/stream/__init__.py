"""Two-way streams of bytes: consoles, screens, forwarded ports, and the WebSockets that carry them."""
