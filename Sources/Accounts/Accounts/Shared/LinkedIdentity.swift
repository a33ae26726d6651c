import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Identity at a provider that opens an account.
struct LinkedIdentity: Sendable, Hashable {
  /// `apple.com`.
  let provider: String
  /// The provider's ID of the user.
  let subject: String
  let linkedAt: UnixTime
  /// Time, at the provider, of the last sign-in by it, or of the credential that linked it. `nil` for one that an
  /// administrator has put on the account.
  var lastProvenAt: UnixTime?
  /// Issuer that vouched for it, of an OpenID Connect provider: no other one does. `nil` until the first sign-in for one
  /// that an administrator has put on the account.
  var issuer: String?
  /// Time from which a sign-in by it counts as recent: it was linked without a recent sign-in. `nil` when it always
  /// does.
  var trustedFrom: UnixTime?
  var email: String?
  /// Whether a provider that is believed about addresses calls it verified.
  var isEmailVerified = false
  /// Whether the relay behind the address takes no mail: the user has switched it off at Apple.
  var isMailOff = false
  /// Time, at Apple, of the last word on that.
  var mailNotedAt: UnixTime?
  /// Whether its account alone has the address: one that is verified, and not a relay's.
  var ownsEmail = false
  var displayName: String?
  var photoURL: String?
  /// Token that its provider's page left, to be revoked. Of Apple alone.
  var grant: ProviderGrant?

  init(provider: String, subject: String, linkedAt: UnixTime) {
    self.provider = provider
    self.subject = subject
    self.linkedAt = linkedAt
  }

  func isTrusted(at now: UnixTime) -> Bool { trustedFrom.map { $0 <= now } ?? true }

  var view: IdentityView {
    var view = IdentityView(providerID: provider, subject: subject, linkedAt: linkedAt)
    view.email = email
    view.displayName = displayName
    view.photoURL = photoURL
    return view
  }
}

extension LinkedIdentity: FieldCoded {
  init(_ fields: inout FieldCoder, _ identity: Self?) throws(UnreadableFields) {
    provider = try fields.required(1, identity?.provider)
    subject = try fields.required(2, identity?.subject)
    linkedAt = try fields.required(3, identity?.linkedAt)
    trustedFrom = fields.optional(4, identity?.trustedFrom)
    email = fields.optional(5, identity?.email)
    isEmailVerified = fields.flag(6, identity?.isEmailVerified)
    ownsEmail = fields.flag(7, identity?.ownsEmail)
    displayName = fields.optional(8, identity?.displayName)
    photoURL = fields.optional(9, identity?.photoURL)
    grant = try fields.optional(10, identity?.grant)
    issuer = fields.optional(11, identity?.issuer)
    lastProvenAt = fields.optional(12, identity?.lastProvenAt)
    isMailOff = fields.flag(13, identity?.isMailOff)
    mailNotedAt = fields.optional(14, identity?.mailNotedAt)
  }
}

extension String {
  /// An address as addresses are compared: without spaces around it, its ASCII letters small.
  var normalizedAddress: String {
    var bytes = Array(utf8.drop { $0 == 0x20 })
    while bytes.last == 0x20 { bytes.removeLast() }
    return String(decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
