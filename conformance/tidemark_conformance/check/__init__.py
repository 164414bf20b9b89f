"""The audit: one Spark job that judges whole traces with compiled kernels (`audit`), and trace generation
(`generate`)."""
