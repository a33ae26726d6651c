public import PostgreSQL

extension WorkerError {
  /// - Parameters:
  ///   - code: kind of error, unless the tables have to be made first.
  ///   - place: the key of the configuration that it is about.
  ///   - error: the failure.
  public init(_ code: Code, _ place: String, _ error: PostgreSQLError) {
    self.init(error.code == .missingRelation ? .tablesMissing : code, "\(place): \(error.description)")
  }
}
