"""Where tensors live. In: a device that somebody names. Out: its name in the settings, or an error that says which exist.

A process computes on one device, the setting DEVICE; so a device given by name is checked, not chosen.
"""

from __future__ import annotations

from ingot.errors import DeviceError
from ingot.settings import DEVICES, settings
from ingot.spelling import hint

_NAMES = frozenset(
    {"CPU", "CUDA", "GPU", "OPENCL", "HIP", "METAL", "PYTHON", "NULL"}
)


def is_device(word: object) -> bool:
    """The name of a device, here or elsewhere, with or without a number."""
    return isinstance(word, str) and _plain(word) in _NAMES


def _plain(device: object) -> str:
    return str(device).upper().split(":")[0]


def check_device(name: str, wanted: object) -> None:
    """`wanted` is None, or names the device that this process computes on."""
    if wanted is None:
        return
    here = settings.runtime.device
    if not is_device(wanted):
        raise DeviceError(
            f"{name}: there is no device {str(wanted)!r}",
            wanted="one of " + ", ".join(DEVICES),
            fix=hint(_plain(wanted), DEVICES) or f"leave device out: it is {here}",
        )
    if _plain(wanted) != here:
        raise DeviceError(
            f"{name}: tensors of this process live on {here}",
            given=f"device {str(wanted)!r}",
            wanted=repr(here),
            fix=f"leave device out, or start the program with DEVICE={_plain(wanted)}",
        )
