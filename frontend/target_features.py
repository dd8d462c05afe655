"""Parts of Halide's targets: operating systems, architectures and features, with their spellings."""

from __future__ import annotations

import re
from enum import Enum

TargetOS = Enum("TargetOS", "OSUnknown Android IOS Linux NoOS OSX QuRT Windows wasmrt")
TargetArch = Enum("TargetArch", "ArchUnknown ARM Hexagon POWERPC RISCV WebAssembly X86")

OS_TEXTS = {
    "os_unknown": TargetOS.OSUnknown, "android": TargetOS.Android, "ios": TargetOS.IOS, "linux": TargetOS.Linux,
    "noos": TargetOS.NoOS, "osx": TargetOS.OSX, "qurt": TargetOS.QuRT, "windows": TargetOS.Windows,
    "wasmrt": TargetOS.wasmrt,
}  # fmt: skip
ARCH_TEXTS = {
    "arch_unknown": TargetArch.ArchUnknown, "arm": TargetArch.ARM, "hexagon": TargetArch.Hexagon,
    "powerpc": TargetArch.POWERPC, "riscv": TargetArch.RISCV, "wasm": TargetArch.WebAssembly, "x86": TargetArch.X86,
}  # fmt: skip

_SPELT_AS_THEIR_NAMES = """ARMv7s ARMv81a ARMv82a ARMv83a ARMv84a ARMv85a ARMv86a ARMv87a ARMv88a ARMv89a ARMv8a ASAN
AVX AVX10_1 AVX2 AVX512 AVX512_Cannonlake AVX512_KNL AVX512_Skylake AVX512_Zen4 AVX512_Zen5 AVXVNNI CUDA
CheckUnsafePromises D3D12Compute Debug EGL EmbedBitcode EnableBacktraces F16C FMA FMA4 FuzzFloatStores HVX_128 HVX_v62
HVX_v65 HVX_v66 HVX_v68 HexagonDma JIT LargeBuffers MSAN Metal NoAsserts NoBoundsQuery NoNEON NoRuntime POWER_ARCH_2_07
Profile ProfileByTimer RVV SPIRV SSE41 SVE SVE2 SanitizerCoverage Semihosting Simulator SoftFloatABI StrictFloat TSAN
TraceLoads TracePipeline TraceRealizations TraceStores UserContext VSX Vulkan WasmBulkMemory WasmSimd128 WasmThreads
X86APX"""
_SPELT_OTHERWISE = {
    "ARMDotProd": "arm_dot_prod", "ARMFp16": "arm_fp16", "AVX512_SapphireRapids": "avx512_sapphirerapids",
    "CLAtomics64": "cl_atomics64", "CLDoubles": "cl_doubles", "CLHalf": "cl_half",
    "CPlusPlusMangling": "c_plus_plus_name_mangling", "EnableLLVMLoopOpt": "enable_llvm_loop_opt", "HVX": "hvx_128",
    "LLVMLargeCodeModel": "llvm_large_code_model", "OpenCL": "opencl", "WasmMvpOnly": "wasm_mvponly",
    "WebGPU": "webgpu",
    **{f"CUDACapability{n}": f"cuda_capability_{n}" for n in (30, 32, 35, 50, 61, 70, 75, 80, 86)},
    **{f"Vulkan{what}": f"vk_{what.lower()}" for what in "Float16 Float64 Int16 Int64 Int8 V10 V12 V13".split()},
}  # fmt: skip

TargetFeature = Enum(  # type: ignore[misc]
    "TargetFeature",
    {
        **{n: re.sub("(?<=[a-z])(?=[A-Z])", "_", n).lower() for n in _SPELT_AS_THEIR_NAMES.split()},
        **_SPELT_OTHERWISE,
        "FeatureEnd": "",
    },
)
"""Features; their values are how texts spell them. Those that say CUDA mean something here, all others are taken."""

FEATURE_TEXTS = {feature.value: feature for feature in TargetFeature if feature.value}
