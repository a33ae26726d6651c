import CountersignEncoding
import CountersignMessages

/// Answer of a call: one JSON object, `{}` at least.
///
/// Clients test the presence of fields, so a writer leaves out what is not so: a `nil` puts nothing.
struct CallAnswer: Sendable {
  static let contentType = "application/json; charset=utf-8"

  /// Seconds for which anyone may cache the answer. `nil`: no one may.
  var maxAge: Int?
  private var fields = JSONObjectWriter()
  private var body: [UInt8]?

  init() {}

  /// - Parameter kind: one of ``AnswerKind``.
  init(kind: String) { put("kind", kind) }

  init(_ reply: some MessageBody) throws(ProtocolError) {
    do { body = try reply.json() } catch { throw .internalError }
  }

  var json: [UInt8] { body ?? fields.finished() }

  mutating func put(_ name: String, _ text: String?) {
    if let text { fields.put(named: name, text) }
  }

  mutating func put(_ name: String, _ flag: Bool) { fields.put(named: name, literal: "\(flag)") }

  /// Leaves out `false`.
  mutating func put(_ name: String, ifSo flag: Bool?) {
    if flag == true { put(name, true) }
  }

  mutating func put(_ name: String, number: Int?) {
    if let number { fields.put(named: name, literal: "\(number)") }
  }

  /// Puts a number as text, as the protocol has int64.
  mutating func put(_ name: String, asText number: (some BinaryInteger & LosslessStringConvertible)?) {
    if let number { put(name, String(number)) }
  }

  mutating func put(_ name: String, object: CallAnswer?) {
    if let object { fields.put(named: name, object: object.json) }
  }

  mutating func put(_ name: String, objects: [CallAnswer], evenIfEmpty: Bool = false) {
    if !objects.isEmpty || evenIfEmpty { fields.put(named: name, list: objects.map(\.json)) }
  }

  mutating func put(_ name: String, texts: [String]) {
    if !texts.isEmpty { fields.put(named: name, texts: texts) }
  }
}
