"""The web console on the server side: its files, and the sessions of browsers."""
