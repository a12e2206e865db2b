"""A backend for tests, with the standard library only. It trains networks of dense layers and tanh on one CPU, or misbehaves as its
option `fault` says."""

import array
import json
import math
import os
import subprocess
import sys
import time

FAULTS = ["none", "garbage", "huge", "silent", "dies", "signal", "other_id", "other_type", "short", "infinite", "stale", "children", "session",
          "memory", "error", "diverges", "slow_clock", "fast_clock", "unclocked", "momentum", "skips", "twice", "stays", "busy",
          "writes", "fewer_steps", "late", "early", "large", "between", "loss", "paused", "capped", "alternates", "apart", "narrow"]
FORMATS = {"uint8": "B", "float32": "f", "int32": "i", "int64": "q", "uint32": "I"}

requests = os.fdopen(3, "r")
answers = os.fdopen(4, "w")


def send(**message):
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def read_array(path, kind):
    values = array.array(FORMATS[kind])
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values


def cores():
    """The cores on which this process may run; the processors of one share its topology's text."""
    places = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return {open(places.format(cpu)).read() for cpu in os.sched_getaffinity(0)}


def describe(request):
    how = os.environ.get("MGCOMPARE_TEST_DESCRIBE", "")
    if how == "dies":
        sys.exit("no module named nothing: install it")
    if how == "signal":
        os.kill(os.getpid(), 11)
    if how == "garbage":
        print("hello", file=answers, flush=True)
    if how == "silent":
        time.sleep(100)
    if how == "unavailable":
        send(type="error", id=request["id"], kind="unavailable", text="it needs nothing: install it")
        sys.exit(0)
    problems = []
    if request["options"].get("wants"):
        problems.append({"key": "wants", "text": "wants needs version 2; 1 is installed", "kind": "unavailable"})
    if request["options"].get("rate") == 0.5:
        problems.append({"key": "rate", "text": "0.5 does not work"})
    send(type="description", id=request["id"], protocol=1, name=os.environ.get("MGCOMPARE_TEST_NAME", "plain"), versions={"plain": "1.0"},
         options=[{"key": "fault", "type": "choice", "default": "none", "values": FAULTS, "help": "how it misbehaves"},
                  {"key": "in", "type": "choice", "default": "epoch", "values": ["setup", "epoch", "end"], "help": "when it misbehaves"},
                  {"key": "rate", "type": "number", "default": 0.25, "least": 0, "most": 1, "help": "nothing"},
                  {"key": "many", "type": "integer", "default": 3, "least": 1, "most": 9, "help": "nothing"},
                  {"key": "wants", "type": "flag", "default": False, "help": "what is not there"}],
         problems=problems, promise="approximate" if how == "approximate" else "exact", least_devices=1, most_devices=2 if how == "several" else 1, device_kinds=["cpu"], layers=["dense", "tanh", "flatten", "dropout"] + (["rellu"] if how == "layer" else []),
         optimizers=["sgd"] + (["adamm"] if how == "layer" else []), precisions={"cpu": ["fp32"] + (["float32"] if how == "layer" else [])}, differs=["its arithmetic has 64 bits"],
         framework={"name": "Plain lists", "version": "1.0"}, like={"one": "serail" if how == "layer" else "serial", "several": "replicated"})


def number_in(cache):
    """Of this trial in the run: each leaves a file in the folder that stays."""
    number = len(os.listdir(cache)) + 1
    open(f"{cache}/{number}", "x").close()
    return number


class Network:
    def __init__(self, trial):
        self.trial = trial
        self.layers = trial["network"]["layers"]
        self.count = trial["network"]["parameters"]
        self.initial = list(read_array(trial["initial"], "float32"))
        values, targets = trial["data"]["values"], trial["data"]["targets"]
        raw = read_array(values["file"], values["type"])
        size = len(raw) // values["shape"][0]
        scale = trial["preparation"]["scale"]
        self.samples = [[value * scale for value in raw[i * size:(i + 1) * size]] for i in range(values["shape"][0])]
        self.targets = read_array(targets["file"], targets["type"])
        self.reset()

    def reset(self):
        self.weights = list(self.initial)
        self.velocity = [0.0] * self.count
        self.steps = 0

    def forward(self, sample):
        outputs = [sample]
        for layer in self.layers:
            below = outputs[-1]
            if layer["type"] == "dense":
                weights, bias = layer["parameters"]["weights"], layer["parameters"].get("bias")
                units, inputs = weights["shape"]
                row = weights["begin"]
                out = []
                for unit in range(units):
                    start = row + unit * inputs
                    total = sum(map(float.__mul__, self.weights[start:start + inputs], below))
                    out.append(total + (self.weights[bias["begin"] + unit] if bias else 0.0))
                outputs.append(out)
            else:
                outputs.append([math.tanh(x) for x in below] if layer["type"] == "tanh" else below)
        return outputs

    def backward(self, outputs, gradient, sums):
        for k in range(len(self.layers) - 1, -1, -1):
            layer, below = self.layers[k], outputs[k]
            if layer["type"] == "tanh":
                gradient = [g * (1 - y * y) for g, y in zip(gradient, outputs[k + 1])]
            elif layer["type"] == "dense":
                weights, bias = layer["parameters"]["weights"], layer["parameters"].get("bias")
                inputs = weights["shape"][1]
                lower = [0.0] * inputs
                for unit, g in enumerate(gradient):
                    start = weights["begin"] + unit * inputs
                    if k > 0:
                        lower = [l + g * w for l, w in zip(lower, self.weights[start:start + inputs])]
                    sums[start:start + inputs] = [s + g * x for s, x in zip(sums[start:start + inputs], below)]
                    if bias:
                        sums[bias["begin"] + unit] += g
                gradient = lower

    def step(self, samples, rate, momentum):
        sums, loss = [0.0] * self.count, 0.0
        for sample in samples:
            outputs = self.forward(self.samples[sample])
            logits, target = outputs[-1], self.targets[sample]
            largest = max(logits)
            powers = [math.exp(x - largest) for x in logits]
            total = sum(powers)
            loss += math.log(total) + largest - logits[target]
            gradient = [p / total / len(samples) for p in powers]
            gradient[target] -= 1 / len(samples)
            self.backward(outputs, gradient, sums)
        self.steps += 1
        self.velocity = [momentum * v + g for v, g in zip(self.velocity, sums)]
        self.weights = [w - rate * v for w, v in zip(self.weights, self.velocity)]
        return loss


def misbehave(fault, id, message):
    """Returns whether the message is still to be sent."""
    if fault == "garbage":
        print("Epoch 1/3: 100%|####|", file=answers, flush=True)
    elif fault == "huge":
        answers.write("x" * (2 << 20))
        answers.flush()
    elif fault == "silent":
        if "MGCOMPARE_TEST_SEEN" in os.environ:
            open(os.environ["MGCOMPARE_TEST_SEEN"], "w").close()
        time.sleep(100)
    elif fault == "dies":
        print("Traceback: out of ideas", file=sys.stderr)
        os._exit(3)
    elif fault == "signal":
        os.kill(os.getpid(), 11)
    elif fault == "other_id":
        send(**dict(message, id=id + 1))
    elif fault == "other_type":
        send(type="hello", id=id)
    elif fault == "error":
        send(type="error", id=id, kind="failed", text="it does not want to")
        sys.exit(0)
    elif fault == "memory":
        try:
            print(len(bytearray(64 << 30)))
        except MemoryError:
            send(type="error", id=id, kind="out_of_memory", text="no memory for 64 GiB")
            sys.exit(0)
    elif fault in ("children", "session"):
        subprocess.Popen(["sleep", "3151"], start_new_session=fault == "session")
    elif fault == "stays":
        time.sleep(100)


def train(network, request, id, fault):
    trial = network.trial
    order, rates = read_array(request["order"], "uint32"), read_array(request["rates"], "float32")
    momentum = trial["optimizer"]["momentum"]
    batch = trial["batch"]
    if fault == "momentum":
        momentum *= 0.5
    if fault == "early":  # as if it trained a third before its clock starts
        time.sleep(float(os.environ["MGCOMPARE_TEST_EPOCH"]) / 3)
    send(type="epoch_begin", id=id, epoch=request["epoch"])
    start = time.monotonic()
    if fault in ("dies", "signal", "silent", "children", "session"):
        misbehave(fault, id, {})
    loss = 0.0
    for k, rate in enumerate(rates):
        samples = order[k * batch:(k + 1) * batch]
        if fault == "skips" or fault == "apart" and len(trial["devices"]) > 1:
            samples = samples[:max(1, len(samples) // 2)]
        if fault == "narrow":  # as if it kept their numbers in too few bits
            samples = array.array("I", [min(number, 70) for number in samples])
        if fault == "alternates" and k % 2:
            continue
        if fault == "large" and len(samples) > 20:
            samples = samples[:20]
        if fault == "capped":
            rate = min(rate, 0.08)
        if fault == "twice":
            samples = array.array("I", [samples[0]] * len(samples))
        loss += network.step(samples, rate, momentum * 0.5 if fault == "late" and network.steps >= 100 else momentum)
    while fault != "unclocked" and time.monotonic() - start < float(os.environ.get("MGCOMPARE_TEST_EPOCH", "0")):
        time.sleep(0.001)
    seconds = (time.monotonic() - start) * {"slow_clock": 1.5, "fast_clock": 0.5}.get(fault, 1)
    message = dict(type="epoch_end", id=id, epoch=request["epoch"], seconds=seconds, samples=len(order), steps=len(rates) - (fault == "fewer_steps"),
                   loss=None if fault == "diverges" else 1.03 * loss / len(order) if fault == "loss" else loss / len(order))
    if fault in ("garbage", "huge", "other_id", "other_type", "memory", "error"):
        misbehave(fault, id, message)
    send(**message)
    if fault == "unclocked":
        time.sleep(float(os.environ.get("MGCOMPARE_TEST_UNCLOCKED", "0.8")))
    if fault == "writes":
        os.chmod(trial["data"]["values"]["file"], 0o600)
        with open(trial["data"]["values"]["file"], "r+b") as file:
            file.write(bytes(100))
    weights = array.array("f", network.weights)
    if fault == "between" and request["epoch"] + 1 < trial["epochs"]:
        weights[0] += 0.1
    if fault == "short":
        weights = weights[:-1]
    if fault == "infinite":
        weights[0] = math.nan
    if fault != "stale":
        with open(request["weights"], "wb") as file:
            weights.tofile(file)
    send(type="weights", id=id, epoch=request["epoch"])
    if fault == "paused":  # as if it trained on while the weights are evaluated
        end = time.process_time() + float(os.environ["MGCOMPARE_TEST_EPOCH"])
        while time.process_time() < end:
            pass


def main():
    network, fault, when = None, "none", ""
    for line in requests:
        request = json.loads(line)
        kind, id = request["type"], request["id"]
        if kind == "describe":
            describe(request)
        elif kind == "trial":
            with open(request["file"]) as file:
                trial = json.load(file)
            if os.listdir("."):
                sys.exit("its folder is not empty")
            fault, when = trial["options"]["fault"], trial["options"]["in"]
            network = Network(trial)
            if when == "setup":
                misbehave(fault, id, {"type": "ready"})
            send(type="ready", id=id, notes=["plain lists, 1 core" if len(cores()) == 1 else "plain lists", f"trial {number_in(trial['cache'])} of the run"])
        elif kind == "epoch":
            train(network, request, id, fault if when == "epoch" else "none")
        elif kind == "end":
            if when == "end":
                misbehave(fault, id, {"type": "ended"})
            send(type="ended", id=id, peak_memory=0, bytes_per_step=0)
            if fault == "stays" and when == "end":
                time.sleep(100)
            return


main()
