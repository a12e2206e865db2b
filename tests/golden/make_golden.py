#!/usr/bin/env python3
"""Writes gradients.json: loss, logits and gradients of networks that contain every layer, computed by PyTorch in double precision.

Needs Python with torch and numpy (Debian: python3-torch); the tests only read the file. Weights, pixels and labels are a
hash of their position, so that this script and the tests compute them and none is stored. Dropout is off.
"""
import json
import pathlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SAMPLES = 8
KEPT = 64  # elements of each tensor, evenly spread


def hashed(stream, count):
    """32 random bits for each position; golden_test.cc has the same lines."""
    h = np.arange(count, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(stream) * np.uint64(40503)
    h = (h & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h ^= h >> np.uint32(shift)
        h *= np.uint32(factor)
    return h


def symmetric(stream, count):
    """Floats in [-1, 1)."""
    return (hashed(stream, count) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def conv(inputs, outputs, kernel):
    return nn.Conv2d(inputs, outputs, kernel)


class Recurrent(nn.Module):
    """A GRU or LSTM that gives every position's state, or the last one. Its parameters are in the order of our parts."""

    def __init__(self, kind, inputs, units, return_sequences):
        super().__init__()
        self.inner = kind(inputs, units, batch_first=True)
        self.return_sequences = return_sequences

    def forward(self, x):
        states, _ = self.inner(x)
        return states if self.return_sequences else states[:, -1]


def stacked(kind):
    return [Recurrent(kind, 28, 16, True), Recurrent(kind, 16, 12, False), nn.Linear(12, 10)]


class Positions(nn.Module):
    """Joins the axes of samples and positions, so that each position has a row of logits."""

    def forward(self, x):
        return x.reshape(-1, x.shape[-1])


class Mean(nn.Module):
    def __init__(self, axes):
        super().__init__()
        self.axes = axes

    def forward(self, x):
        return x.mean(self.axes)


class Residual(nn.Module):
    def __init__(self, main, shortcut):
        super().__init__()
        self.main, self.shortcut = nn.Sequential(*main), nn.Sequential(*shortcut)

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


def bn(channels):
    return nn.BatchNorm2d(channels, eps=1e-3)


def bare(inputs, outputs, kernel, stride=1, padding=0):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)


def lrn(radius, alpha, beta, offset):
    size = 2 * radius + 1  # PyTorch divides alpha by it
    return nn.LocalResponseNorm(size, alpha * size, beta, offset)


NETWORKS = {
    "lenet": lambda: [conv(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2), conv(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2),
                      nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10)],
    "mlp": lambda: [nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)],
    "keras_cnn": lambda: [conv(1, 32, 3), nn.ReLU(), conv(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(4608, 128), nn.ReLU(), nn.Linear(128, 10)],
    "keras_bn_cnn": lambda: [conv(1, 32, 3), nn.ReLU(), conv(32, 256, 3), nn.ReLU(), nn.BatchNorm2d(256, eps=1e-3),
                             conv(256, 128, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(15488, 128),
                             nn.ReLU(), nn.Linear(128, 10)],
}


# Of other samples than digits: shape, number of tokens (0: bytes / 255), and layers.
OTHERS = {
    "tokens": ((7,), 23, lambda: [nn.Embedding(23, 12), nn.Linear(12, 20), nn.LayerNorm(20), nn.GELU(), nn.Linear(20, 10),
                                  Positions()]),
    "sequence": ((6, 5), 0, lambda: [nn.Linear(5, 9), nn.GELU(), nn.LayerNorm(9), Mean(1), nn.LayerNorm(9), nn.Linear(9, 10)]),
    "responses": ((3, 13, 12), 0, lambda: [nn.Conv2d(3, 8, 5, 1, 2), nn.GELU(), nn.MaxPool2d(3, 2, 1), lrn(2, 0.3, 0.75, 1.5),
                                           conv(8, 6, 3), nn.GroupNorm(1, 6), nn.Tanh(), lrn(4, 0.001, 0.75, 1), nn.Flatten(),
                                           nn.Linear(120, 10)]),
    "residual": ((3, 33, 29), 0, lambda: [bare(3, 6, 7, 2, 3), bn(6), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                          Residual([bare(6, 4, 1), bn(4), nn.ReLU(), bare(4, 4, 3, 2, 1), bn(4), nn.ReLU(),
                                                    bare(4, 8, 1), bn(8)], [bare(6, 8, 1, 2), bn(8)]),
                                          Residual([bare(8, 8, 3, 1, 1), bn(8)], []), Mean((2, 3)), nn.Linear(8, 10)]),
    "stacked_gru": ((28, 28), 0, lambda: stacked(nn.GRU)),
    "stacked_lstm": ((28, 28), 0, lambda: stacked(nn.LSTM)),
}


def fill(parameter, stream):
    values = symmetric(stream, parameter.numel())
    if parameter.dim() > 1:
        values = values * np.float32(np.sqrt(3.0 / (parameter.numel() / parameter.shape[0])))
    else:
        values = values * np.float32(0.1)
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(values.astype(np.float64)).reshape(parameter.shape))


def tensor(values):
    flat = values.detach().reshape(-1).numpy()
    step = max(1, len(flat) // KEPT)
    return {"size": len(flat), "norm": float(np.linalg.norm(flat)), "step": step,
            "values": [float(f"{value:.9g}") for value in flat[::step]]}


def run(layers, shape=(1, 28, 28), tokens=0):
    model = nn.Sequential(*layers).double()
    stream = 100
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            fill(parameter, stream)
            if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)) and parameter is module.weight:
                with torch.no_grad():
                    parameter.add_(1.0)
            stream += 1
    values = hashed(1, SAMPLES * int(np.prod(shape)))
    if tokens:
        samples = torch.from_numpy((values % np.uint32(tokens)).astype(np.int64))
    else:
        pixels = (values & np.uint32(255)).astype(np.float32) * np.float32(1 / 255)
        samples = torch.from_numpy(pixels.astype(np.float64))
    logits = model(samples.reshape(SAMPLES, *shape))
    labels = torch.from_numpy((hashed(2, logits.shape[0]) % np.uint32(10)).astype(np.int64))
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    return {"loss": float(loss), "logits": tensor(logits), "gradients": [tensor(p.grad) for p in model.parameters()]}


torch.set_num_threads(1)
networks = {name: run(make()) for name, make in NETWORKS.items()}
networks.update({name: run(make(), shape, tokens) for name, (shape, tokens, make) in OTHERS.items()})
golden = {"samples": SAMPLES, "torch": torch.__version__, "networks": networks}
path = pathlib.Path(__file__).with_name("gradients.json")
path.write_text(json.dumps(golden, indent=None, separators=(",", ":")).replace('"norm"', '\n"norm"') + "\n")
print(f"{path}: {path.stat().st_size} bytes")
