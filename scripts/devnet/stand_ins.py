"""An image that answers as those of the templates do, where no hub of images can be reached: programs of the same names
that take the same arguments and open the same ports, on Debian with python3.
"""

from __future__ import annotations

import io
import tarfile

from devnet import images
from devnet.engine import Engine

NAME = "lht/stand-in"
_SERVER = '''#!/usr/bin/python3
"""{what}"""
import http.server, json, os, sys, urllib.parse


class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.said(json.loads(body))

    def do_GET(self):
        _, _, query = self.path.partition("?")
        self.said(dict(urllib.parse.parse_qsl(query)))

    def said(self, asked):
        path = self.path.partition("?")[0]
        status, said = answer(path, asked, self.headers.get("Authorization", ""))
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_): pass


{answer}

http.server.ThreadingHTTPServer((host, port), Answer).serve_forever()
'''
_JUPYTER = """
given = dict(word.removeprefix("--ServerApp.").split("=") for word in sys.argv[1:])
host, port = given["ip"], int(given["port"])
token = open(os.environ["JUPYTER_TOKEN_FILE"]).read().strip()

def answer(path, asked, shown):
    if path == "/api":
        return 200, {"version": "2.14.2"}
    return (200, {"kernels": 0}) if asked.get("token") == token else (403, {"message": "Forbidden"})
"""
_VLLM = """
serve, model, *options = sys.argv[1:]
assert serve == "serve"
given = dict(zip(options[::2], options[1::2]))
host, port = given["--host"], int(given["--port"])

def answer(path, asked, shown):
    if path == "/health":
        return 200, {}
    if shown != f"Bearer {os.environ['VLLM_API_KEY']}":
        return 401, {"error": "Unauthorized"}
    if path == "/v1/chat/completions":
        words = asked["messages"][-1]["content"].split()
        answered = {"role": "assistant", "content": f"You asked me {len(words)} words."}
        return 200, {"object": "chat.completion", "model": model, "choices": [{"index": 0, "message": answered}]}
    return 200, {"object": "list", "data": [{"id": model, "object": "model"}]}
"""
_COMFYUI = """
host, port = "0.0.0.0", 8188

def answer(path, asked, shown):
    return (200, {"system": {"comfyui_version": "0.3"}}) if path == "/system_stats" else (404, {})
"""
PROGRAMS = {
    "usr/local/bin/start-notebook.py": ("The server of notebooks.", _JUPYTER),
    "usr/local/bin/vllm": ("The server of models.", _VLLM),
    "usr/local/bin/comfyui": ("The server of graphs.", _COMFYUI),
}


def build(engine: Engine) -> str:
    """Have the engine make it, whose own command is ComfyUI's, since its template names none; what it is called."""
    base = images.base()
    images.load(engine.url, base)
    with engine.client() as client:
        container = client.containers.create(base.id, network_mode="none")
        try:
            container.put_archive("/", _layer())
            container.commit(NAME, "1", changes=['CMD ["/usr/local/bin/comfyui"]'])
        finally:
            container.remove(force=True)
    return f"{NAME}:1"


def _layer() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, (what, answer) in PROGRAMS.items():
            data = _SERVER.replace("{what}", what).replace("{answer}", answer).encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
        folder = tarfile.TarInfo("workspace")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
    return out.getvalue()
