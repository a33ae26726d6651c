import CountersignEncoding
import FoundationEssentials

/// The JSON of bodies: compact, slashes not escaped, keys in no order.
enum ContractJSON {
  // One of each for the process: both are safe to share, and making one costs as much as reading a small body.
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
