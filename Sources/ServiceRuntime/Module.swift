/// Start, stop, configuration and health of a process.
