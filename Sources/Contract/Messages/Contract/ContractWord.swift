import CountersignTelemetry

/// Field with a closed set of words, all of which a receiver has to understand.
public protocol ContractWord: RawRepresentable, CaseIterable, Codable, Sendable, Hashable where RawValue == String {}

extension ContractWord {
  /// Reads one of the words.
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let value = Self(rawValue: text) else {
      let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValueProblem("must be one of \(words)").decodingError(at: decoder.codingPath)
    }
    self = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

/// Field with an open set of words: an unknown one is kept as it is, and does not make the message invalid.
public protocol OpenWord: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
  static var known: [Self] { get }
}

extension OpenWord {
  public init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  public var description: String { rawValue }
}
