"""What a machine needs to run guests: facts about it, and the checks that judge them."""
