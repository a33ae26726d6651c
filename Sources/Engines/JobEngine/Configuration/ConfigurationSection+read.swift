public import ServiceRuntime

extension ConfigurationSection {
  /// Reads what a key names together with the configuration, so that `--check` finds its problem.
  ///
  /// - Parameters:
  ///   - key: key that the problem is reported for.
  ///   - value: reads it.
  /// - Returns: the value; `nil` with a problem.
  public func read<Value>(_ key: String, _ value: @autoclosure () throws(WorkerError) -> Value) -> Value? {
    do { return try value() } catch {
      problem(key, error.message)
      return nil
    }
  }
}
