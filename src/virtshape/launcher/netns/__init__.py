"""A network namespace per guest: private loopback, internet access, no access to the host or other guests."""
