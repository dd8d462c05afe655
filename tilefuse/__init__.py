"""tilefuse: image pipelines to fused CUDA kernels, with no schedule written by hand."""
