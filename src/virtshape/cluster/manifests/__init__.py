"""What a cluster needs to run the system, as objects to apply: one module a part, put in order by `whole`."""
