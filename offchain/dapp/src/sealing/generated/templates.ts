// Made by scripts/dapp.py: do not edit.
export const shippedTemplates = [
 {
  "name": "batch",
  "summary": "A job whose result is /out; name its command",
  "secrets": [],
  "needs_command": true,
  "use": [
   "leasehold logs -f LEASE",
   "leasehold results LEASE"
  ],
  "workload": {
   "kind": "batch",
   "image": "python:3.12-slim",
   "outputs": [
    {
     "path": "/out"
    }
   ]
  }
 },
 {
  "name": "comfyui",
  "summary": "ComfyUI, pictures by a graph of nodes",
  "secrets": [],
  "needs_command": false,
  "use": [
   "leasehold port LEASE 8188"
  ],
  "workload": {
   "image": "yanwk/comfyui-boot:cu126-slim",
   "readiness": {
    "http": {
     "port": 8188,
     "path": "/system_stats"
    },
    "timeout": 1200
   },
   "volumes": [
    {
     "name": "comfyui",
     "path": "/root"
    }
   ]
  }
 },
 {
  "name": "jupyter",
  "summary": "JupyterLab with PyTorch, behind a token of the lease's own",
  "secrets": [
   "jupyter-token"
  ],
  "needs_command": false,
  "use": [
   "leasehold port LEASE 8888",
   "and give it <jupyter-token>"
  ],
  "workload": {
   "image": "quay.io/jupyter/pytorch-notebook:cuda12-latest",
   "command": [
    "start-notebook.py",
    "--ServerApp.ip=0.0.0.0",
    "--ServerApp.port=8888"
   ],
   "env": {
    "JUPYTER_TOKEN_FILE": "/run/secrets/jupyter-token"
   },
   "readiness": {
    "http": {
     "port": 8888,
     "path": "/api"
    },
    "timeout": 600
   },
   "volumes": [
    {
     "name": "notebooks",
     "path": "/home/jovyan/work"
    }
   ]
  }
 },
 {
  "name": "pytorch",
  "summary": "PyTorch 2.5 with CUDA 12.4, and a shell",
  "secrets": [],
  "needs_command": false,
  "use": [
   "leasehold ssh LEASE"
  ],
  "workload": {
   "image": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
   "command": [
    "sleep",
    "infinity"
   ],
   "workdir": "/workspace"
  }
 },
 {
  "name": "ubuntu",
  "summary": "Ubuntu 24.04, and a shell",
  "secrets": [],
  "needs_command": false,
  "use": [
   "leasehold ssh LEASE"
  ],
  "workload": {
   "image": "ubuntu:24.04",
   "command": [
    "sleep",
    "infinity"
   ]
  }
 },
 {
  "name": "vllm",
  "summary": "vLLM serving a model, as OpenAI's interface",
  "secrets": [
   "api-key"
  ],
  "needs_command": false,
  "use": [
   "leasehold show LEASE     says at which host and port it is",
   "curl http://HOST:PORT/v1/models -H 'Authorization: Bearer <api-key>'"
  ],
  "workload": {
   "image": "vllm/vllm-openai:latest",
   "command": [
    "if [ -r /run/secrets/HF_TOKEN ]; then export HF_TOKEN=\"$(cat /run/secrets/HF_TOKEN)\"; fi\nexport VLLM_API_KEY=\"$(cat /run/secrets/api-key)\"\nexec vllm serve \"$MODEL\" --host 0.0.0.0 --port 8000\n"
   ],
   "env": {
    "MODEL": "Qwen/Qwen2.5-7B-Instruct",
    "HF_HOME": "/models"
   },
   "ports": [
    {
     "container": 8000
    }
   ],
   "readiness": {
    "http": {
     "port": 8000,
     "path": "/health"
    },
    "timeout": 1500
   },
   "entrypoint": [
    "sh",
    "-c"
   ],
   "volumes": [
    {
     "name": "models",
     "path": "/models",
     "size": 42949672960
    }
   ]
  }
 }
] as const;
