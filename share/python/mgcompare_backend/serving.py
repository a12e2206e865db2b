"""Answers the requests of mgcompare with an object of the backend's class."""
import math
import os
import platform
import sys
import time
import traceback

import numpy as np

from .backend import Backend
from .channel import Problem, open_channel, report, unavailable
from .options import with_defaults
from .trial import Epoch, Trial

PROTOCOL = 1

now = time.perf_counter


def _check_class(backend_class):
    if not (isinstance(backend_class, type) and issubclass(backend_class, Backend)):
        raise Problem(f"serve() got {getattr(backend_class, '__name__', backend_class)}, which is not derived from mgcompare_backend.Backend")


def _made(backend_class, options):
    """An object of the class; it may have got its methods in __init__."""
    backend = backend_class(options)
    missing = [f"{method}()" for method in ("train", "weights") if getattr(getattr(backend, method), "__func__", None) is getattr(Backend, method)]
    if missing:
        raise Problem(f"{backend_class.__name__} has no method {' and no method '.join(missing)}")
    return backend


def _describe(channel, backend_class, request):
    if request["protocol"] != PROTOCOL:
        raise unavailable(f"mgcompare speaks protocol {request['protocol']}, this module {PROTOCOL}: take mgcompare_backend from this version")
    backend = _made(backend_class, with_defaults(backend_class.options, request["options"]))
    problems = [{"key": key, "text": text, "kind": (kind or ["unavailable"])[0]} for key, text, *kind in backend.problems()]
    channel.send("description", protocol=PROTOCOL, name=backend.name, versions={"python": platform.python_version(), **backend.versions()},
                 options=backend.options, problems=problems,
                 **{key: getattr(backend, key) for key in ("promise", "least_devices", "most_devices", "device_kinds", "layers",
                                                            "optimizers", "precisions", "differs", "framework", "like")})


def _check(backend, trial):
    """Refuses what the description does not promise, with a sentence instead of a failure inside a framework."""
    for _, text, *_ in backend.problems():
        raise unavailable(text)
    missing = sorted({layer["type"] for layer in trial.layers} - set(backend.layers))
    kind, devices, least, most = trial.device_kind, len(trial.devices), backend.least_devices, backend.most_devices
    for lacks, text in ((missing, f"has no layer {', '.join(missing)}"),
                        (trial.optimizer["kind"] not in backend.optimizers, f"has no optimiser {trial.optimizer['kind']}"),
                        (kind not in backend.device_kinds, f"does not run on {kind}"),
                        (trial.precision not in backend.precisions.get(kind, []), f"has no precision {trial.precision} on {kind}"),
                        (not least <= devices <= most, f"runs on {least} to {most} devices with these options, not on {devices}")):
        if lacks:
            raise unavailable(f"{backend.name} {text}")


def _write_weights(backend, trial, file):
    weights = backend.weights()
    if weights is None:
        raise Problem("weights() returned None: it must return all parameters, then all buffers")
    arrays = weights if isinstance(weights, (list, tuple)) else [weights]
    vector = np.concatenate([np.asarray(array, np.float32).ravel() for array in arrays])
    count = trial.network["parameters"] + trial.network["buffers"]
    if len(vector) != count:
        raise Problem(f"the backend has {len(vector)} parameters and buffers; the network has {count}")
    vector.tofile(file)


def _begin_trial(channel, backend, trial):
    _check(backend, trial)
    notes = backend.load(trial)
    if isinstance(notes, str):
        raise Problem(f"load() returned the text '{notes}': it must return a list of texts")
    channel.send("ready", notes=list(notes or []))


def _train(backend, epoch):
    """The mean loss. A module that is missing now is a failure of this backend: it has said that it can run here."""
    try:
        returned = backend.train(epoch)
    except ImportError as error:
        traceback.print_exc()
        raise Problem(f"train() cannot import what it needs: {error}") from error
    try:
        return float(returned)
    except (TypeError, ValueError, RuntimeError):
        raise Problem(f"train() returned {'None' if returned is None else 'a ' + type(returned).__name__}: "
                      "it must return the mean loss of the epoch's samples") from None


def _train_epoch(channel, backend, trial, request):
    epoch = Epoch(trial, request)
    backend.begin(epoch)
    epoch.taken = 0
    channel.send("epoch_begin", epoch=epoch.number)
    start = now()
    loss = _train(backend, epoch)
    seconds = now() - start
    if 0 < epoch.taken < len(epoch.rates):
        raise Problem(f"train() left epoch.steps() after {epoch.taken} of {len(epoch.rates)} steps: an epoch is all of them")
    if not math.isfinite(loss):
        raise Problem(f"the loss is {loss} in epoch {epoch.number + 1}", "diverged")
    channel.send("epoch_end", epoch=epoch.number, seconds=seconds, samples=len(epoch.order), steps=len(epoch.rates), loss=loss)
    _write_weights(backend, trial, epoch.weights)
    channel.send("weights", epoch=epoch.number)


def serve(backend_class):
    """Answers requests until the last one. Call it last, guarded by `if __name__ == "__main__":`."""
    try:
        channel = open_channel()
    except OSError:
        sys.exit(f"{os.path.basename(sys.argv[0])} is started by mgcompare: name the backend under `strategies:`")
    backend = trial = identity = None
    code = 0
    try:
        while (request := channel.receive()) is not None:
            kind = request["type"]
            _check_class(backend_class)
            if kind == "describe":
                _describe(channel, backend_class, request)
                continue
            if kind == "trial":
                identity, trial = request["id"], Trial(request["file"])
                backend = _made(backend_class, trial.options)
                _begin_trial(channel, backend, trial)
                continue
            if backend is None or request["id"] != identity:
                raise Problem(f"request '{kind}' has the id {request['id']}, which is not that of the trial")
            if kind == "epoch":
                _train_epoch(channel, backend, trial, request)
            elif kind == "end":
                peak, traffic = int(backend.peak_memory()), int(backend.bytes_per_step())
                backend.close()
                backend = None
                channel.send("ended", peak_memory=peak, bytes_per_step=traffic)
                break
            else:
                raise Problem(f"request of unknown type '{kind}'")
    except BrokenPipeError:
        code = 1  # nobody listens
    except Exception as error:  # every failure is an answer
        report(error)
        code = 1
    try:
        if backend is not None:
            backend.close()
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # destructors of a framework can hang
