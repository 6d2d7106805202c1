"""User-mode kernels: finding, describing and building one."""
