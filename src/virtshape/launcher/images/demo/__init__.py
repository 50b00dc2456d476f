"""The demo guest: a Debian kernel and a few scripts of ours that tell, from inside, what machine they run on."""
