import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// A new address, a new password, or both, of an account.
struct CredentialChange: Sendable {
  let seal: ReplySeal
  let password: Secret?
  private let email: String?
  private let project: String
  private let limits: LimitBench
  private let reader: CommandReader

  /// `nil` for a command without either.
  init?(
    _ command: UpdateAccount, _ envelope: Envelope, _ project: Project, _ parts: AccountParts
  ) throws(APIError) {
    guard let field = command.credential else { return nil }
    guard let replyKey = command.replyKey else {
      throw APIError(.invalidArgument, "replyKey is needed with credential", field: "replyKey")
    }
    seal = try parts.reader.seal(replyKey, envelope, AccountChanged.type)
    let credential = try PasswordCredential(field, envelope, replyKey, parts.reader)
    email = try credential.email.map { text throws(APIError) in try MailAddress.read(text) }
    password = credential.password.map { Secret($0) }
    self.project = project.id
    reader = parts.reader
    limits = reader.limits(
      Limit.passwordAccounts,
      of: LimitSubject(project: project.id, address: try ClientAddress(of: command.client)))
    guard email != nil || password != nil else { return nil }
    if let password { try parts.passwords.check(password, project) }
  }

  var parts: [String] { [email ?? "", password?.reveal() ?? ""] }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    guard let email else { return }
    try limits.addKeys(to: &keys, at: now)
    keys.add(holderOf: try AccountRecord.key(ofEmail: email, project: project))
  }

  func refusal(
    on account: AccountRecord, _ project: Project, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer? {
    guard project.methods.contains(.password) || password == nil else { return CommandAnswer(.methodOff(.password)) }
    guard let address = email ?? account.address?.email else { return CommandAnswer(.missingEmail) }
    let isNew = account.address?.email.normalizedAddress != address.normalizedAddress
    // A refusal tells that an account has the address: where that is a secret, a mail has to prove it first.
    if isNew, account.address != nil, try ProjectSettings.find(project, in: set).protectsAddresses {
      return CommandAnswer(.unverifiedAddress)
    }
    if isNew || account.email == nil, !account.secondFactors.isEmpty {
      var changed = account
      changed.takeAddress(address)
      guard changed.isEmailVerified else { return CommandAnswer(.unverifiedAddress) }
    }
    let holder = try AccountRecord.find(
      holderOf: AccountRecord.key(ofEmail: address, project: self.project), in: set)
    if isNew {
      if let refusal = try limits.refusal(in: set) { return reader.refuse(refusal, in: &set) }
      // As a sign-up, it tells whether an account has the address.
      try limits.count(in: &set)
    }
    return holder.map { $0.id == account.id } ?? true ? nil : CommandAnswer(.addressTaken)
  }

  /// The hash of the password is still to be stored.
  func apply(to account: inout AccountRecord, at now: UnixTime) {
    if let address = email ?? account.address?.email { account.takeAddress(address) }
    if password != nil { account.passwordChangedAt = now }
    // It was recent.
    account.emailTrustedFrom = nil
    account.isAnonymous = false
  }
}

extension APIError {
  static let unverifiedAddress = APIError(
    .operationNotAllowed, "Please verify the new email before changing email.", field: "email",
    reason: "VERIFY_NEW_EMAIL")
}
