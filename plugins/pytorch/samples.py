"""The samples on a device, and batches of them by index."""
import numpy as np
import torch

# Samples are stored prepared, as float32, if they then need at most this share of the device's memory, or these bytes of the host's.
DEVICE_SHARE, HOST_BYTES = 0.25, 1 << 31


def _budget(device):
    return DEVICE_SHARE * torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else HOST_BYTES


class Samples:
    """`channels_last` stores images as height x width x channels."""

    def __init__(self, trial, device, channels_last):
        self.tokens = trial.tokens
        self.channels_last = channels_last
        self.image = len(trial.network["sample_shape"]) == 3
        targets = torch.from_numpy(np.array(trial.targets, np.int64))
        self.targets = targets.to(device)
        self.factors = None
        if trial.tokens:
            self.values = torch.from_numpy(np.array(trial.values, np.int64)).to(device)
            return
        prepared = 4 * trial.values.size <= _budget(device)
        values = np.array(trial.values)
        if values.dtype == np.int64 and not prepared:
            values = values.astype(np.float32)
        self.values = torch.from_numpy(values).to(device)
        scale, mean, inverse_std = trial.factors()
        mean, inverse_std = torch.from_numpy(mean.copy()).to(device), torch.from_numpy(inverse_std.copy()).to(device)
        changes = bool(trial.preparation["mean"] or trial.preparation["inverse_std"])
        self.factors = float(scale), mean if changes else None, inverse_std
        # What moves in is the prepared value of 0.
        self.fill = -mean * inverse_std if changes and prepared else torch.zeros_like(mean)
        if prepared:
            self.values = self._prepare(self.values)
            self.factors = None
        if channels_last:
            self.values = self.values.permute(0, 2, 3, 1).contiguous()

    def _prepare(self, values):
        scale, mean, inverse_std = self.factors
        values = values.float().mul_(scale) if values.dtype != torch.float32 else values * scale
        return values if mean is None else values.sub_(mean).mul_(inverse_std)

    def batch(self, indices, views=None):
        """Inputs and targets of the samples `indices`, as `views` (one row each) shows them."""
        values = self.values.index_select(0, indices)
        if self.channels_last:
            values = values.permute(0, 3, 1, 2)
        if views is not None:
            values = self._seen(values, views)
        if self.factors is not None:
            values = self._prepare(values)
        return values, self.targets.index_select(0, indices)

    def _seen(self, values, views):
        """Shifted down and to the right, then mirrored."""
        count, _, height, width = values.shape
        views = views.long()
        row, column = torch.arange(height, device=values.device), torch.arange(width, device=values.device)
        rows = row - views[:, :1]
        columns = torch.where(views[:, 2:] != 0, width - 1 - column, column) - views[:, 1:2]
        inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
        image = torch.arange(count, device=values.device)[:, None, None]
        taken = values.permute(0, 2, 3, 1)[image, rows.clamp(0, height - 1)[:, :, None], columns.clamp(0, width - 1)[:, None, :]]
        taken = taken.permute(0, 3, 1, 2)
        taken = torch.where(inside[:, None], taken, self.fill.to(taken.dtype))
        return taken if self.channels_last else taken.contiguous()
