"""virtshape on a Kubernetes cluster: webhook, controller process, aggregated API, manifests."""
