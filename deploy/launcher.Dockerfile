# The image that guests run in: QEMU, libvirt and the launcher. From the root of the repository:
#     docker build --file deploy/launcher.Dockerfile --tag virtshape-launcher:0.1.0 .
# Both stages are of one Debian, since libvirt's binding is built against the libvirt that it will load.
# To use another base image: --build-arg BASE=debian:TAG@sha256:...

ARG BASE=debian:bookworm-20260713-slim@sha256:7b140f374b289a7c2befc338f42ebe6441b7ea838a042bbd5acbfca6ec875818

FROM ${BASE} AS build
# Debian's packages are not pinned: a stable release changes them only to fix something.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        gcc libc6-dev libvirt-dev pkg-config python3-dev python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY tools/python/uv.txt ./
RUN python3 -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir --require-hashes --requirement uv.txt
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src ./src
ENV UV_PROJECT_ENVIRONMENT=/opt/virtshape UV_PYTHON=/usr/bin/python3 UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-editable --extra guests --compile-bytecode --no-cache

FROM ${BASE}
# First, before a package assigns this number to its own user.
RUN groupadd --gid 107 guest \
    && useradd --uid 107 --gid 107 --no-create-home --home-dir /run/virtshape --shell /usr/sbin/nologin guest
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libvirt-daemon-driver-qemu ovmf python3 qemu-system-x86 qemu-utils swtpm swtpm-tools \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/virtshape /opt/virtshape
ENV PATH=/opt/virtshape/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can verify that it is not root; launcher pods set the same one.
USER 107:107
ENTRYPOINT ["virtshape"]
CMD ["launcher", "--pod"]
