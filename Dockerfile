# The service without a database: give it DATABASE_URL (as loci_app), and LOCI_MIGRATION_URL to `loci migrate`.
# Another base, for example one with your own certificates: --build-arg PYTHON_IMAGE=…
# The digest says which image it is; the tag, what it is called. A newer one: change both, after a look at what it brings.
ARG PYTHON_IMAGE=python:3.13.16-slim-trixie@sha256:bf44cdfcb76cd3b41e879bc058fc37ec5872002ccfde7fcb765e218cde0cd79c

FROM ${PYTHON_IMAGE} AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements-image.lock requirements-build.lock requirements-tools.lock /build/
# What is downloaded has the hash that stands in a lock file. The tool that lists it stays in this stage.
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --only-binary :all: --require-hashes -r /build/requirements-build.lock \
 && python -m venv /opt/tools \
 && /opt/tools/bin/pip install --only-binary :all: --require-hashes -r /build/requirements-tools.lock \
 && python -m venv --without-pip /opt/python
# Without the embedded PostgreSQL, with what sends traces.
RUN /opt/build/bin/pip --python /opt/python/bin/python install --only-binary :all: --require-hashes -r /build/requirements-image.lock

# What the page is built with: Node came with requirements-build.lock, and stays in this stage.
COPY web/build.py web/package.json web/package-lock.json web/.npmrc /build/web/
RUN /opt/build/bin/python /build/web/build.py --packages

# Nothing is downloaded from here on: a change of the code costs seconds and a small layer.
FROM packages AS code
COPY . /build/
RUN /opt/build/bin/python /build/web/build.py \
 && /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/dist /build/client /build \
 && /opt/build/bin/pip --python /opt/python/bin/python install --no-deps --no-index --target /opt/loci /build/dist/*.whl \
 && PYTHONPATH=/opt/loci /opt/tools/bin/cyclonedx-py environment --of JSON -o /opt/loci/sbom.cdx.json /opt/python/bin/python

FROM ${PYTHON_IMAGE}
# /spool: imports and exports under way, on disk; a volume that is mounted there takes over whose it is.
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin loci \
 && install --directory --owner loci /spool
COPY --from=packages /opt/python /opt/python
COPY --from=code /opt/loci /opt/loci
ENV PATH=/opt/loci/bin:/opt/python/bin:$PATH PYTHONPATH=/opt/loci PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8420
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import os; from urllib.request import ProxyHandler, build_opener as make; make(ProxyHandler({})).open(f\"http://127.0.0.1:{os.environ.get('LOCI_PORT', 8420)}/readyz\", timeout=4)"]
# What a release says of itself; last, since a layer is made anew for each.
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Loci" \
      org.opencontainers.image.description="Memory and knowledge graph for AI agents, inside Postgres" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENTRYPOINT ["loci"]
CMD ["serve", "--host", "0.0.0.0"]
