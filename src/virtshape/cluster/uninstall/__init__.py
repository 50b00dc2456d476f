"""Remove an installation from a cluster: find its objects, plan which of them to remove, and run the plan."""
