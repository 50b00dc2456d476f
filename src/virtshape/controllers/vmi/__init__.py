"""The VMI controller: phases, scheduling, and the Launcher protocol that runs guests."""
