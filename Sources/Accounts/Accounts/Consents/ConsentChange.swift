import CountersignMessages
import CountersignTelemetry

/// Consents that are given, and purposes whose consents are revoked.
struct ConsentChange: Sendable {
  private static let maxTextBytes = 64
  private static let maxData = 16
  /// Begin of the year 2000: what is earlier was given in another unit than milliseconds.
  private static let earliest = UnixTime(seconds: 946_684_800)

  let given: [Consent]
  private let revoked: [String]

  /// - Throws: `INVALID_ARGUMENT`.
  init(_ command: RecordConsent, at now: UnixTime) throws(APIError) {
    given = command.consents ?? []
    revoked = command.revokedPurposes ?? []
    guard given.count <= RecordedConsent.most else {
      throw .invalidConsents("are more than \(RecordedConsent.most)")
    }
    guard revoked.count <= RecordedConsent.most, revoked.allSatisfy(Self.isText) else {
      throw .invalidRevocations
    }
    let purposes = given.map(\.purpose) + revoked
    guard Set(purposes).count == purposes.count else {
      throw .invalidConsents("name a purpose twice, or one that is revoked by the same command")
    }
    for consent in given { try Self.check(consent, at: now) }
  }

  private static func check(_ consent: Consent, at now: UnixTime) throws(APIError) {
    guard isText(consent.purpose), isText(consent.textVersion) else {
      throw .invalidConsents("have a purpose or a textVersion that is not \(textForm)")
    }
    guard consent.data.count <= maxData, Set(consent.data).count == consent.data.count,
      consent.data.allSatisfy(isText)
    else { throw .invalidConsents("have data that are not up to \(maxData) different words of \(textForm)") }
    guard (earliest...now + IDTokens.maxSkew).contains(consent.givenAt) else {
      throw .invalidConsents("were given in the future, or before the year 2000")
    }
  }

  fileprivate static let textForm = "1 to \(maxTextBytes) bytes without control characters"

  private static func isText(_ text: String) -> Bool {
    (1...maxTextBytes).contains(text.utf8.count) && !text.unicodeScalars.contains(where: \.isLayoutControl)
  }

  /// Absent and empty differ: each text has its length beside it.
  var parts: [String] {
    var parts = ["\(given.count)"]
    for consent in given {
      parts += [consent.purpose, consent.textVersion, "\(consent.givenAt.milliseconds)", "\(consent.data.count)"]
      parts += consent.data
    }
    return parts + revoked
  }

  /// - Returns: the reason that the account cannot have them. Nothing is changed then.
  func apply(to account: inout AccountRecord, at now: UnixTime) -> APIError? {
    let others = account.consents.filter { known in !given.contains { $0.purpose == known.consent.purpose } }
    guard others.count + given.count <= RecordedConsent.most else { return .tooManyPurposes }
    for consent in given { record(consent, on: &account, at: now) }
    for index in account.consents.indices
    where account.consents[index].isInForce && revoked.contains(account.consents[index].consent.purpose) {
      account.consents[index].revokedAt = now
    }
    return nil
  }

  /// The same one once more, and one that was given before what is recorded or revoked, change nothing: an app that repeats it, or a
  /// device that was away, does not take back that it was revoked.
  private func record(_ consent: Consent, on account: inout AccountRecord, at now: UnixTime) {
    let recorded = RecordedConsent(consent: consent, recordedAt: now)
    guard let index = account.consents.firstIndex(where: { $0.consent.purpose == consent.purpose }) else {
      return account.consents.append(recorded)
    }
    let known = account.consents[index]
    let isLater = known.revokedAt.map { consent.givenAt >= $0 - IDTokens.maxSkew } ?? true
    guard consent != known.consent, consent.givenAt >= known.consent.givenAt, isLater else { return }
    account.consents[index] = recorded
  }
}

extension APIError {
  fileprivate static func invalidConsents(_ problem: String) -> APIError {
    APIError(.invalidArgument, "consents \(problem)", field: "consents")
  }

  fileprivate static let invalidRevocations = APIError(
    .invalidArgument, "revokedPurposes are not up to \(RecordedConsent.most) texts of \(ConsentChange.textForm)",
    field: "revokedPurposes")
  fileprivate static let tooManyPurposes = APIError(
    .invalidArgument, "the account would have consents of more than \(RecordedConsent.most) purposes",
    field: "consents")
}
