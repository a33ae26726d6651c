import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Remnant of a deleted account until the coordinator has forgotten its number.
struct Erasure: Sendable, Hashable {
  static let kind = RecordKind("erasure")
  /// Time for which the coordinator is asked.
  static let patience = Duration.seconds(7 * 86_400)
  /// Time between two requests, by their number. The last one goes for all further ones.
  static let pauses: [Duration] = [.seconds(90), .seconds(300), .seconds(900), .seconds(3600)]

  let id: RecordID
  let project: String
  let localID: String
  let deletedAt: UnixTime
  let apple: AccountErased.Apple?
  /// E.164.
  let number: String
  let hasAddress: Bool
  var requests = 0

  /// `nil` for an account without a number.
  init?(of account: AccountRecord, apple: AccountErased.Apple?, at now: UnixTime) {
    // An ID that another system gives may be used again.
    guard let number = account.phoneNumber,
      let id = RecordID(Self.kind, "\(account.id.text).\(now.milliseconds)")
    else { return nil }
    self.id = id
    self.number = number
    self.apple = apple
    project = account.project
    localID = account.localID
    deletedAt = now
    hasAddress = !account.addresses.isEmpty
  }
}

extension Erasure: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ erasure: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, erasure?.project)
    localID = try fields.required(2, erasure?.localID)
    deletedAt = try fields.required(3, erasure?.deletedAt)
    apple = fields.optional(4, erasure?.apple?.rawValue).map { AccountErased.Apple(rawValue: $0) }
    number = try fields.required(5, erasure?.number)
    hasAddress = fields.flag(6, erasure?.hasAddress)
    requests = try fields.required(7, erasure?.requests)
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
}
