import CountersignMessages
import CountersignTelemetry
import HTTPServer

/// Fields of a call about a verification, which has those of the contract and no others.
struct VerificationFields: Sendable {
  static let start: Set<String> = ["phoneNumber", "app", "region", "languageCode", "client"]
  static let check: Set<String> = ["code", "app", "client"]
  static let client: Set<String> = ["ip", "userAgent", "instance"]

  /// Maximum bytes of a text: a user agent, the longest, is cut to as many when the gateway itself reads one.
  private static let maxBytes = CallLimits.maxUserAgentBytes

  private let body: CallBody
  private let verification: String?

  /// - Parameter names: fields that the call has. No call has parameters in its query.
  init(_ call: Call, _ names: Set<String>) throws(ProtocolError) {
    try call.query.require(only: [])
    try call.body.require(only: names)
    body = call.body
    verification = call.variables["verification"]
  }

  /// ID of the verification that the path names.
  func verificationID() throws(ProtocolError) -> String {
    guard let verification, verification.utf8.count <= MessageLimits.maxShortStringBytes else {
      throw .unknownVerification
    }
    return verification
  }

  func required(_ name: String) throws(ProtocolError) -> String {
    guard let text = try text(name) else { throw .wrongField(name, "is missing") }
    return text
  }

  func text(_ name: String) throws(ProtocolError) -> String? { try Self.text(name, of: body) }

  func client() throws(ProtocolError) -> StartVerification.Client? {
    let object: CallBody?
    do { object = try body.object("client") } catch { throw .wrongField("client", "must be an object") }
    guard let client = object else { return nil }
    try client.require(only: Self.client)
    return StartVerification.Client(
      ip: try Self.text("ip", of: client), userAgent: try Self.text("userAgent", of: client),
      instance: try Self.text("instance", of: client, maxBytes: StartVerification.Client.maxInstanceBytes))
  }

  private static func text(
    _ name: String, of body: CallBody, maxBytes: Int = maxBytes
  ) throws(ProtocolError) -> String? {
    let place = body.place(of: name)
    let found: String?
    do { found = try body.anyText(name) } catch { throw .wrongField(place, "must be text") }
    guard let text = found else { return nil }
    guard (1...maxBytes).contains(text.utf8.count),
      !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
    else {
      throw .wrongField(place, "must have 1 to \(maxBytes) bytes, without control characters")
    }
    return text
  }
}

extension CallBody {
  /// Maximum bytes of a field's name that an error repeats.
  private static let maxNameBytes = 64

  /// Refuses fields that a call does not have, and those without a value. The error names one of them.
  func require(only known: Set<String>) throws(ProtocolError) {
    if let null = known.first(where: { names.contains($0) && !has($0) }) {
      throw .wrongField(place(of: null), "must not be null")
    }
    guard let unknown = names.subtracting(known).min() else { return }
    let isPrintable = unknown.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    throw .wrongField(
      place(of: isPrintable ? unknown.cut(toBytes: Self.maxNameBytes) : "?"), "is not a field of this call")
  }
}

/// The header field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a string of structured fields, in
/// quotes, or the same without them.
enum IdempotencyKey {
  private static let name = "Idempotency-Key"

  /// - Returns: the key, or `nil` without the field.
  static func text(of request: HTTPServerRequest) throws(ProtocolError) -> String? {
    let values = request.headers.all(name)
    guard let value = values.first else { return nil }
    let maxBytes = StartServiceVerification.maxIdempotencyKeyBytes
    guard values.count == 1, let key = unquoted(value), (1...maxBytes).contains(key.utf8.count),
      key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .wrongField(name, "must have 1 to \(maxBytes) printable characters of ASCII, once") }
    return key
  }

  /// RFC 9651, section 4.2.5. `nil` for a quote that stays open or an escape that there is not.
  private static func unquoted(_ value: String) -> String? {
    guard value.utf8.first == UInt8(ascii: "\"") else { return value }
    var key = ""
    var isEscaped = false
    for (index, character) in value.unicodeScalars.dropFirst().enumerated() {
      switch character {
      case "\"" where !isEscaped: return index + 2 == value.unicodeScalars.count ? key : nil
      case "\\" where !isEscaped: isEscaped = true
      case _ where isEscaped && character != "\"" && character != "\\": return nil
      default:
        key.unicodeScalars.append(character)
        isEscaped = false
      }
    }
    return nil
  }
}
