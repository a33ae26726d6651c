import CommandEngine
import CountersignEncoding
import CountersignTelemetry

/// Use of a number once its code was given back.
enum NumberUse: Sendable {
  case signIn(SignInRequest)
  case secondFactor(PhoneFactorRequest)

  func addKeys(to keys: inout StoreKeys) throws(StoreError) {
    switch self {
    case .signIn(let request): try request.addKeys(to: &keys)
    case .secondFactor(let request): try request.addKeys(to: &keys)
    }
  }
}

extension NumberUse: FieldCoded {
  init(_ fields: inout FieldCoder, _ use: Self?) throws(UnreadableFields) {
    let signIn = try fields.optional(1, use?.signIn)
    let secondFactor = try fields.optional(2, use?.secondFactor)
    switch (signIn, secondFactor) {
    case (let request?, nil): self = .signIn(request)
    case (nil, let request?): self = .secondFactor(request)
    default: throw UnreadableFields()
    }
  }

  private var signIn: SignInRequest? { if case .signIn(let request) = self { request } else { nil } }

  private var secondFactor: PhoneFactorRequest? {
    if case .secondFactor(let request) = self { request } else { nil }
  }
}
