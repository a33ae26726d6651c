import Messages
import Telemetry

/// Writes the body of a result without an encoder: `JSONEncoder` takes a tenth of all the time that a job costs.
///
/// What it writes is what `JobResult` reads; a test holds the two together.
struct ResultText {
  private(set) var bytes: [UInt8]

  /// - Parameter result: What is written. Extras with the name of a field of the result itself are left out, and so are
  ///   numbers that JSON does not have.
  init(_ result: JobResult) {
    bytes = []
    bytes.reserveCapacity(Self.usualSize)
    bytes.append(UInt8(ascii: "{"))
    field("jobID", result.jobID)
    field("outcome", result.outcome.rawValue)
    if let lane = result.lane { field("lane", lane) }
    if let reference = result.reference { field("reference", reference) }
    if let reason = result.reason { field("reason", reason) }
    field("attempts", result.attempts)
    field("startedAt", result.startedAt.rfc3339)
    field("finishedAt", result.finishedAt.rfc3339)
    for (name, value) in result.extras where !Self.names.contains(name) { field(name, value) }
    bytes.append(UInt8(ascii: "}"))
  }

  /// More than most results need.
  private static let usualSize = 512
  private static let names: Set<String> = [
    "jobID", "outcome", "lane", "reference", "reason", "attempts", "startedAt", "finishedAt",
  ]

  private mutating func field(_ name: String, _ value: JobResult.Value) {
    switch value {
    case .string(let text): field(name, text)
    case .int(let number): field(name, number)
    case .double(let number):
      guard number.isFinite else { return }
      key(name)
      bytes.append(contentsOf: number.description.utf8)
    case .bool(let flag):
      key(name)
      bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }
  }

  private mutating func field(_ name: String, _ text: String) {
    key(name)
    string(text)
  }

  private mutating func field(_ name: String, _ number: Int) {
    key(name)
    bytes.append(contentsOf: number.description.utf8)
  }

  private mutating func field(_ name: String, _ reason: JobResult.Reason) {
    key(name)
    bytes.append(UInt8(ascii: "{"))
    field("code", reason.code)
    if let detail = reason.detail { field("detail", detail) }
    if let providerCode = reason.providerCode { field("providerCode", providerCode) }
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func key(_ name: String) {
    if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
    string(name)
    bytes.append(UInt8(ascii: ":"))
  }

  /// RFC 8259, section 7: quotation mark, reverse solidus and control characters are escaped; everything else may stand.
  private mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
        bytes.append(Self.digits[Int(byte >> 4)])
        bytes.append(Self.digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
