import CountersignTelemetry

struct NoLog: LogSink {
  func write(_ event: LogEvent) {}
}
