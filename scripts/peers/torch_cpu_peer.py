"""The LeNet training step of `scripts/bench` in PyTorch, on the CPU.

Usage: torch_cpu_peer.py THREADS BATCH [nhwc]. Prints samples per second: the median of five passes over 4,096 samples.
One thread is measured in processor time, as Google Benchmark does, which excludes other processes; several threads in
wall-clock time.
"""
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SAMPLES = 4096

threads, batch = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2),
    nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))
if "nhwc" in sys.argv[3:]:
    model = model.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
images, labels = torch.rand(SAMPLES, 1, 28, 28), torch.randint(0, 10, (SAMPLES,))

clock = time.process_time if threads == 1 else time.perf_counter
rates = []
for _ in range(6):
    start = clock()
    for i in range(0, SAMPLES, batch):
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(images[i:i + batch]), labels[i:i + batch]).backward()
        optimizer.step()
    rates.append(SAMPLES / (clock() - start))
print(f"{statistics.median(rates[1:]):.0f}")
