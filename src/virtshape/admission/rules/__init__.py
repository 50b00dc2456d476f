"""What a VM and its guest may say: one module a topic, each rule told at the field that breaks it."""
