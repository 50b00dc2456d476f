"""How objects are shown: Tables, metadata alone, other encodings, as the client asks."""
