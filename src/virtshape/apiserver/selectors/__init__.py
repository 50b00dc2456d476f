"""Which objects a client means, by labels and by fields."""
