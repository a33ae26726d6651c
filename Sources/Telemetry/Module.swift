/// Logs, metrics, trace context, redaction.
