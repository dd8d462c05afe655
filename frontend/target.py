"""Halide's Target (operating system, architecture, features), mapped to a target of tilefuse."""

from __future__ import annotations

import platform
import struct
from collections.abc import Sequence
from typing import Any

from tilefuse.frontend.errors import KindError, fail, in_halide
from tilefuse.frontend.schedule import DeviceAPI
from tilefuse.frontend.target_features import (
    ARCH_TEXTS,
    FEATURE_TEXTS,
    OS_TEXTS,
    TargetArch,
    TargetFeature,
    TargetOS,
)
from tilefuse.frontend.types import Type

_FEATURE_OF: dict[DeviceAPI, TargetFeature] = {
    DeviceAPI.CUDA: TargetFeature["CUDA"],
    DeviceAPI.Hexagon: TargetFeature["HVX_128"],
    DeviceAPI.Metal: TargetFeature["Metal"],
    DeviceAPI.OpenCL: TargetFeature["OpenCL"],
    DeviceAPI.Vulkan: TargetFeature["Vulkan"],
}
_GPUS = frozenset(
    (
        *(TargetFeature["CUDA"], TargetFeature["OpenCL"], TargetFeature["Metal"], TargetFeature["Vulkan"]),
        *(TargetFeature["WebGPU"], TargetFeature["D3D12Compute"]),
    )
)
_NO_64_BITS = (TargetFeature["Metal"], TargetFeature["D3D12Compute"], TargetFeature["WebGPU"])


class Target:
    """A machine: `Target("host")`, `Target("host-cuda")`, or by operating system, architecture, bits, features.

    With CUDA among its features it means our target `cuda`, without a GPU's `cpu`; `Target()` means `auto`.
    """

    def __init__(self, *args: Any):
        self._features: set[TargetFeature] = set()
        self._tune = ""
        self.os, self.arch, self.bits = TargetOS.OSUnknown, TargetArch.ArchUnknown, 0
        if len(args) == 1 and isinstance(args[0], str):
            if (wrong := self._parse(args[0])) is not None:
                fail(
                    f"'{args[0]}' is no target: {wrong}; a target is written arch-bits-os-feature-feature... or "
                    f"host-feature-feature..." + in_halide(f"Did not understand Halide target {args[0]}")
                )
        elif args:
            self.os, self.arch, self.bits = args[0], args[1], int(args[2])
            self.set_features(args[-1] if isinstance(args[-1], list | tuple) else ())

    def _parse(self, text: str) -> str | None:
        """Add the features named in a text; return a message if it is invalid, or None."""
        parts = text.lower().split("-") if text else ["host"]
        for number, part in enumerate(parts):
            if part == "host" and number == 0:
                host = get_host_target()
                self.os, self.arch, self.bits = host.os, host.arch, host.bits
            elif part in OS_TEXTS:
                self.os = OS_TEXTS[part]
            elif part in ARCH_TEXTS:
                self.arch = ARCH_TEXTS[part]
            elif part in ("32", "64"):
                self.bits = int(part)
            elif part.startswith("tune_"):
                self._tune = part
            elif part in FEATURE_TEXTS:
                self._features.add(FEATURE_TEXTS[part])
            else:
                return f"nothing is called '{part}' in this place"
        known = self.os is not TargetOS.OSUnknown and self.arch is not TargetArch.ArchUnknown and self.bits
        return None if known else "it leaves the architecture, the bits or the operating system open"

    @staticmethod
    def validate_target_string(text: str) -> bool:
        """Whether a text describes a complete target."""
        return bool(text) and Target()._parse(text) is None

    def name(self) -> str:
        """Return the tilefuse target that it means."""
        if self.has_feature(TargetFeature["CUDA"]):
            return "cuda"
        if self.has_gpu_feature():
            fail(f"the target {self.to_string()} asks for a GPU that is not NVIDIA's; there is CUDA")
        return "auto" if self.arch is TargetArch.ArchUnknown else "cpu"

    def has_feature(self, feature: TargetFeature) -> bool:
        """Whether the target has a feature."""
        return feature in self._features

    def features_any_of(self, features: Sequence[TargetFeature]) -> bool:
        """Whether the target has one of the features."""
        return any(f in self._features for f in features)

    def features_all_of(self, features: Sequence[TargetFeature]) -> bool:
        """Whether the target has all of the features."""
        return all(f in self._features for f in features)

    def has_gpu_feature(self) -> bool:
        """Whether the target has a GPU."""
        return not _GPUS.isdisjoint(self._features)

    def set_feature(self, feature: TargetFeature, value: bool = True) -> None:
        """Add or remove a feature."""
        if not isinstance(feature, TargetFeature):
            words = f"incompatible constructor arguments: {feature!r} is no TargetFeature"
            fail(f"Target: {words}", kind=KindError)
        (self._features.add if value else self._features.discard)(feature)

    def set_features(self, features: Sequence[TargetFeature], value: bool = True) -> None:
        """Add or remove features."""
        for feature in features:
            self.set_feature(feature, value)

    def with_feature(self, feature: TargetFeature) -> Target:
        """Return the target with one more feature."""
        made = Target(self.os, self.arch, self.bits, list(self._features))
        made.set_feature(feature)
        return made

    def without_feature(self, feature: TargetFeature) -> Target:
        """Return the target without a feature."""
        made = Target(self.os, self.arch, self.bits, list(self._features))
        made.set_feature(feature, False)
        return made

    def natural_vector_size(self, type: Type) -> int:
        """Return the number of values of a type that fill a vector register; it does not influence schedules."""
        has = self._features.__contains__
        size = 16
        if (
            has(TargetFeature["AVX2"])
            or has(TargetFeature["AVX512"])
            or (has(TargetFeature["AVX"]) and type.is_float())
        ):
            size = 32
        if has(TargetFeature["AVX512_Skylake"]) or has(TargetFeature["AVX512_Cannonlake"]):
            size = 64
        if has(TargetFeature["AVX512"]) and type.bits() >= 32:
            size = 64
        return max(1, size // type.bytes())

    def supports_type(self, type: Type, device: DeviceAPI | None = None) -> bool:
        """Whether values of a type can be computed on its device, or on one of its devices."""
        on = self if device is None else Target().with_feature(target_feature_for_device_api(device))
        if type.bits() != 64:
            return True
        if (
            type.is_float()
            and on.has_feature(TargetFeature["OpenCL"])
            and not self.has_feature(TargetFeature["CLDoubles"])
        ):
            return False
        return not on.features_any_of(_NO_64_BITS)

    def supports_device_api(self, device: DeviceAPI) -> bool:
        """Whether the target has a device."""
        if device in (DeviceAPI["None"], DeviceAPI.Host):
            return True
        if device is DeviceAPI.Default_GPU:
            return self.has_gpu_feature()
        return self.has_feature(target_feature_for_device_api(device))

    def has_large_buffers(self) -> bool:
        """Whether Buffers may have more than 2^31 - 1 values."""
        return self.bits == 64 and self.has_feature(TargetFeature["LargeBuffers"])

    def maximum_buffer_size(self) -> int:
        """Return the largest size of a Buffer in bytes."""
        return 2**63 - 1 if self.has_large_buffers() else 2**31 - 1

    def supported(self) -> bool:
        """Whether programs can be compiled for the target: any CPU, and NVIDIA's GPUs."""
        return self.has_feature(TargetFeature["CUDA"]) or not self.has_gpu_feature()

    def to_string(self) -> str:
        """Return Halide's text of it: `x86-64-linux-cuda`."""
        arch = next(text for text, arch in ARCH_TEXTS.items() if arch is self.arch)
        system = next(text for text, os in OS_TEXTS.items() if os is self.os)
        tune = [self._tune] if self._tune else []
        return "-".join([arch, str(self.bits), system, *tune, *sorted(f.value for f in self._features)])

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"<halide.Target {self.to_string()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())


def target_name(target: Any) -> Any:
    """Return the tilefuse name of a Target; any other object is returned unchanged."""
    return target.name() if isinstance(target, Target) else target


def get_host_target() -> Target:
    """Return this machine's CPU."""
    system = {"Linux": TargetOS.Linux, "Darwin": TargetOS.OSX, "Windows": TargetOS.Windows}
    machine = platform.machine().lower()
    arch = TargetArch.ARM if machine.startswith(("arm", "aarch")) else TargetArch.X86
    return Target(system.get(platform.system(), TargetOS.OSUnknown), arch, 8 * struct.calcsize("P"))


def get_jit_target_from_environment() -> Target:
    """Return this machine's CPU; no environment variable is read."""
    return get_host_target()


def get_target_from_environment() -> Target:
    """Return this machine's CPU; no environment variable is read."""
    return get_host_target()


def host_supports_target_device(target: Target) -> bool:
    """Whether this machine has the GPU of a target."""
    from tilefuse.runtime.compile.backend import find_backend

    if target.has_gpu_feature() and not target.has_feature(TargetFeature["CUDA"]):
        return False
    try:
        return find_backend(target.name()).name == "cuda" or not target.has_gpu_feature()
    except RuntimeError:
        return False


def target_feature_for_device_api(device: DeviceAPI) -> TargetFeature:
    """Return the feature of targets that have a device; `FeatureEnd` if there is none."""
    return _FEATURE_OF.get(device, TargetFeature["FeatureEnd"])


__all__ = [
    "Target", "TargetArch", "TargetFeature", "TargetOS", "get_host_target", "get_jit_target_from_environment",
    "get_target_from_environment", "host_supports_target_device", "target_feature_for_device_api",
]  # fmt: skip
