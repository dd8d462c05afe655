"""CUDA text to cubins and functions: NVRTC, the driver, the GPUs of this machine."""
