/// A value that is stored as fields. A later version adds tags, and reads bodies without them.
public protocol FieldCoded {
  /// Names every field once, for both directions. A tag never changes its meaning.
  /// - Parameters:
  ///   - fields: fields that are written, or read.
  ///   - value: the value that is written. `nil` when one is read.
  /// - Throws: ``UnreadableFields`` when a field is absent or damaged.
  init(_ fields: inout FieldCoder, _ value: Self?) throws(UnreadableFields)
}

extension FieldCoded {
  /// Reads a value.
  public init(fields bytes: [UInt8]) throws(UnreadableFields) {
    var fields = try FieldCoder(reading: bytes)
    try self.init(&fields, nil)
  }

  /// The fields of the value.
  public func fields() throws(UnreadableFields) -> [UInt8] {
    var fields = FieldCoder(capacity: 128)
    _ = try Self(&fields, self)
    return fields.bytes
  }
}

/// Error of fields that cannot be read: they are damaged, or another version of the program wrote them.
public struct UnreadableFields: Error, Sendable, Hashable {
  public init() {}
}
