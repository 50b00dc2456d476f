"""The API: all kinds as typed structs, with codecs, schemas and conversion."""
