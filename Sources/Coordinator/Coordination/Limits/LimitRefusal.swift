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
