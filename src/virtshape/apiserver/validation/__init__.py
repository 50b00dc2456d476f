"""What an object must be to be stored: names, metadata, the shape and constraints of its kind."""
