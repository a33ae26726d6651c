import CommandEngine
import CountersignMessages
import CountersignTelemetry

extension AccountRecord {
  /// Whether an address was put on it without a recent sign-in within the last day, and not proven since. Whoever proves
  /// it gets no part of the account, which may be another's: see ``giveUpAddress(_:eventID:cause:in:)``.
  func distrusts(_ address: String, at now: UnixTime) -> Bool {
    hasUnproven(address) && emailTrustedFrom.map { now < $0 } ?? false
  }

  /// Takes such an address from it, with its password, because somebody has proven the address. It stays as it is
  /// otherwise.
  func giveUpAddress(
    _ sessions: Sessions, eventID: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    var account = self
    account.removeAddress()
    if account.hasPassword { try account.removePassword(in: &set) }
    try sessions.end(of: account, by: [.password], in: &set)
    try account.store(in: &set)
    try AccountEvents(account, eventID, cause).changes(from: self, in: &set)
  }

  /// Whether a link that resets the password is void: its mailbox proves nothing about the account. The address is
  /// distrusted, or stands unproven beside second factors.
  func resetsNothing(at address: String, at now: UnixTime) -> Bool {
    guard !isEmailVerified, email?.normalizedAddress == address.normalizedAddress else { return false }
    return distrusts(address, at: now) || !secondFactors.isEmpty
  }
}
