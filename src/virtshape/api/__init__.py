"""The API: every kind as typed structs, and how texts become them and back."""
