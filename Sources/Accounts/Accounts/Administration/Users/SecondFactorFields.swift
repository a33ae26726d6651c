import CountersignMessages
import CountersignTelemetry

/// Second factors of an account as an administrator writes them, checked as far as that needs no account.
struct SecondFactorFields: Sendable {
  /// Longest ID that is taken from other systems. Those of Firebase are UUIDs. It is in events and ID tokens.
  static let maxIDBytes = 64

  private struct Entry {
    let enrollmentID: String?
    /// ID if the factor is a new one.
    let newID: String
    let phoneNumber: String?
    let displayName: String?
    let enrolledAt: UnixTime?

    init(_ factor: UserSecondFactor) throws(APIError) {
      enrollmentID = try factor.enrollmentID.map(SecondFactorFields.enrollmentID)
      newID = enrollmentID ?? RandomID.make(length: SecondFactor.idLength)
      phoneNumber = try factor.phoneNumber.map { number throws(APIError) in
        try AccountFields.number(number, "secondFactors")
      }
      displayName = try ProfileChange.name(factor.displayName)
      enrolledAt = factor.enrolledAt
      guard enrollmentID != nil || phoneNumber != nil else { throw .factorWithoutNumber }
    }
  }

  /// Fate of factors without a number that the account does not have: their secrets are elsewhere.
  enum Unknown {
    case refused, leftOut
  }

  /// `nil` when those of the account stay.
  private let entries: [Entry]?
  private let hasNumber: Bool

  init(_ user: UserFields) throws(APIError) {
    let factors = user.secondFactors
    guard factors.map({ $0.count <= SecondFactor.most }) ?? true else { throw .tooManyFactors }
    entries = try factors?.map { factor throws(APIError) in try Entry(factor) }
    hasNumber = user.phoneNumber != nil
    try Self.requireDistinct(entries?.compactMap(\.enrollmentID), "ID")
    try Self.requireDistinct(entries?.compactMap(\.phoneNumber), "number")
  }

  private static func enrollmentID(_ text: String) throws(APIError) -> String {
    guard (1...maxIDBytes).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw APIError(
        .invalidArgument, "the ID of a second factor has 1 to \(maxIDBytes) characters of ASCII, without spaces",
        field: "secondFactors")
    }
    return text
  }

  private static func requireDistinct(_ texts: [String]?, _ part: String) throws(APIError) {
    guard let texts, Set(texts).count < texts.count else { return }
    throw APIError(.secondFactorExists, "two second factors have the same \(part)", field: "secondFactors")
  }

  /// Puts them in place of those that the account has, whose secrets stay with their IDs. A number without an ID is the
  /// factor that has it. Where one is left out, in an import, the account's other
  /// authenticators stay.
  ///
  /// - Returns: the reason that the account cannot have them.
  func apply(to account: inout AccountRecord, _ unknown: Unknown = .refused, at now: UnixTime) -> APIError? {
    // Other changes are not refused for what the account has anyway.
    guard entries != nil || hasNumber else { return nil }
    var factors = account.secondFactors
    if let entries {
      factors = []
      for entry in entries {
        switch Self.factor(entry, of: account, at: now) {
        case .success(let factor): factors.append(factor)
        case .failure(let error) where unknown == .leftOut && error == .enrollmentNotFound: continue
        case .failure(let error): return error
        }
      }
    }
    if factors.count < entries?.count ?? 0 {
      let named = Set(factors.map(\.enrollmentID))
      factors += account.secondFactors.filter { $0.kind == .totp && !named.contains($0.enrollmentID) }
    }
    if let refusal = Self.refusal(of: factors, on: account) { return refusal }
    account.secondFactors = factors.sorted { $0.enrolledAt < $1.enrolledAt }
    return nil
  }

  private static func factor(
    _ entry: Entry, of account: AccountRecord, at now: UnixTime
  ) -> Result<SecondFactor, APIError> {
    let known =
      entry.enrollmentID.map { account.secondFactor($0) }
      ?? account.secondFactors.first { $0.phoneNumber == entry.phoneNumber && $0.kind == .phone }
    guard known != nil || entry.phoneNumber != nil else { return .failure(.enrollmentNotFound) }
    guard known?.kind != .totp || entry.phoneNumber == nil else { return .failure(.numberOfSecret) }
    let enrolledAt = min(entry.enrolledAt ?? now, now)
    var factor = known ?? SecondFactor(.phone, enrollmentID: entry.newID, enrolledAt: enrolledAt)
    factor.displayName = entry.displayName
    if let number = entry.phoneNumber, number != factor.phoneNumber {
      (factor.phoneNumber, factor.isNumberFictional) = (number, false)
    }
    return .success(factor)
  }

  /// A new factor needs a proven address: its holder may have the account back. Firebase asks for it too
  /// (`UNVERIFIED_EMAIL`).
  private static func refusal(of factors: [SecondFactor], on account: AccountRecord) -> APIError? {
    let numbers = factors.compactMap(\.phoneNumber)
    guard Set(numbers).count == numbers.count, Set(factors.map(\.enrollmentID)).count == factors.count else {
      return .secondFactorExists
    }
    guard factors.count <= SecondFactor.most else { return .tooManyFactors }
    guard account.phoneNumber.map({ !numbers.contains($0) }) ?? true else { return .numberOfFirstFactor }
    let hasNew = factors.contains { account.secondFactor($0.enrollmentID) == nil }
    guard !hasNew || account.address?.isVerified == true else { return .unverifiedEmail }
    return nil
  }
}

extension AccountRecord {
  /// IDs of second factors that it had, and has no longer or with another number.
  func lostSecondFactors(from before: AccountRecord) -> Set<String> {
    let lost = before.secondFactors.filter { factor in
      secondFactor(factor.enrollmentID).map { $0.phoneNumber != factor.phoneNumber } ?? true
    }
    return Set(lost.map(\.enrollmentID))
  }
}

extension APIError {
  fileprivate static let tooManyFactors = APIError(
    .secondFactorLimitExceeded, "an account has up to \(SecondFactor.most) second factors", field: "secondFactors")
  fileprivate static let factorWithoutNumber = APIError(
    .missingEnrollmentID, "a second factor has a number, or the ID of one that the account has", field: "secondFactors")
  fileprivate static let numberOfSecret = APIError(
    .invalidArgument, "a second factor whose codes a device computes has no number", field: "secondFactors")
  fileprivate static let numberOfFirstFactor = APIError(
    .unsupportedFirstFactor, "the number that signs in cannot be that of a second factor: give another",
    field: "secondFactors")
}
