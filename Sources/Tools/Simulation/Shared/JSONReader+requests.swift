import CountersignEncoding

extension JSONReader {
  /// Reads the bodies and tokens of requests, and files with keys.
  static let requests = JSONReader(maxBytes: Simulator.maxBodyBytes)
}
