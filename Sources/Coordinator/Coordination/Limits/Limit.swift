/// A limit: what is counted for whom, up to which figure, within which window.
///
/// The table of the limits is ``all``. To add one: a row there, and its use in a list of checks of its action
/// (``RateLimits``). Configuration, counter, metric and error follow from the row. `Config/coordinator.json5` lists it,
/// and a test compares the two.
struct Limit: Sendable {
  enum Window: Sendable {
    case tenMinutes, hour
    /// Any 24 hours.
    case day
    /// A day in UTC.
    case date

    var sliding: Duration? {
      switch self {
      case .tenMinutes: .seconds(600)
      case .hour: .seconds(3600)
      case .day: .seconds(86_400)
      case .date: nil
      }
    }
  }

  /// Key in the section `limits` of the configuration.
  let key: String
  /// Value of the label `limit` of the metric.
  let label: String
  let figure: Int
  let window: Window
  /// Second part of the stored name of its counter, behind the subject. Never changes its meaning, and has no colon.
  /// Two limits of one subject have two, unless they count the same.
  let counter: String
  let help: String
  /// Whether it is a quota: no single caller tried too often.
  var isBudget: Bool { window == .date }
  /// Whether ``Limits/wrongCodesPercent`` of the approved codes is the figure where that is more.
  var isShareOfApproved = false
  var field: String?
  /// Distinguishes limits that no caller reached alone.
  var reason: String?
  let text: @Sendable (LimitRefusal) -> String

  init(
    _ key: String, _ label: String, _ figure: Int, _ window: Window, counter: String, field: String? = nil,
    help: String, text: @escaping @Sendable (LimitRefusal) -> String
  ) {
    (self.key, self.label, self.figure, self.window, self.counter) = (key, label, figure, window, counter)
    (self.field, self.help, self.text) = (field, help, text)
  }

  private var orShareOfApproved: Limit {
    var limit = self
    (limit.isShareOfApproved, limit.reason) = (true, Self.wrongCodesUsedUp)
    return limit
  }

  /// A refusal that does not depend on a count, and so has no key.
  init(_ label: String, reason: String, text: @escaping @Sendable (LimitRefusal) -> String) {
    self.init("", label, 0, .hour, counter: "", help: "", text: text)
    self.reason = reason
  }

  func rule(_ figure: Int) -> LimitRule { rule(figure, counter: counter) }

  /// The same for handles other than the first of their code, which are counted apart.
  func ruleOfLaterHandles(_ figure: Int) -> LimitRule { rule(figure, counter: laterCounter) }

  var laterCounter: String { counter + "l" }

  private func rule(_ figure: Int, counter: String) -> LimitRule {
    guard let window = window.sliding else { return LimitRule(daily: counter, limit: figure) }
    return LimitRule(sliding: counter, limit: figure, window: window, isSummed: isShareOfApproved)
  }
}

extension Limit: Hashable {
  static func == (left: Limit, right: Limit) -> Bool { left.label == right.label }

  func hash(into hasher: inout Hasher) { hasher.combine(label) }
}

// MARK: - The table

extension Limit {
  static let all = sends + checks + proofs + revocations

  static let refusing = all + [conversionPrefix, conversionRegion]

  static let counters = Set(
    all.map(\.counter) + checks.map(\.laterCounter) + [
      RateLimits.approved.key, RateLimits.knownNetwork.key, RateLimits.newNetworks.key,
    ]
  ).sorted()

  private static let sends = [
    sendsPerNumberPer10Minutes, sendsPerNumberPerDay, sendsPerAddressPerHour, sendsPerPrefixPer10Minutes,
    sendsToUnknownTypePerPrefixPer10Minutes, sendsPerDevicePerDay, sendsPerCountryPerDay, sendsPerDay,
    refusedStartsPerAddressPerHour,
  ]
  private static let checks = [
    checksPerNumberPerHour, wrongCodesPerAddressPerHour, wrongCodesPerAppPerDay, wrongCodesPerDay,
    wrongCodesPerFictionalNumberPerHour, wrongCodesPerNetworkOfFictionalNumberPerHour,
  ]
  private static let proofs = [
    receiptsPerDevicePerHour, proofsPerAddressPerHour, receiptsPerAppPerDay, receiptsPerDay, assessmentsPerAppPerDay,
    assessmentsPerDay,
  ]
  private static let revocations = [
    revocationsPerAppPerDay, revocationsPerDay, noticesPerAddressPerDay, noticesPerAppPerDay,
  ]
}

// MARK: SMS

extension Limit {
  // The number of verifications of a phone number is not the requester's business.
  static let sendsPerNumberPer10Minutes = Limit(
    "sendsPerNumberPer10Minutes", "number", 5, .tenMinutes, counter: "s",
    help: "Messages to one number within 10 minutes."
  ) { _ in "no more messages go to this number for now" }

  static let sendsPerNumberPerDay = Limit(
    "sendsPerNumberPerDay", "number_day", 10, .day, counter: "d", help: "Messages to one number within 24 hours."
  ) { _ in "no more messages go to this number for now" }

  static let sendsPerAddressPerHour = Limit(
    "sendsPerAddressPerHour", "address", 30, .hour, counter: "s", field: "client.ip",
    help: "Messages requested from one IPv4 address or IPv6 /64 within an hour, where the command has client.ip."
  ) { "\($0.figure) messages were requested from \($0.place) within an hour" }

  static let sendsPerPrefixPer10Minutes = Limit(
    "sendsPerPrefixPer10Minutes", "prefix", 20, .tenMinutes, counter: "s",
    help: "Messages within 10 minutes to numbers that differ in their last four digits only."
  ) { "\($0.figure) messages went to numbers like this one within 10 minutes" }

  /// For numbers that are possible but of unknown type.
  static let sendsToUnknownTypePerPrefixPer10Minutes = Limit(
    "sendsToUnknownTypePerPrefixPer10Minutes", "prefix_unknown_type", 5, .tenMinutes, counter: "u",
    help: "The same for numbers that are possible and of a type that the metadata does not know."
  ) { "\($0.figure) messages went to numbers like this one, whose type is not known, within 10 minutes" }

  /// A person who signs in needs one or two.
  static let sendsPerDevicePerDay = Limit(
    "sendsPerDevicePerDay", "device_sends", 20, .day, counter: "d", field: "proof.receipt",
    help: "Messages that one device may have proven its app for within 24 hours."
  ) { "\($0.figure) messages were requested by this device within 24 hours" }

  /// For countries that ``Limits/countryBudgets`` does not name.
  static let sendsPerCountryPerDay = Limit(
    "sendsPerCountryPerDay", "country", 2_000, .date, counter: "d",
    help: "Messages to one country within a day in UTC."
  ) { "the budget of \($0.figure) messages a day for this country is used up" }

  static let sendsPerDay = Limit(
    "sendsPerDay", "total", 10_000, .date, counter: "d",
    help: "Messages in all within a day in UTC: the cap on what can be spent."
  ) { "the budget of \($0.figure) messages a day is used up" }

  /// Beyond it a client no longer learns which numbers are fictional.
  static let refusedStartsPerAddressPerHour = Limit(
    "refusedStartsPerAddressPerHour", "address_refused_starts", 300, .hour, counter: "r", field: "client.ip",
    help: "Starts without a proof that were refused, from one IPv4 address or IPv6 /64 within an hour."
  ) { "\($0.figure) starts without a proof were refused from \($0.place) within an hour" }
}

// MARK: Codes

extension Limit {
  /// Of one number, over all its verifications.
  static let checksPerNumberPerHour = Limit(
    "checksPerNumberPerHour", "number_checks", 10, .hour, counter: "c",
    help: "Checks of codes for one number within an hour."
  ) { _ in "no more codes are compared for this number for now" }

  static let wrongCodesPerAddressPerHour = Limit(
    "wrongCodesPerAddressPerHour", "address_wrong_codes", 30, .hour, counter: "w", field: "client.ip",
    help: "Wrong codes from one IPv4 address or IPv6 /64 within an hour, where the check has client.ip."
  ) { "\($0.figure) wrong codes came from \($0.place) within an hour" }

  /// About one code in ten is mistyped, and ``sendsPerDay`` are sent.
  static let wrongCodesPerAppPerDay = Limit(
    "wrongCodesPerAppPerDay", "app_wrong_codes", 2_000, .day, counter: "w",
    help: "Wrong codes for one app within 24 hours; more where wrongCodesPercent of its approved ones are more."
  ) { "\($0.figure) wrong codes were sent for this app within 24 hours" }.orShareOfApproved

  static let wrongCodesPerDay = Limit(
    "wrongCodesPerDay", "total_wrong_codes", 3_000, .day, counter: "w",
    help: "Wrong codes in all within 24 hours; more where wrongCodesPercent of the approved ones are more."
  ) { "\($0.figure) wrong codes were sent within 24 hours" }.orShareOfApproved

  private static let wrongCodesUsedUp = "WRONG_CODES_USED_UP"

  /// From networks that are not known for the right one.
  static let wrongCodesPerFictionalNumberPerHour = Limit(
    "wrongCodesPerFictionalNumberPerHour", "fictional_wrong_codes", 30, .hour, counter: "w",
    help: "Wrong codes for a fictional number of an app within an hour, but for networks that have given the right one."
  ) { "\($0.figure) wrong codes were sent for this fictional number within an hour" }

  static let wrongCodesPerNetworkOfFictionalNumberPerHour = Limit(
    "wrongCodesPerNetworkOfFictionalNumberPerHour", "network_fictional_wrong_codes", 3, .hour, counter: "w",
    field: "client.ip",
    help: "The same from one network, an IPv4 /24 or IPv6 /48, where the check has client.ip."
  ) { "\($0.figure) wrong codes for this fictional number came from the network of this address within an hour" }
}

// MARK: Proofs of apps

extension Limit {
  static let receiptsPerDevicePerHour = Limit(
    "receiptsPerDevicePerHour", "device_token", 10, .hour, counter: "v", field: "deviceToken",
    help: "Receipts of app.verify, and so pushes, for one device token within an hour."
  ) { "\($0.figure) receipts were requested for this device within an hour" }

  static let proofsPerAddressPerHour = Limit(
    "proofsPerAddressPerHour", "address_proofs", 60, .hour, counter: "v", field: "client.ip",
    help: "Receipts and assessments of reCAPTCHA tokens from one IPv4 address or IPv6 /64 within an hour."
  ) { "\($0.figure) proofs were requested from \($0.place) within an hour" }

  static let receiptsPerAppPerDay = Limit(
    "receiptsPerAppPerDay", "app_receipts", 20_000, .date, counter: "e",
    help: "Receipts, and so pushes, for one app within a day in UTC."
  ) { "the budget of \($0.figure) receipts a day for this app is used up" }

  static let receiptsPerDay = Limit(
    "receiptsPerDay", "total_receipts", 50_000, .date, counter: "e",
    help: "Receipts, and so pushes, in all within a day in UTC."
  ) { "the budget of \($0.figure) receipts a day is used up" }

  static let assessmentsPerAppPerDay = Limit(
    "assessmentsPerAppPerDay", "app_assessments", 10_000, .date, counter: "q",
    help: "Assessments of reCAPTCHA tokens for one app within a day in UTC."
  ) { "the budget of \($0.figure) reCAPTCHA assessments a day for this app is used up" }

  static let assessmentsPerDay = Limit(
    "assessmentsPerDay", "total_assessments", 20_000, .date, counter: "q",
    help: "Assessments of reCAPTCHA tokens in all within a day in UTC."
  ) { "the budget of \($0.figure) reCAPTCHA assessments a day is used up" }
}

// MARK: Revocations

extension Limit {
  static let revocationsPerAppPerDay = Limit(
    "revocationsPerAppPerDay", "app_revocations", 2_000, .date, counter: "o",
    help: "Revocations for one app within a day in UTC."
  ) { "the budget of \($0.figure) revocations a day for this app is used up" }

  static let revocationsPerDay = Limit(
    "revocationsPerDay", "total_revocations", 5_000, .date, counter: "o",
    help: "Revocations in all within a day in UTC."
  ) { "the budget of \($0.figure) revocations a day is used up" }

  static let noticesPerAddressPerDay = Limit(
    "noticesPerAddressPerDay", "notice_address", 3, .day, counter: "m", field: "notify.email",
    help: "Notices of revocations to one mail address within 24 hours."
  ) { "\($0.figure) notices were asked for to this mail address within 24 hours" }

  static let noticesPerAppPerDay = Limit(
    "noticesPerAppPerDay", "app_notices", 1_000, .date, counter: "m", field: "notify.email",
    help: "Notices of revocations for one app within a day in UTC."
  ) { "the budget of \($0.figure) notices a day for this app is used up" }
}

// MARK: Conversion

extension Limit {
  static let conversionPrefix = Limit("conversion_prefix", reason: "PREFIX_BLOCKED") {
    "fewer than \($0.figure) of 100 codes that were sent to numbers like this one came back"
  }
  static let conversionRegion = Limit("conversion_region", reason: "REGION_BLOCKED") {
    "fewer than \($0.figure) of 100 codes that were sent to this country came back"
  }
}
