"""CUDA back end: CUDA text to cubins and functions, through NVRTC and the driver."""
