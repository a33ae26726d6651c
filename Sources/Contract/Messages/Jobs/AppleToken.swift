import CountersignTelemetry

/// Token or code of a Sign in with Apple: in the JSON exactly one of the fields `authorizationCode`, `refreshToken` and
/// `accessToken`. Sealed in a job, its recipient is the app.
public enum AppleToken: Sendable, Hashable {
  /// Valid once, for five minutes. It is exchanged for a refresh token first.
  case authorizationCode(SecretField)
  case refreshToken(SecretField)
  case accessToken(SecretField)

  /// Kind of token, as results name it.
  public enum Kind: String, ContractWord {
    case authorizationCode, refreshToken, accessToken
  }

  public init(_ kind: Kind, _ secret: SecretField) {
    switch kind {
    case .authorizationCode: self = .authorizationCode(secret)
    case .refreshToken: self = .refreshToken(secret)
    case .accessToken: self = .accessToken(secret)
    }
  }

  public var kind: Kind {
    switch self {
    case .authorizationCode: .authorizationCode
    case .refreshToken: .refreshToken
    case .accessToken: .accessToken
    }
  }

  public var secret: SecretField {
    switch self {
    case .authorizationCode(let secret), .refreshToken(let secret), .accessToken(let secret): secret
    }
  }
}

/// Its field is one of the fields of the enclosing body.
extension AppleToken: Codable {
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: FieldName.self)
    let names = Kind.allCases.map(\.rawValue)
    let present = try Kind.allCases.compactMap { kind in
      try fields.decodeIfPresent(SecretField.self, forKey: FieldName(kind.rawValue)).map { (kind, $0) }
    }
    guard let (kind, secret) = present.first else {
      throw ValueProblem("is missing: give one of \(names.joined(separator: ", "))")
        .decodingError(at: fields.codingPath + [FieldName(names[0])])
    }
    guard present.count == 1 else {
      throw ValueProblem("is given together with \(present[1].0.rawValue): give one of them")
        .decodingError(at: fields.codingPath + [FieldName(kind.rawValue)])
    }
    self.init(kind, secret)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: FieldName.self)
    try fields.encode(secret, forKey: FieldName(kind.rawValue))
  }
}
