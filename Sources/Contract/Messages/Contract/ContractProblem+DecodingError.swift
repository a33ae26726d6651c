import CountersignEncoding
import CountersignTelemetry

extension ContractProblem {
  init(_ error: any Error) {
    if let refusal = error as? JSONRefusal {
      self = Self.problem(refusal)
      return
    }
    guard let error = error as? DecodingError else {
      self.init(.invalidField, "the body cannot be read")
      return
    }
    switch error {
    case .keyNotFound(let key, let context):
      self.init(.missingField, field: Self.path(context.codingPath + [key]), "is missing")
    case .valueNotFound(_, let context):
      self.init(.missingField, field: Self.path(context.codingPath), "is null")
    case .typeMismatch(let type, let context):
      self.init(at: context.codingPath, "must be \(Self.name(ofType: type))")
    case .dataCorrupted(let context):
      // Only the texts of our own decoders are shown: those of the library may repeat the value.
      if let problem = context.underlyingError as? ValueProblem {
        self.init(at: context.codingPath, problem.description)
      } else if context.codingPath.isEmpty {
        self.init(.notJSON, "the body has a number out of range")
      } else {
        self.init(at: context.codingPath, "has a value that is not allowed")
      }
    @unknown default:
      self.init(.invalidField, "the body cannot be read")
    }
  }

  private static func problem(_ refusal: JSONRefusal) -> ContractProblem {
    if case .tooLarge = refusal { return ContractJSON.tooLarge }
    return ContractProblem(.notJSON, "the body \(refusal)")
  }

  private init(at path: [any CodingKey], _ detail: String) {
    if path.isEmpty {
      self.init(.notJSON, "the body \(detail)")
    } else {
      self.init(.invalidField, field: Self.path(path), detail)
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    var path = ""
    for key in keys {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        // The keys of a dictionary come from the message, so they are cut.
        path += (path.isEmpty ? "" : ".") + key.stringValue.cut(toBytes: maxKeyBytes)
      }
    }
    return path
  }

  private static let maxKeyBytes = 64

  private static func name(ofType type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case is any BinaryInteger.Type: "a whole number"
    case is any BinaryFloatingPoint.Type: "a number"
    case is any Sequence.Type where !(type is any ExpressibleByDictionaryLiteral.Type): "an array"
    default: "an object"
    }
  }
}
