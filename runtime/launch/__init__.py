"""Launch of kernels: plans, temporaries, runners."""
