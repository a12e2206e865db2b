"""Trains one dense layer with NumPy, on one or two CPU devices: each is a thread with its own copy of the weights."""
import concurrent.futures
import threading

import mgcompare_backend as mgcompare

import numpy as np


class PairBackend(mgcompare.Backend):
    name = "pair"
    layers = ["flatten", "dense"]
    most_devices = 2
    framework = {"name": "NumPy", "version": np.__version__}
    like = {"one": "serial", "several": "replicated"}

    def load(self, trial):
        dense = [layer["parameters"] for layer in trial.layers if layer["type"] == "dense"]
        if len(dense) != 1 or "bias" not in dense[0] or trial.optimizer["momentum"] or trial.network["targets"] > 1:
            raise mgcompare.unavailable("pair trains one dense layer with a bias and one target, without momentum")
        self.trial, self.dense, self.devices = trial, dense[0], len(trial.devices)
        self.decay = np.zeros_like(trial.parameters)
        for begin, shape, decay, _, _ in trial.parts():
            self.decay[begin:begin + int(np.prod(shape))] = decay
        self.copies = [trial.parameters.copy() for _ in range(self.devices)]
        self.gradients = [np.zeros_like(trial.parameters) for _ in range(self.devices)]
        self.barrier = threading.Barrier(self.devices)
        self.threads = concurrent.futures.ThreadPoolExecutor(self.devices)

    def tensor(self, vector, name):
        place = self.dense[name]
        return vector[place["begin"]:][:int(np.prod(place["shape"]))].reshape(place["shape"])

    def backward(self, device, samples, views, batch):
        x, gradient = self.trial.inputs(samples, views).reshape(len(samples), -1), self.gradients[device]
        logits = x @ self.tensor(self.copies[device], "weights").T + self.tensor(self.copies[device], "bias")
        rows, targets = np.arange(len(samples)), self.trial.targets[samples].ravel()
        logits -= logits.max(axis=1, keepdims=True)
        slope = np.exp(logits)
        sums = slope.sum(axis=1, keepdims=True)
        loss = float((np.log(sums[:, 0]) - logits[rows, targets]).sum())
        slope /= sums
        slope[rows, targets] -= 1
        slope /= batch
        self.tensor(gradient, "weights")[:] = slope.T @ x
        self.tensor(gradient, "bias")[:] = slope.sum(axis=0)
        return loss

    def work(self, device, epoch):
        loss, weights = 0.0, self.copies[device]
        try:
            for step in epoch.steps():
                begin, end = mgcompare.share(len(step.samples), device, self.devices)
                views = None if step.views is None else step.views[begin:end]
                if begin == end:
                    self.gradients[device][:] = 0
                else:
                    loss += self.backward(device, step.samples[begin:end], views, len(step.samples))
                self.barrier.wait()
                total = sum(self.gradients)
                self.barrier.wait()
                weights -= step.rate * (total + self.decay * weights)
        except threading.BrokenBarrierError:
            pass  # another device failed, and raises the reason
        except Exception:
            self.barrier.abort()
            raise
        return loss

    def train(self, epoch):
        work = [self.threads.submit(self.work, device, epoch) for device in range(self.devices)]
        return sum(each.result() for each in work) / len(epoch.order)

    def weights(self):
        return self.copies[0]

    def bytes_per_step(self):
        return self.copies[0].nbytes * (self.devices - 1)

    def close(self):
        self.threads.shutdown()


if __name__ == "__main__":
    mgcompare.serve(PairBackend)
