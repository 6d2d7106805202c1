# The environment of requirements.lock, for clusters that run containers. UNTESTED: parsed and checked by hadolint only.
# docker build --tag ccreport:0.1.0 .
FROM docker.io/library/python:3.13-slim-bookworm

# Jobs call `python` and `snakemake` by name. The package itself is not installed: the rules find it in the checkout.
ENV PATH=/opt/ccreport/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1

WORKDIR /opt/ccreport
RUN python -m venv /opt/ccreport
COPY requirements.lock ./
RUN python -m pip install --require-hashes --requirement requirements.lock

# Numba keeps what it compiles here: the volume's __pycache__ may not be the job's to write to.
ENV NUMBA_CACHE_DIR=/tmp/numba
USER 1000
WORKDIR /data
CMD ["snakemake", "--help"]
