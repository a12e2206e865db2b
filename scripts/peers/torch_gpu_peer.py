"""The LeNet training of `scripts/bench --gpu` in PyTorch: a whole step as one CUDA graph, including NCCL's all-reduce.

Usage: torch_gpu_peer.py DEVICES:BATCH_PER_DEVICE ... Prints one line "DEVICES:BATCH,samples per second" for each: the
median of three rounds of 300 steps over random images that are stored on every device, with one process per device.
Matrix products may use TF32.
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

SAMPLES, STEPS = 60000, 300


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))


def train(rank, devices, batch, port, answer):
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    if devices > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("nccl", rank=rank, world_size=devices, device_id=device)
    torch.manual_seed(0)
    model = lenet().to(device)
    parameters = list(model.parameters())
    # All gradients in one vector, so that one all-reduce suffices.
    flat = torch.zeros(sum(p.numel() for p in parameters), device=device)
    begin = 0
    for p in parameters:
        p.grad = flat[begin:begin + p.numel()].view_as(p)
        begin += p.numel()
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=True)
    images = torch.rand(SAMPLES, 1, 28, 28, device=device)
    labels = torch.randint(0, 10, (SAMPLES,), device=device)
    batch_images = torch.empty(batch, 1, 28, 28, device=device)
    batch_labels = torch.empty(batch, dtype=torch.long, device=device)

    def step():
        flat.zero_()
        F.cross_entropy(model(batch_images), batch_labels).backward()
        if devices > 1:
            dist.all_reduce(flat)
            flat.div_(devices)
        optimizer.step()

    at = 0

    def fill():
        nonlocal at
        batch_images.copy_(images[at:at + batch])
        batch_labels.copy_(labels[at:at + batch])
        at = (at + batch) % (SAMPLES - batch)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(5):
            fill()
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    if devices > 1:
        dist.barrier()
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        for _ in range(STEPS):
            fill()
            graph.replay()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        answer.put(STEPS * batch * devices / statistics.median(seconds[1:]))
        answer.close()
        answer.join_thread()
    time.sleep(0.5)
    os._exit(0)  # destroying a communicator that a live graph uses can hang


def samples_per_second(devices, batch, port):
    context = mp.get_context("spawn")
    answer = context.Queue()
    ranks = [context.Process(target=train, args=(k, devices, batch, port, answer)) for k in range(devices)]
    for rank in ranks:
        rank.start()
    try:
        return answer.get(timeout=120)
    finally:
        for rank in ranks:
            rank.join(15)
            rank.kill()


if __name__ == "__main__":
    for number, place in enumerate(sys.argv[1:]):
        count, share = map(int, place.split(":"))
        print(f"{place},{samples_per_second(count, share, 29500 + number):.0f}", flush=True)
