"""Two kernels, or two settings of one, measured on one campaign and compared run by run."""
