"""Controllers: reconcile VMs, VMIs, storage, pods and garbage. They know only a client and the protocols they own."""
