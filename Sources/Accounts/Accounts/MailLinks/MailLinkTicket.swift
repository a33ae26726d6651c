import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Content of the code of a mail's link. The client holds the code as a ticket.
struct MailLinkTicket: Sendable, Hashable {
  let purpose: MailLinkPurpose
  /// Address that the account has, or the one that a recovery gives back.
  let email: String
  /// Address after a change.
  var newEmail: String?
  /// ID of the account's record. `nil` for a sign-in by an address that no account had.
  var account: String?
  /// Time at which the account was made: another one of the same user ID is another one.
  private let accountMadeAt: UnixTime?
  var passwordChangedAt: UnixTime?
  /// Session that asked for it, which goes on after a change.
  var session: String?
  /// Number of the account when its address was changed, for a recovery.
  var phoneNumber: String?
  /// ID of the new second factor that it takes back.
  var enrollmentID: String?

  /// Time for which one that is too old is still known.
  static let afterlife = Duration.seconds(7 * 86_400)

  init(_ purpose: MailLinkPurpose, email: String, of account: AccountRecord?) {
    self.purpose = purpose
    self.email = email
    self.account = account?.id.text
    accountMadeAt = account?.createdAt
    passwordChangedAt = account?.passwordChangedAt
  }

  /// Whether the account has changed since: a link counts for what its mail was about. Several mails of one kind all
  /// count, because they arrive in any order.
  ///
  /// - Parameter found: the account that it was made for; of one that signs in, the account that has the address.
  func isVoid(for found: AccountRecord?) -> Bool {
    guard account == nil || account == found?.id.text && accountMadeAt == found?.createdAt else { return true }
    // A thief's change of the password must not take the way back from the owner.
    if purpose == .recoverAddress { return found == nil }
    if purpose == .revertSecondFactor { return secondFactor(of: found) == nil }
    // Anyone may have signed up with the address since: the sign-in shuts out who never proved it.
    let isOfNewUser = purpose == .signIn && account == nil
    if purpose != .verifyAddress, !isOfNewUser, passwordChangedAt != found?.passwordChangedAt { return true }
    guard let found else { return purpose != .signIn }
    switch purpose {
    case .signIn: return false
    case .resetPassword: return !found.isReached(at: email)
    case .verifyAddress, .changeAddress, .recoverAddress, .revertSecondFactor:
      return (found.address?.email ?? email).normalizedAddress != email.normalizedAddress
    }
  }

  /// The second factor that it is about, while the account has it.
  func secondFactor(of account: AccountRecord?) -> SecondFactor? {
    enrollmentID.flatMap { account?.secondFactor($0) }
  }
}

extension MailLinkPurpose {
  /// Time for which a link counts. Those of Firebase, as its users observe them; those that take something back are ours.
  var lifetime: Duration {
    switch self {
    case .resetPassword: .seconds(3600)
    case .signIn: .seconds(6 * 3600)
    case .verifyAddress, .changeAddress: .seconds(3 * 86_400)
    case .recoverAddress, .revertSecondFactor: .seconds(30 * 86_400)
    }
  }
}

extension MailLinkTicket: FieldCoded {
  init(_ fields: inout FieldCoder, _ ticket: Self?) throws(UnreadableFields) {
    purpose = try fields.required(1, ticket?.purpose)
    email = try fields.required(2, ticket?.email)
    newEmail = fields.optional(3, ticket?.newEmail)
    account = fields.optional(4, ticket?.account)
    passwordChangedAt = fields.optional(5, ticket?.passwordChangedAt)
    session = fields.optional(6, ticket?.session)
    phoneNumber = fields.optional(7, ticket?.phoneNumber)
    accountMadeAt = fields.optional(8, ticket?.accountMadeAt)
    enrollmentID = fields.optional(9, ticket?.enrollmentID)
  }
}
