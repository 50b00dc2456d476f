# The image of the webhook, the controller, the aggregated API and the web console. From the root of the repository:
#     docker build --file deploy/control.Dockerfile --tag virtshape .
# `make images BUILDER=docker` or `BUILDER=buildah` adds the build arguments for the labels. `make images` builds the image
# from the same instructions without either.
# To use another base image: --build-arg BASE=debian:TAG@sha256:...

ARG BASE=debian:bookworm-20260713-slim@sha256:7b140f374b289a7c2befc338f42ebe6441b7ea838a042bbd5acbfca6ec875818

FROM ${BASE} AS build
# Only for the build: build arguments are not part of the environment of the image.
ARG DEBIAN_FRONTEND=noninteractive
ARG PYTHONHASHSEED=0
ARG SOURCE_DATE_EPOCH
# Debian's packages are not pinned: a stable release changes them only to fix something.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3-venv \
    && rm -rf /var/cache/apt/* /var/cache/ldconfig/aux-cache /var/lib/apt/lists/* /var/log/*
WORKDIR /build
COPY tools/python/uv.txt ./
RUN python3 -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir --require-hashes --requirement uv.txt
# Compiled modules are not compared with the times of their sources, which a reproducible image does not keep.
ENV UV_PROJECT_ENVIRONMENT=/opt/virtshape UV_PYTHON=/usr/bin/python3 UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy \
    PYC_INVALIDATION_MODE=UNCHECKED_HASH
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-install-project --compile-bytecode --no-cache
# uv notes the time of the build in a file, which would make each image different.
COPY src ./src
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-editable --compile-bytecode --no-cache \
    && find /opt/virtshape -name uv_cache.json -delete \
    && sed -i /uv_cache.json/d /opt/virtshape/lib/python3*/site-packages/virtshape-*.dist-info/RECORD

FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
ARG PYTHONHASHSEED=0
ARG SOURCE_DATE_EPOCH
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 \
    && rm -rf /var/cache/apt/* /var/cache/ldconfig/aux-cache /var/lib/apt/lists/* /var/log/*
COPY --from=build /opt/virtshape /opt/virtshape
ENV PATH=/opt/virtshape/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The version in pyproject.toml, the commit, and its time in RFC 3339.
ARG VERSION
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="virtshape" \
    org.opencontainers.image.description="Webhook, controller, aggregated API and web console of virtshape" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.created="${CREATED}" \
    org.opencontainers.image.licenses="Apache-2.0"
# A number, so that Kubernetes can verify that it is not root.
USER 65532:65532
ENTRYPOINT ["virtshape"]
CMD ["--help"]
