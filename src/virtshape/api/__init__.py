"""The API: all kinds as typed structs, with codecs, schemas, validation and conversion."""
