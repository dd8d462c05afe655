"""Halide's Target: a machine by operating system, architecture and features, as one of our targets."""

from __future__ import annotations

import platform
import struct
from collections.abc import Sequence
from enum import Enum
from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.types import Type

TargetOS = Enum("TargetOS", "OSUnknown Android IOS Linux NoOS OSX QuRT Windows wasmrt")
TargetArch = Enum("TargetArch", "ArchUnknown ARM Hexagon POWERPC RISCV WebAssembly X86")

_OS = {"linux": TargetOS.Linux, "osx": TargetOS.OSX, "windows": TargetOS.Windows, "os_unknown": TargetOS.OSUnknown}
_ARCH = {"x86": TargetArch.X86, "arm": TargetArch.ARM, "arch_unknown": TargetArch.ArchUnknown}


class _AnyFeature(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls(name)


class TargetFeature(metaclass=_AnyFeature):
    """A feature by Halide's name: `TargetFeature.CUDA`. All names are taken; those that say GPU mean something here."""

    def __init__(self, name: str):
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetFeature) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return f"TargetFeature.{self.name}"


_GPUS = frozenset("cuda opencl metal vulkan webgpu d3d12compute".split())


class Target:
    """Where to run: `Target("host")`, `Target("host-cuda")`, or by operating system, architecture, bits, features.

    With CUDA among its features it means our target `cuda`, without a GPU's `cpu`; `Target()` means `auto`.
    """

    def __init__(self, *args: Any):
        self._features: set[TargetFeature] = set()
        self.os, self.arch, self.bits = TargetOS.OSUnknown, TargetArch.ArchUnknown, 0
        if len(args) == 1 and isinstance(args[0], str):
            self._parse(args[0])
        elif args:
            self.os, self.arch, self.bits = args[0], args[1], int(args[2])
            features = args[-1] if isinstance(args[-1], list | tuple) else ()
            self._features.update(features)

    def _parse(self, text: str) -> None:
        for part in filter(None, text.lower().split("-")):
            if part == "host":
                host = get_host_target()
                self.os, self.arch, self.bits = host.os, host.arch, host.bits
            elif part in _OS:
                self.os = _OS[part]
            elif part in _ARCH:
                self.arch = _ARCH[part]
            elif part.isdecimal():
                self.bits = int(part)
            else:
                self._features.add(TargetFeature(part))

    def name(self) -> str:
        """The name of our target that it means."""
        if self.has_feature(TargetFeature.CUDA):
            return "cuda"
        if self.has_gpu_feature():
            fail(f"the target {self.to_string()} asks for a GPU that is not NVIDIA's; there is CUDA")
        return "auto" if self.arch is TargetArch.ArchUnknown else "cpu"

    def has_feature(self, feature: TargetFeature) -> bool:
        """Whether it has a feature."""
        return feature in self._features

    def features_any_of(self, features: Sequence[TargetFeature]) -> bool:
        """Whether it has one of them."""
        return any(f in self._features for f in features)

    def features_all_of(self, features: Sequence[TargetFeature]) -> bool:
        """Whether it has all of them."""
        return all(f in self._features for f in features)

    def has_gpu_feature(self) -> bool:
        """Whether it has a GPU."""
        return any(f.name.lower() in _GPUS for f in self._features)

    def set_feature(self, feature: TargetFeature, value: bool = True) -> None:
        """Give it a feature, or take it."""
        (self._features.add if value else self._features.discard)(feature)

    def set_features(self, features: Sequence[TargetFeature], value: bool = True) -> None:
        """Give it features, or take them."""
        for feature in features:
            self.set_feature(feature, value)

    def with_feature(self, feature: TargetFeature) -> Target:
        """Return the target with a feature more."""
        made = Target(self.os, self.arch, self.bits, list(self._features))
        made.set_feature(feature)
        return made

    def without_feature(self, feature: TargetFeature) -> Target:
        """Return the target without a feature."""
        made = Target(self.os, self.arch, self.bits, list(self._features))
        made.set_feature(feature, False)
        return made

    def natural_vector_size(self, type: Type) -> int:
        """How many values of a type 16 bytes hold; schedules are found without asking it."""
        return max(1, 16 // type.bytes())

    def supports_type(self, type: Type) -> bool:
        """Always true: all types are on all targets."""
        return isinstance(type, Type)

    def supported(self) -> bool:
        """Whether it can be compiled for: any CPU, and NVIDIA's GPUs."""
        return self.has_feature(TargetFeature.CUDA) or not self.has_gpu_feature()

    def to_string(self) -> str:
        """As Halide writes it: `x86-64-linux-cuda`."""
        arch = next(name for name, arch in _ARCH.items() if arch is self.arch) if self.arch in _ARCH.values() else None
        system = next((name for name, os in _OS.items() if os is self.os), self.os.name.lower())
        features = sorted(f.name.lower() for f in self._features)
        return "-".join([arch or self.arch.name.lower(), str(self.bits), system, *features])

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"<tilefuse.Target {self.to_string()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())


def target_name(target: Any) -> Any:
    """Our name of a Target; what is none as it is."""
    return target.name() if isinstance(target, Target) else target


def get_host_target() -> Target:
    """This machine's CPU."""
    system = {"Linux": TargetOS.Linux, "Darwin": TargetOS.OSX, "Windows": TargetOS.Windows}
    machine = platform.machine().lower()
    arch = TargetArch.ARM if machine.startswith(("arm", "aarch")) else TargetArch.X86
    return Target(system.get(platform.system(), TargetOS.OSUnknown), arch, 8 * struct.calcsize("P"))


def get_jit_target_from_environment() -> Target:
    """This machine's CPU: no variable of the environment is read."""
    return get_host_target()


def get_target_from_environment() -> Target:
    """This machine's CPU: no variable of the environment is read."""
    return get_host_target()


def host_supports_target_device(target: Target) -> bool:
    """Whether this machine has the GPU of a target."""
    from tilefuse.runtime.backend import find_backend  # late: the runtime is above the language

    try:
        return find_backend(target.name()).name == "cuda" or not target.has_gpu_feature()
    except RuntimeError:
        return False


__all__ = [
    "Target", "TargetArch", "TargetFeature", "TargetOS", "get_host_target", "get_jit_target_from_environment",
    "get_target_from_environment", "host_supports_target_device",
]  # fmt: skip
