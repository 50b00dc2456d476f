"""A network namespace per guest: private loopback, a way to the internet, no way to the machine or to other guests."""
