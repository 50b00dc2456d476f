"""What may be stored: completes and checks VMs, instance types and preferences before they are."""
