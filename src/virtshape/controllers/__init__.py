"""Controllers: reconcile VMs, VMIs, storage, pods and garbage. They depend only on a client and their own protocols."""
