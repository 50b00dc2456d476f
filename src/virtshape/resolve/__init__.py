"""What a VM refers to: which objects, which revision of them, inferred from which volume."""
