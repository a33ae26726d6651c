public import CountersignTelemetry

/// Job `mail.forget`: erases what the mail workers hold about the addresses of a deleted account.
public struct MailForgetJob: Job, Hashable {
  public static let type = MessageType("mail.forget")
  /// Largest number of addresses.
  public static let maxAddresses = 32

  /// Addresses, `name@example.com`.
  public var addresses: [String]
  /// Time of the deletion. Entries since then stay: the address has another owner.
  public var knownBefore: UnixTime
  public var deadline: UnixTime

  public init(addresses: [String], knownBefore: UnixTime, deadline: UnixTime) {
    self.addresses = addresses
    self.knownBefore = knownBefore
    self.deadline = deadline
  }
}
