package import CountersignEncoding

// Written by hand because it runs several times for every message: `Date.ISO8601FormatStyle` takes either fractions or
// none, never both, and costs microseconds.

extension UnixTime {
  /// Reads an RFC 3339 date and time, `2026-07-01T12:30:00Z`, with or without a fraction, in UTC or with an offset.
  ///
  /// Digits after the third of the fraction are dropped. A leap second (`:60`) is read as the second that follows.
  /// - Returns: `nil` when the text is not an RFC 3339 date and time.
  public init?(rfc3339 text: String) {
    var text = text
    guard let milliseconds = text.withUTF8({ Self.milliseconds(rfc3339: $0) }) else { return nil }
    self.milliseconds = milliseconds
  }

  private static func milliseconds(rfc3339 bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    var reader = DigitReader(bytes)
    guard let year = reader.number(digits: 4), reader.skip("-"),
      let month = reader.number(digits: 2), reader.skip("-"),
      let day = reader.number(digits: 2), let date = CalendarDate(year: year, month: month, day: day),
      reader.skip("T") || reader.skip("t") || reader.skip(" "),
      let hour = reader.number(digits: 2), hour <= 23, reader.skip(":"),
      let minute = reader.number(digits: 2), minute <= 59, reader.skip(":"),
      let second = reader.number(digits: 2), second <= 60,
      let fraction = reader.fractionInMilliseconds(),
      let offset = reader.offsetInMinutes(), reader.isAtEnd
    else { return nil }
    let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
    return Int64((minutes * 60 + second) * 1000 + fraction)
  }

  /// The time as RFC 3339 in UTC, `2026-07-01T12:30:00Z`. Milliseconds are written when there are some.
  ///
  /// Years outside 0…9999, which RFC 3339 cannot write, are written as the nearest time it can.
  public var rfc3339: String {
    text(alwaysWithMilliseconds: false)
  }

  /// The time as RFC 3339 in UTC, always with three digits of milliseconds, so that lines of a log stay aligned.
  public var rfc3339WithMilliseconds: String {
    text(alwaysWithMilliseconds: true)
  }

  private func text(alwaysWithMilliseconds: Bool) -> String {
    let bounded = min(max(milliseconds, Self.yearZero), Self.endOfYear9999)
    let day = bounded >= 0 ? bounded / 86_400_000 : (bounded - 86_399_999) / 86_400_000
    let ofDay = Int(bounded - day * 86_400_000)
    let date = CalendarDate(daysSince1970: Int(day))
    let fraction = ofDay % 1000
    let hasFraction = alwaysWithMilliseconds || fraction != 0
    return String(unsafeUninitializedCapacity: 24) { buffer in
      var writer = DigitWriter(buffer)
      writer.write(date.year, digits: 4, then: "-")
      writer.write(date.month, digits: 2, then: "-")
      writer.write(date.day, digits: 2, then: "T")
      writer.write(ofDay / 3_600_000, digits: 2, then: ":")
      writer.write(ofDay / 60_000 % 60, digits: 2, then: ":")
      writer.write(ofDay / 1000 % 60, digits: 2, then: hasFraction ? "." : "Z")
      if hasFraction { writer.write(fraction, digits: 3, then: "Z") }
      return writer.count
    }
  }

  private static let yearZero: Int64 = -62_167_219_200_000
  private static let endOfYear9999: Int64 = 253_402_300_799_999
}

private struct DigitReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  mutating func digit() -> Int? {
    guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else { return nil }
    defer { position += 1 }
    return Int(bytes[position]) - 0x30
  }

  mutating func number(digits: Int) -> Int? {
    var value = 0
    for _ in 0..<digits {
      guard let next = digit() else { return nil }
      value = value * 10 + next
    }
    return value
  }

  /// An optional `.` and at least one digit. Zero when there is no dot.
  mutating func fractionInMilliseconds() -> Int? {
    guard skip(".") else { return 0 }
    guard let first = digit() else { return nil }
    var value = first * 100
    var unit = 10
    while let next = digit() {
      value += next * unit
      unit /= 10
    }
    return value
  }

  mutating func offsetInMinutes() -> Int? {
    if skip("Z") || skip("z") { return 0 }
    let isNegative = skip("-")
    guard isNegative || skip("+"), let hours = number(digits: 2), hours <= 23, skip(":"),
      let minutes = number(digits: 2), minutes <= 59
    else { return nil }
    return isNegative ? -(hours * 60 + minutes) : hours * 60 + minutes
  }
}

private struct DigitWriter {
  private let buffer: UnsafeMutableBufferPointer<UInt8>
  private(set) var count = 0

  init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
    self.buffer = buffer
  }

  mutating func write(_ value: Int, digits: Int, then separator: Unicode.Scalar) {
    var rest = value
    for position in stride(from: count + digits - 1, through: count, by: -1) {
      buffer[position] = UInt8(0x30 + rest % 10)
      rest /= 10
    }
    count += digits
    buffer[count] = UInt8(truncatingIfNeeded: separator.value)
    count += 1
  }
}

extension JSONObjectWriter {
  package mutating func put(_ name: StaticString, _ value: UnixTime) {
    put(name, value.rfc3339)
  }
}

extension UnixTime: CustomStringConvertible {
  public var description: String { rfc3339 }
}

extension UnixTime: Codable {
  /// Decodes RFC 3339 text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let time = UnixTime(rfc3339: text) else {
      throw ValueProblem("must be an RFC 3339 date and time such as 2026-07-01T12:30:00Z")
        .decodingError(at: decoder.codingPath)
    }
    self = time
  }

  /// Encodes RFC 3339 text in UTC.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rfc3339)
  }
}
