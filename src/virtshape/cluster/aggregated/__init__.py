"""KubeVirt's subresource API, served through a cluster's aggregation layer."""
