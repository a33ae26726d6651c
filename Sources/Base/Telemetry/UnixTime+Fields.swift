public import CountersignEncoding

extension FieldCoder {
  /// A time, if it is there.
  public mutating func optional(_ tag: UInt8, _ time: UnixTime?) -> UnixTime? {
    self.optional(tag, time.map { Int($0.milliseconds) }).map { UnixTime(milliseconds: Int64($0)) }
  }

  /// A time.
  public mutating func required(_ tag: UInt8, _ time: UnixTime?) throws(UnreadableFields) -> UnixTime {
    try Self.present(optional(tag, time))
  }
}
