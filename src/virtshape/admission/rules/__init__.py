"""Validation rules for VMs and VMIs, one module per topic."""
