# The image of the webhook, the controller and the aggregated API. From the root of the repository:
#     docker build --file deploy/control.Dockerfile --tag virtshape:0.1.0 .

FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir 'uv>=0.5'
WORKDIR /build
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src ./src
ENV UV_PROJECT_ENVIRONMENT=/opt/virtshape UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
RUN uv sync --frozen --no-dev --no-editable --compile-bytecode --no-cache

FROM python:3.11-slim-bookworm
COPY --from=build /opt/virtshape /opt/virtshape
ENV PATH=/opt/virtshape/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["virtshape"]
CMD ["--help"]
