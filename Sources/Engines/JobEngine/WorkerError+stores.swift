public import CountersignTelemetry

extension WorkerError {
  /// - Parameters:
  ///   - code: kind of error, unless the tables have to be made first.
  ///   - place: the key of the configuration that it is about.
  ///   - error: the failure.
  public init(_ code: Code, _ place: String, _ error: StoreError) {
    self.init(error.code == .schema ? .tablesMissing : code, "\(place): \(error.description)")
  }
}
