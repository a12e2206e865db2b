"""One process for each device. The program itself is rank 0; it starts the others and hands its requests on to them."""
import inspect
import multiprocessing
import os
import threading
import time
from multiprocessing import connection

import torch.distributed as dist

import mgcompare_backend as mgcompare

# Ranks whose peer has failed wait this long for the peer's own words.
WORDS_SECONDS = 2.0


def join(rank, ranks, device, place):
    """`place`: a file that does not exist yet, for the rendezvous."""
    # All ranks are on one host; the name of the host need not resolve.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    more = {"device_id": device} if device.type == "cuda" and "device_id" in inspect.signature(dist.init_process_group).parameters else {}
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", init_method=f"file://{place}", rank=rank, world_size=ranks, **more)


def _work(make, arguments, rank, ranks, pipe):
    """A rank other than 0: calls methods of make(...) by name until the pipe ends."""
    is_ready = False
    try:
        worker = make(*arguments, rank, ranks)
        pipe.send(("ready", None))
        is_ready = True
        while True:
            method, values = pipe.recv()
            pipe.send(("done", getattr(worker, method)(*values)))
    except (EOFError, BrokenPipeError):
        pass
    except Exception as error:
        text, kind = mgcompare.problem_of(error)
        # A rank that was ready had all that it needs.
        pipe.send(("failed", (f"rank {rank}: {text}", "failed" if is_ready and kind == "unavailable" else kind)))
    os._exit(0)  # destroying a communicator that a live graph uses can hang


class Team:
    """All ranks; `call` runs a method on every rank and returns that of rank 0."""

    def __init__(self, make, arguments, ranks):
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(1, ranks):
            own, other = context.Pipe()
            process = context.Process(target=_work, args=(make, arguments, rank, ranks, other), daemon=True)
            process.start()
            other.close()
            self.pipes.append(own)
            self.processes.append(process)
        self.answers = threading.Semaphore(0)
        self.ending = False
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.first = self._own(lambda: make(*arguments, 0, ranks))
        except Exception:
            self.close()
            raise

    def _listen(self):
        """Ends the program with the cause as soon as a rank fails: rank 0 may be waiting for that rank for ever."""
        open_pipes = {pipe: rank for rank, pipe in enumerate(self.pipes, 1)}
        while open_pipes:
            for pipe in connection.wait(list(open_pipes)):
                try:
                    kind, value = pipe.recv()
                except (EOFError, OSError):
                    rank = open_pipes.pop(pipe)
                    if not self.ending:
                        process = self.processes[rank - 1]
                        process.join(1)
                        self._end_with(f"rank {rank} has ended (exit code {process.exitcode})")
                    continue
                if kind == "failed":
                    self._end_with(*value)
                self.answers.release()

    def _end_with(self, *words):
        """With NCCL the other ranks would wait for ever."""
        for process in self.processes:
            process.kill()
        mgcompare.end_with(mgcompare.Problem(*words))

    def _own(self, function):
        try:
            result = function()
        except Exception:
            time.sleep(WORDS_SECONDS)  # a failure elsewhere is the better cause
            raise
        for _ in self.pipes:
            self.answers.acquire()
        return result

    def call(self, method, *values):
        for pipe in self.pipes:
            pipe.send((method, values))
        return self._own(lambda: getattr(self.first, method)(*values))

    def close(self):
        self.ending = True
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.kill()
            process.join(5)
