public import CountersignTelemetry

/// Ends of the certificates that a process meets at its connections. A connection that holds keeps the end of its
/// beginning, so the latest of all processes counts.
public enum CertificateMetric {
  /// A gauge for each certificate, by its use and the server it is shown at or by.
  public static func gauge(in metrics: MetricsRegistry) -> MetricFamily<Gauge> {
    metrics.gauge(
      "countersign_certificate_expires_seconds",
      "End of a certificate, as of the latest connection with it, seconds since 1970.", labels: ["certificate", "host"])
  }
}
