"""The Kubernetes REST API over the store: authentication, authorization, admission, request handlers and encoding."""
