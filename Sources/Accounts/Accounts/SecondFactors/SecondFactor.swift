import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Proof that an account asks for beside any first factor.
struct SecondFactor: Sendable, Hashable {
  /// So many an account may have.
  static let most = 5
  static let idLength = 22

  let enrollmentID: String
  let kind: SecondFactorKind
  let enrolledAt: UnixTime
  var displayName: String?
  /// E.164. Of ``SecondFactorKind/phone`` alone.
  var phoneNumber: String?
  /// Whether the number was proven with a fictional code only.
  var isNumberFictional = false
  /// Of ``SecondFactorKind/totp`` alone.
  var secret: SealedSharedSecret?
  /// Last time step whose code has counted: no earlier one does (RFC 6238, section 5.2).
  var lastStep: Int?

  init(_ kind: SecondFactorKind, enrollmentID: String, enrolledAt: UnixTime) {
    self.kind = kind
    self.enrollmentID = enrollmentID
    self.enrolledAt = enrolledAt
  }

  /// - Parameter isMasked: whether it is shown to somebody who has not given it.
  func view(isMasked: Bool) -> SecondFactorView {
    var view = SecondFactorView(enrollmentID: enrollmentID, kind: kind, enrolledAt: enrolledAt)
    view.displayName = displayName
    view.phoneNumber = isMasked ? phoneNumber.map(Self.masked) : phoneNumber
    return view
  }

  /// `+*******0100`.
  static func masked(_ number: String) -> String {
    "+" + String(repeating: "*", count: max(0, number.count - 1 - shownDigits)) + number.suffix(shownDigits)
  }

  private static let shownDigits = 4
}

extension SecondFactor: FieldCoded {
  init(_ fields: inout FieldCoder, _ factor: Self?) throws(UnreadableFields) {
    enrollmentID = try fields.required(1, factor?.enrollmentID)
    kind = try fields.required(2, factor?.kind)
    enrolledAt = try fields.required(3, factor?.enrolledAt)
    displayName = fields.optional(4, factor?.displayName)
    phoneNumber = fields.optional(5, factor?.phoneNumber)
    isNumberFictional = fields.flag(6, factor?.isNumberFictional)
    secret = try fields.optional(7, factor?.secret)
    lastStep = fields.optional(8, factor?.lastStep)
  }
}

extension AccountRecord {
  func secondFactor(_ enrollmentID: String) -> SecondFactor? {
    secondFactors.first { $0.enrollmentID == enrollmentID }
  }

  func secondFactor(byNumber number: String) -> SecondFactor? { secondFactors.first { $0.phoneNumber == number } }
}
