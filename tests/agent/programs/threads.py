"""What programs of the language do first: threads, pools, processes, sockets. Prints "well" at the end."""

import concurrent.futures
import http.server
import multiprocessing
import os
import subprocess
import sys
import threading
import urllib.request

heard: list[int] = []
thread = threading.Thread(target=heard.append, args=(1,))
thread.start()
thread.join()
assert heard == [1]

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert list(pool.map(abs, range(-64, 0))) == list(range(64, 0, -1))
with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as processes:
    assert list(processes.map(abs, [-1, -2])) == [1, 2]

child = os.posix_spawn("/bin/true", ["true"], {})
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert os.system("exit 3") == 3 << 8
assert subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, check=True).stdout == b"7\n"

with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
        assert answer.status == 200
    server.shutdown()

# What no rule names does not exist: a library then does without. "Forbidden" would be an error to it.
import ctypes  # noqa: E402
import errno  # noqa: E402

libc = ctypes.CDLL(None, use_errno=True)
for number in (425, 435, 451, 452):  # io_uring_setup, clone3, cachestat, fchmodat2
    assert libc.syscall(number, 0, 0, 0, 0) == -1
    assert ctypes.get_errno() == errno.ENOSYS, (number, ctypes.get_errno())
print("well")
