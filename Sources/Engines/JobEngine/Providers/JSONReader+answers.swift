public import CountersignEncoding

extension JSONReader {
  /// Reads the answers of providers; as long as the longest that the transport takes unless told otherwise.
  public static let answers = JSONReader(maxBytes: 1 << 20)
}
