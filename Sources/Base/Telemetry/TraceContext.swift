import CountersignEncoding

/// The `traceparent` of W3C Trace Context, level 1: which trace a message belongs to, and which step of it sent it.
public struct TraceContext: Sendable, Hashable {
  private let traceHigh: UInt64
  private let traceLow: UInt64
  private let parent: UInt64
  private let flags: UInt8

  /// Reads a `traceparent`, `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`.
  ///
  /// As section 3.2 of the recommendation demands, a later version is read by the fields of version 00, and upper case,
  /// version `ff` and all-zero IDs are refused.
  /// - Returns: `nil` when it is not valid; the trace then starts anew.
  public init?(traceparent: String) {
    let bytes = Array(traceparent.utf8)
    guard bytes.count >= Self.length, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
      let version = Self.number(bytes[0..<2]), version != 0xFF,
      version == 0 ? bytes.count == Self.length : bytes.count == Self.length || bytes[55] == UInt8(ascii: "-"),
      let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high | low != 0,
      let parent = Self.number(bytes[36..<52]), parent != 0,
      let flags = Self.number(bytes[53..<55])
    else { return nil }
    self.init(traceHigh: high, traceLow: low, parent: parent, flags: UInt8(flags))
  }

  private init(traceHigh: UInt64, traceLow: UInt64, parent: UInt64, flags: UInt8) {
    self.traceHigh = traceHigh
    self.traceLow = traceLow
    self.parent = parent
    self.flags = flags
  }

  /// Starts a trace.
  /// - Parameter isSampled: whether the sender asks that it be recorded.
  public static func root(
    isSampled: Bool = true, using generator: inout some RandomNumberGenerator
  ) -> TraceContext {
    TraceContext(
      traceHigh: generator.next(), traceLow: nonZero(&generator), parent: nonZero(&generator), flags: isSampled ? 1 : 0)
  }

  /// Starts a trace with the system's random numbers.
  public static func root(isSampled: Bool = true) -> TraceContext {
    var generator = SystemRandomNumberGenerator()
    return root(isSampled: isSampled, using: &generator)
  }

  /// The next step of the same trace.
  public func child(using generator: inout some RandomNumberGenerator) -> TraceContext {
    // Of the flags only `sampled` (bit 0) is defined; the others must be sent as zero (section 3.2.2.5).
    TraceContext(traceHigh: traceHigh, traceLow: traceLow, parent: Self.nonZero(&generator), flags: flags & 1)
  }

  /// The next step of the same trace, with the system's random numbers.
  public func child() -> TraceContext {
    var generator = SystemRandomNumberGenerator()
    return child(using: &generator)
  }

  /// Whether the sender may have recorded the trace.
  public var isSampled: Bool { flags & 1 == 1 }

  /// The trace's ID: 32 lower-case hexadecimal digits.
  public var traceID: String { Hexadecimal.text(traceHigh, width: 16) + Hexadecimal.text(traceLow, width: 16) }

  /// The ID of the step that sent the message: 16 lower-case hexadecimal digits.
  public var parentID: String { Hexadecimal.text(parent, width: 16) }

  /// The header's value.
  public var traceparent: String {
    "00-\(traceID)-\(parentID)-\(isSampled ? "01" : "00")"
  }

  private static let length = 55

  private static func nonZero(_ generator: inout some RandomNumberGenerator) -> UInt64 {
    UInt64.random(in: 1...UInt64.max, using: &generator)
  }

  /// The number that lower-case digits stand for.
  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      guard let value = Hexadecimal.value(of: digit), !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit) else {
        return nil
      }
      number = number << 4 | UInt64(value)
    }
    return number
  }
}

extension TraceContext: CustomStringConvertible {
  public var description: String { traceparent }
}
