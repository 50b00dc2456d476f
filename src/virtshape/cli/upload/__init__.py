"""`virtctl image-upload` and its parts: what is made, waited for and sent."""
