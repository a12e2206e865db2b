"""The class that a backend derives from."""
import numpy as np


class Backend:
    """Derive from this class. The attributes are those of `description`; an object trains one trial."""

    name = ""
    options = []
    promise = "exact"
    least_devices = most_devices = 1
    device_kinds = ["cpu"]
    layers = []
    optimizers = ["sgd"]
    precisions = {"cpu": ["fp32"]}
    differs = []
    framework = {}  # {"name": "PyTorch", "version": "2.11.0"}; the name in reports, otherwise that of the backend
    like = {}  # {"one": "serial", "several": "replicated"}: the strategies that compute the same way on one device, and on several

    def __init__(self, options):
        """`options`: the values by key, with defaults. An object may change the attributes above."""

    def versions(self):
        return {"numpy": np.__version__}

    def problems(self):
        """What these options need and this machine lacks: a list of (key, text), or (key, text, "invalid") for values that do
        not go together; key "" for the backend as a whole."""
        return []

    def load(self, trial):
        """Loads data, makes the network, compiles, warms up, restores the initial state; returns notes for the row."""
        return []

    def begin(self, epoch):
        """Before the clock starts: copies order and rates to the devices. Nothing is trained or prepared here."""

    def train(self, epoch):
        """Trains the epoch, waits for the devices, and returns the mean loss of its samples, each before its update."""
        raise NotImplementedError

    def weights(self):
        """All parameters, then all buffers, in the order of the vector: one array or a list."""
        raise NotImplementedError

    def peak_memory(self):
        return 0

    def bytes_per_step(self):
        return 0

    def close(self):
        """Ends what the backend has started. Also called after an error."""
