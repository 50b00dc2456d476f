"""KubeVirt's subresource API: actions on VMs and VMIs such as start, console and expand-spec."""
