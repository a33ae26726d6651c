import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Remnant of a deleted account until the coordinator has forgotten its numbers, and Apple has heard of its end.
struct Erasure: Sendable, Hashable {
  static let kind = RecordKind("erasure")
  private static let ofProject = KeySpace(kind, "project")
  /// Time for which the coordinator is asked.
  static let patience = Duration.seconds(7 * 86_400)
  /// Time between two requests, by their number. The last one goes for all further ones.
  static let pauses: [Duration] = [.seconds(90), .seconds(300), .seconds(900), .seconds(3600)]

  let id: RecordID
  let project: String
  let localID: String
  let deletedAt: UnixTime
  /// Ending at Apple, once it is known.
  var apple: AccountErased.Apple?
  /// Whether a ``GrantRevocation`` is to tell it.
  let hasGrant: Bool
  /// E.164: those that the coordinator still has, its own and those of its second factors. One is asked for at a time.
  private(set) var numbers: [String]
  /// Ending at the coordinator, likewise.
  var coordinator: AccountErased.Part?
  let hasAddress: Bool
  var requests = 0
  /// Requests for the numbers before the first one.
  private(set) var earlierRequests = 0

  /// `nil` for an account with neither a number nor a grant.
  init?(of account: AccountRecord, apple: AccountErased.Apple?, hasGrant: Bool, at now: UnixTime) {
    // An ID that another system gives may be used again.
    numbers = ([account.phoneNumber] + account.secondFactors.map(\.phoneNumber)).compactMap(\.self)
    guard !numbers.isEmpty || hasGrant,
      let id = RecordID(Self.kind, "\(account.id.text).\(now.milliseconds)")
    else { return nil }
    self.id = id
    self.apple = apple
    self.hasGrant = hasGrant
    project = account.project
    localID = account.localID
    deletedAt = now
    hasAddress = !account.addresses.isEmpty
  }

  static func group(ofProject project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }

  /// A number that the coordinator still has.
  var knownNumber: String? { coordinator == nil ? numbers.first : nil }

  /// Number of the first request for the present number. All requests for it are one command, which the coordinator
  /// carries out once: a request names the same time, and may come late.
  var firstRequest: Int { earlierRequests + 1 }

  /// Time until the next request, after one.
  var pause: Duration { Self.pauses[min(requests - earlierRequests, Self.pauses.count) - 1] }

  /// Goes on to the next number, unless the answer is to a request for an earlier one.
  mutating func forget(answering request: Int) {
    guard knownNumber != nil, request > earlierRequests else { return }
    numbers.removeFirst()
    earlierRequests = requests
    if numbers.isEmpty { coordinator = .forgotten }
  }

  var isOver: Bool { knownNumber == nil && (apple != nil || !hasGrant) }
}

extension Erasure: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ erasure: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, erasure?.project)
    localID = try fields.required(2, erasure?.localID)
    deletedAt = try fields.required(3, erasure?.deletedAt)
    apple = fields.optional(4, erasure?.apple?.rawValue).map { AccountErased.Apple(rawValue: $0) }
    numbers =
      fields.optional(5, erasure.map { $0.numbers.joined(separator: " ") })?.split(separator: " ").map(String.init)
      ?? []
    hasAddress = fields.flag(6, erasure?.hasAddress)
    requests = try fields.required(7, erasure?.requests)
    hasGrant = fields.flag(8, erasure?.hasGrant)
    coordinator = fields.optional(9, erasure?.coordinator?.rawValue).map { AccountErased.Part(rawValue: $0) }
    earlierRequests = try fields.required(10, erasure?.earlierRequests)
  }
}

extension AccountRecord {
  /// Addresses that mail may have gone to.
  var addresses: [String] {
    var addresses: [String] = []
    let all = [email, initialEmail] + identities.map(\.email)
    for address in all.compactMap(\.self) where !addresses.contains(address) { addresses.append(address) }
    return addresses
  }

  /// Has mail-workers forget those that it had before and has no longer, but for one that another account has.
  func forgetAddresses(before: Record, in set: inout WorkingSet) throws(StoreError) {
    let kept = Set(addresses.map(\.normalizedAddress))
    let left = try AccountRecord(before).addresses.filter { !kept.contains($0.normalizedAddress) }
    let keys = try left.map { address throws(StoreError) in try Self.key(ofEmail: address, project: project) }
    let holders = try set.each(keys) { key throws(StoreError) in try set.holder(of: key) }
    let free = zip(left, holders).filter { $1 == nil }.map { $0.0 }
    try set.forget(free, of: self, as: "\(before.version).\(set.changeCount).left")
  }
}

extension WorkingSet {
  /// Sends a `mail.forget`, which is kept until a worker takes it.
  mutating func forget(_ addresses: [String], of account: AccountRecord, as name: String) throws(StoreError) {
    guard !addresses.isEmpty else { return }
    let deadline = now + Erasure.patience
    let job = MailForgetJob(addresses: addresses, knownBefore: now, deadline: deadline)
    try send(
      .job(
        MailForgetJob.type, id: "\(account.id.text).\(now.milliseconds).\(name)", correlationID: account.id.text,
        cause: nil, deadline: deadline, body: job.written(), at: now))
  }
}
