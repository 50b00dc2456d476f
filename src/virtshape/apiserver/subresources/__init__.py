"""What can be done with VMs and VMIs beyond reading and writing them: KubeVirt's subresource API."""
