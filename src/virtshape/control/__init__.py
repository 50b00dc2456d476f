"""What makes the state of the system follow its objects."""
