"""The example of components below a path; at /, a page that shows it in a frame from another host, as the hub shows a
Space."""

import os
import runpy

import gradio as gr
import uvicorn
from fastapi import FastAPI
from starlette.responses import HTMLResponse

PORT = int(os.environ["GRADIO_SERVER_PORT"])
SANDBOX = "allow-downloads allow-forms allow-modals allow-popups allow-same-origin allow-scripts"
FRAME = f"""<!doctype html><title>A page</title><link rel="icon" href="data:,">
<iframe src="http://localhost:{PORT}/space/app/" sandbox="{SANDBOX}" width="1200" height="800"></iframe>"""

host = FastAPI()


@host.get("/")
def page() -> HTMLResponse:
    return HTMLResponse(FRAME)


demo = runpy.run_path("examples/gradio_components.py", run_name="example")["demo"]
uvicorn.run(gr.mount_gradio_app(host, demo, path="/space/app"), port=PORT, log_level="warning")
