package import CountersignEncoding
import FoundationEssentials

/// JSON of bodies: compact, slashes unescaped, keys in any order.
enum ContractJSON {
  // Shared by the process: both are safe to share, and creating one costs as much as reading a small body.
  private static let reader = JSONReader(maxBytes: MessageLimits.maxBodyBytes)
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    return encoder
  }()

  static func decode<Body: Decodable>(_ type: Body.Type, from json: [UInt8]) throws(ContractProblem) -> Body {
    do {
      return try reader.decode(type, from: json)
    } catch {
      throw ContractProblem(error)
    }
  }

  /// Decodes a body, without the decoder if it is plain.
  static func decode<Body: Decodable>(
    _ type: Body.Type, from json: [UInt8], plain read: (PlainJSON) -> Body?
  ) throws(ContractProblem) -> Body {
    if let plain = PlainJSON(json), let body = read(plain) { return body }
    return try decode(type, from: json)
  }

  static func encode(_ body: some Encodable) throws(ContractProblem) -> [UInt8] {
    let json: Data
    do {
      json = try encoder.encode(body)
    } catch {
      throw ContractProblem(.invalidField, "the body holds a value that JSON cannot express")
    }
    guard json.count <= MessageLimits.maxBodyBytes else { throw tooLarge }
    return Array(json)
  }

  static var tooLarge: ContractProblem {
    ContractProblem(.bodyTooLarge, "the body is larger than \(MessageLimits.maxBodyBytes) bytes")
  }
}

/// Name of a field that is known at run time only.
struct FieldName: CodingKey {
  let stringValue: String

  init(_ name: String) {
    stringValue = name
  }

  init(stringValue: String) {
    self.init(stringValue)
  }

  var intValue: Int? { nil }

  init?(intValue: Int) { nil }
}

extension PlainJSON {
  /// - Parameter json: a body in UTF-8.
  /// - Returns: `nil` when it is not an object, or not a plain one.
  package init?(_ json: [UInt8]) {
    self.init(json, maxBytes: MessageLimits.maxBodyBytes)
  }
}
