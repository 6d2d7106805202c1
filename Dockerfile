# The environment of requirements.lock, for clusters that run containers. UNTESTED: parsed and checked by hadolint only.
# docker build --tag ccreport:0.1.0 .
FROM docker.io/library/python:3.13-slim-bookworm

# Jobs call `python` and `snakemake` by name.
ENV PATH=/opt/ccreport/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1

WORKDIR /opt/ccreport
RUN python -m venv /opt/ccreport
COPY requirements.lock ./
RUN python -m pip install --require-hashes --requirement requirements.lock
# The report names the package's requirements, so it is installed; the code that runs is the checkout's, which rules put first.
COPY pyproject.toml README.md ./
COPY src ./src
RUN python -m pip install --no-deps --no-build-isolation .

# Numba keeps what it compiles here: the volume's __pycache__ may not be the job's to write to.
ENV NUMBA_CACHE_DIR=/tmp/numba
USER 1000
WORKDIR /data
CMD ["snakemake", "--help"]
