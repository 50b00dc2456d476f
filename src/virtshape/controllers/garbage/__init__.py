"""The garbage collector: delete objects whose owners are gone."""
