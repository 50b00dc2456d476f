"""KubeVirt's subresource API as a part of a cluster's own API."""
