"""
The Kubernetes REST API over the store: authentication, authorization, admission, request handlers and encoding.

`http` receives requests and `handler` dispatches them. Each verb has a module, such as `creating` or `watching`.
"""
