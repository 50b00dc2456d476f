# The image of the webhook, the controller and the aggregated API. From the root of the repository:
#     docker build --file deploy/control.Dockerfile --tag virtshape:0.1.0 .
# To use another base image: --build-arg BASE=python:TAG@sha256:...

ARG BASE=python:3.11.15-slim-bookworm@sha256:d29f48a31a8b408ed19272ca1e7b10ebae13b240a27e862d3d4217c528e2e0c3

FROM ${BASE} AS build
WORKDIR /build
COPY tools/python/uv.txt ./
RUN pip install --no-cache-dir --require-hashes --requirement uv.txt
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src ./src
ENV UV_PROJECT_ENVIRONMENT=/opt/virtshape UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
RUN uv sync --frozen --no-dev --no-editable --compile-bytecode --no-cache

FROM ${BASE}
COPY --from=build /opt/virtshape /opt/virtshape
ENV PATH=/opt/virtshape/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can verify that it is not root.
USER 65532:65532
ENTRYPOINT ["virtshape"]
CMD ["--help"]
