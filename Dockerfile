# BERT Explorer in a container. Build it, then serve it with an access code, or to everyone with --public:
#   docker build -t bertexplorer .
#   docker run -p 7860:7860 -v bertexplorer:/data -e BERTEXPLORER_CODE=robin-2026 bertexplorer
#   docker run -p 7860:7860 -v bertexplorer:/data bertexplorer serve --public

FROM python:3.12-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /src
COPY requirements.txt requirements-mcp.txt ./
# torch for CPUs, without the CUDA libraries
RUN pip install --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' requirements.txt)"
RUN pip install -r requirements-mcp.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY assets assets
COPY bertexplorer bertexplorer
RUN pip install --no-deps .

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 explorer && install -d -o explorer -g explorer -m 700 /data
COPY --from=build /opt/venv /opt/venv
USER explorer
WORKDIR /home/explorer
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    BERTEXPLORER_HOST=0.0.0.0 \
    BERTEXPLORER_DATA=/data \
    HF_HUB_CACHE=/data/hub
VOLUME /data
EXPOSE 7860
# 200 once the first checkpoint has answered and the data folder can be written
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('BERTEXPLORER_PORT', '7860')), timeout=4); c.request('GET', '/readyz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["bertexplorer"]
CMD ["serve"]
