import CountersignMessages
import CountersignTelemetry

/// A reached limit, and how long it will last.
struct LimitRefusal: Sendable, Hashable {
  enum Scope: String, Sendable, CaseIterable {
    case numberShort = "number"
    case numberDay = "number_day"
    case checks = "number_checks"
    case address
    case prefix
    case unknownType = "prefix_unknown_type"
    case country
    case total
    case deviceToken = "device_token"
    case addressProofs = "address_proofs"
    case deviceSends = "device_sends"
    case addressWrongCodes = "address_wrong_codes"
    case appWrongCodes = "app_wrong_codes"
    case totalWrongCodes = "total_wrong_codes"
    case fictionalWrongCodes = "fictional_wrong_codes"
    case fictionalWrongCodesDay = "fictional_wrong_codes_day"
    case appReceipts = "app_receipts"
    case totalReceipts = "total_receipts"
    case appAssessments = "app_assessments"
    case totalAssessments = "total_assessments"
    case appRevocations = "app_revocations"
    case totalRevocations = "total_revocations"
    case noticeAddress = "notice_address"
    case appNotices = "app_notices"
    case conversionPrefix = "conversion_prefix"
    case conversionRegion = "conversion_region"
  }

  var scope: Scope
  /// The limit; for the conversion, the percentage that was missed.
  var limit: Int
  /// Time to wait.
  var wait: Duration

  /// ``wait`` in whole seconds, rounded up, at least 1.
  var waitSeconds: Int { Self.seconds(wait) }

  /// Whole seconds, rounded up, at least 1.
  static func seconds(_ wait: Duration) -> Int {
    Int(max(1, (wait.wholeMilliseconds + 999) / 1000))
  }
}

extension LimitRefusal {
  /// The reached limit, for people.
  var text: String {
    switch scope {
    // The number of verifications of a phone number is not the requester's business.
    case .numberShort, .numberDay: "no more messages go to this number for now"
    case .address: "\(limit) messages were asked for from this address within an hour"
    case .deviceSends: "\(limit) messages were asked for by this device within 24 hours"
    case .prefix: "\(limit) messages went to numbers like this one within 10 minutes"
    case .unknownType: "\(limit) messages went to numbers like this one, whose type is not known, within 10 minutes"
    case .country: "the budget of \(limit) messages a day for this country is used up"
    case .total: "the budget of \(limit) messages a day is used up"
    case .conversionPrefix: "fewer than \(limit) of 100 codes that were sent to numbers like this one came back"
    case .conversionRegion: "fewer than \(limit) of 100 codes that were sent to this country came back"
    default: textOfOthers
    }
  }

  /// The text for limits on operations other than SMS.
  private var textOfOthers: String {
    switch scope {
    case .checks: "no more codes are compared for this number for now"
    case .addressWrongCodes: "\(limit) wrong codes came from this address within an hour"
    case .appWrongCodes: "\(limit) wrong codes were given back for this app within 24 hours"
    case .totalWrongCodes: "\(limit) wrong codes were given back within 24 hours"
    case .fictionalWrongCodes: "\(limit) wrong codes were given back for this fictional number within an hour"
    case .fictionalWrongCodesDay: "\(limit) wrong codes were given back for this fictional number within 24 hours"
    case .deviceToken: "\(limit) receipts were asked for this device within an hour"
    case .addressProofs: "\(limit) proofs were asked for from this address within an hour"
    case .appReceipts: "the budget of \(limit) receipts a day for this app is used up"
    case .totalReceipts: "the budget of \(limit) receipts a day is used up"
    case .appAssessments: "the budget of \(limit) reCAPTCHA assessments a day for this app is used up"
    case .totalAssessments: "the budget of \(limit) reCAPTCHA assessments a day is used up"
    case .appRevocations: "the budget of \(limit) revocations a day for this app is used up"
    case .totalRevocations: "the budget of \(limit) revocations a day is used up"
    case .noticeAddress: "\(limit) notices were asked for to this mail address within 24 hours"
    case .appNotices: "the budget of \(limit) notices a day for this app is used up"
    default: "a limit of \(limit) is reached"
    }
  }
}

extension LimitRefusal.Scope {
  /// Whether it is a quota: no single caller tried too often.
  var isBudget: Bool {
    switch self {
    case .country, .total, .appReceipts, .totalReceipts, .appAssessments, .totalAssessments, .appRevocations,
      .totalRevocations, .appNotices:
      true
    default: false
    }
  }

  /// The field of the command that it concerns, if any.
  var field: String? {
    switch self {
    case .address, .addressProofs, .addressWrongCodes: "client.ip"
    case .deviceToken: "deviceToken"
    case .deviceSends: "proof.receipt"
    case .noticeAddress, .appNotices: "notify.email"
    default: nil
    }
  }

  /// Distinguishes limits that no caller reached alone.
  var reason: String? {
    switch self {
    case .conversionPrefix: "PREFIX_BLOCKED"
    case .conversionRegion: "REGION_BLOCKED"
    case .appWrongCodes, .totalWrongCodes: "WRONG_CODES_USED_UP"
    default: nil
    }
  }
}

extension APIError {
  /// Answers a command that reached a limit: budgets are a matter of quota, the others of trying too often.
  init(_ refusal: LimitRefusal) {
    self.init(
      refusal.scope.isBudget ? .quotaExceeded : .tooManyAttempts,
      "\(refusal.text): try again in \(refusal.waitSeconds) s", field: refusal.scope.field,
      retryAfter: refusal.waitSeconds, reason: refusal.scope.reason)
  }
}
