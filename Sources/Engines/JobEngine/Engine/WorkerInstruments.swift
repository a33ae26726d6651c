public import CountersignAMQP
public import CountersignTelemetry
public import ServiceRuntime

/// The two ends of a worker at the broker.
public struct WorkerBroker: Sendable {
  /// Source of the jobs.
  public var source: any MessageSource
  /// Publisher of results, retries and dead letters.
  public var sink: any MessageSink

  public init(source: any MessageSource, sink: any MessageSink) {
    self.source = source
    self.sink = sink
  }
}

/// Clocks, logger and metrics of a worker.
public struct WorkerInstruments: Sendable {
  /// The time of day, and monotonic time.
  public var clocks: Clocks
  /// Logger of the worker.
  public var logger: Logger
  /// Registry of its metrics.
  public var metrics: MetricsRegistry

  public init(clocks: Clocks = .system, logger: Logger, metrics: MetricsRegistry) {
    self.clocks = clocks
    self.logger = logger
    self.metrics = metrics
  }

  /// Those of a process.
  public init(_ context: ServiceContext) {
    self.init(clocks: context.clocks, logger: context.logger, metrics: context.metrics)
  }
}
