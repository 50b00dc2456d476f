"""Commands about running guests: what is done with them, and what leads to them."""
