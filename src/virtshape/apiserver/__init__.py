"""The Kubernetes REST protocol: who may ask, what is asked, and the answers, over the store."""
